"""Computes the measures of a run from what was counted."""

from array import array
from collections.abc import Iterable, Sequence
from math import fsum
from typing import TypeVar, get_args

from msgspec.structs import asdict

from fairlead.sim.engine.events import Cause
from fairlead.sim.measures.backlogged_time import BackloggedTime, TimeToFairness
from fairlead.sim.measures.fairness_watch import ContendedTime
from fairlead.sim.measures.job_totals import JobTotals
from fairlead.sim.measures.queue_books import LevelTable, QueueBook, QueueBooks
from fairlead.sim.measures.summary import (
    Backlogged,
    ClusterMeasures,
    Contended,
    JobMeasures,
    QueueMeasures,
    Ratios,
    ToFairness,
    Unstarted,
    Waits,
)


def jain_index(received: Sequence[int], due: Sequence[int]) -> float | None:
    """How even *received* / *due* is: 1 is even, and p is all for one that was due a part p of all.

    Each queue counts by its entitlement: ``(sum w x)^2 / (sum w * sum w x^2)`` with x = received
    / due and w = due. Where the same is due to all n, that is Jain's index, and 1/n is all for one.
    So a queue with next to no entitlement changes next to nothing, whatever it received.

    What is due is above 0. None for fewer than two, which cannot be uneven, and where no queue
    received anything. The order does not matter, down to the last bit.
    """
    squares = fsum(each * each / own for each, own in zip(received, due, strict=True))
    if len(received) < 2 or squares == 0:
        return None
    whole = sum(received)
    return whole * whole / sum(due) / squares


Number = TypeVar("Number", int, float)


def quantile(ordered: Sequence[Number], percent: int) -> Number | None:
    """The smallest of *ordered* that at least *percent* of 100 of them do not exceed.

    None of nothing. The rank is worked out in whole numbers. Cost: O(1).
    """
    if not ordered:
        return None
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(rank, 1) - 1]


CAUSES: tuple[Cause, ...] = get_args(Cause)
Value = TypeVar("Value")


class Summariser:
    """Makes measures at the end of a simulation, for given resources and capacity-time."""

    def __init__(
        self, resources: tuple[str, ...], books: QueueBooks, capacity: LevelTable, end_ms: int
    ) -> None:
        """Take everything that was counted until *end_ms*."""
        self._resources = resources
        self._books = books
        self._capacity = [capacity.total(end_ms, i, 0) for i in range(len(resources))]
        self._end_ms = end_ms

    def of_jobs(self, totals: JobTotals) -> JobMeasures:
        """The measures of a group of jobs. Cost: O(n log n) for n jobs."""
        return JobMeasures(
            submitted=totals.submitted,
            finished=totals.finished,
            wait=_waits(totals.waits_ms),
            unstarted=Unstarted(
                jobs=totals.unstarted,
                total_age_ms=totals.unstarted_ms,
                oldest_ms=totals.oldest_unstarted_ms if totals.unstarted else None,
            ),
            slowdown=_ratios(totals.slowdowns),
            finish_time_fairness=_ratios(totals.finish_time_fairness),
            makespan_ms=_makespan_ms(totals),
            allocated=self._by_resource(totals.allocated),
            utilisation=self._by_resource(map(_ratio, totals.allocated, self._capacity)),
            preemptions={cause: totals.stops.get(cause, 0) for cause in CAUSES},
            preempted_pods={cause: totals.stopped_pods.get(cause, 0) for cause in CAUSES},
            lost=self._by_resource(totals.lost),
        )

    def of_queue(
        self, book: QueueBook, totals: JobTotals, contended: Sequence[ContendedTime]
    ) -> QueueMeasures:
        """The measures of a queue with the jobs of all beneath it."""
        return QueueMeasures(
            **asdict(self.of_jobs(totals)),
            entitled=self._by_resource(self._entitled([book])),
            backlogged=self._by_resource(map(_backlogged, book.backlogs, contended)),
            jain=self._jain(list(book.leaves())),
        )

    def of_cluster(self, totals: JobTotals, contended: Sequence[ContendedTime]) -> ClusterMeasures:
        """The measures of all jobs, and of all queues together."""
        leaves = self._books.leaves
        return ClusterMeasures(
            **asdict(self.of_jobs(totals)),
            capacity=self._by_resource(self._capacity),
            entitled=self._by_resource(self._entitled(self._books.tops)),
            contended=self._by_resource(map(_contended, contended)),
            jain=self._jain(leaves),
            worst_deficit=self._by_resource(
                _worst(leaf.backlogs[place] for leaf in leaves)
                for place in range(len(self._resources))
            ),
        )

    def _entitled(self, books: Sequence[QueueBook]) -> list[int]:
        table = self._books.entitled.table
        return [
            sum(table.total(self._end_ms, resource, book.index) for book in books)
            for resource in range(len(self._resources))
        ]

    def _jain(self, leaves: Sequence[QueueBook]) -> dict[str, float | None]:
        return self._by_resource(
            _evenness([leaf.backlogs[place] for leaf in leaves])
            for place in range(len(self._resources))
        )

    def _by_resource(self, values: Iterable[Value]) -> dict[str, Value]:
        return dict(zip(self._resources, values, strict=True))


def _waits(waits_ms: "array[int]") -> Waits:
    ordered = sorted(waits_ms)
    return Waits(
        jobs=len(ordered),
        total_ms=sum(ordered),
        mean_ms=_ratio(sum(ordered), len(ordered)),
        p50_ms=quantile(ordered, 50),
        p90_ms=quantile(ordered, 90),
        p99_ms=quantile(ordered, 99),
        max_ms=quantile(ordered, 100),
    )


def _ratios(values: "array[float]") -> Ratios:
    ordered = sorted(values)
    return Ratios(
        jobs=len(ordered),
        mean=fsum(ordered) / len(ordered) if ordered else None,
        p90=quantile(ordered, 90),
        max=quantile(ordered, 100),
    )


def _makespan_ms(totals: JobTotals) -> int | None:
    """Known only where all work is done: what is left would make it longer by an unknown time."""
    if totals.finished < totals.submitted or totals.first_submit_ms is None:
        return None
    assert totals.last_finish_ms is not None
    return totals.last_finish_ms - totals.first_submit_ms


def _backlogged(backlog: BackloggedTime, contended: ContendedTime) -> Backlogged:
    return Backlogged(
        span_ms=backlog.span_ms,
        received=backlog.received,
        entitled=backlog.entitled,
        share=_ratio(backlog.received, backlog.capacity),
        entitled_share=_ratio(backlog.entitled, backlog.capacity),
        received_to_entitled=_ratio(backlog.received, backlog.entitled),
        worst_deficit=backlog.worst_deficit if backlog.span_ms else None,
        to_fairness=_to_fairness(backlog.to_fairness, contended.contentions),
    )


def _contended(contended: ContendedTime) -> Contended:
    to_fairness = _to_fairness(contended.to_fairness, contended.contentions)
    return Contended(span_ms=contended.span_ms, to_fairness=to_fairness)


def _to_fairness(counted: TimeToFairness, contentions: int) -> ToFairness:
    return ToFairness(
        contentions=contentions,
        never_fair=counted.never_fair,
        longest_ms=counted.longest_ms if contentions > counted.never_fair else None,
    )


def _evenness(backlogs: Iterable[BackloggedTime]) -> float | None:
    counted = [each for each in backlogs if each.entitled]
    return jain_index([each.received for each in counted], [each.entitled for each in counted])


def _worst(backlogs: Iterable[BackloggedTime]) -> int | None:
    return max((each.worst_deficit for each in backlogs if each.span_ms), default=None)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
