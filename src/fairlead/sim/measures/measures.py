"""Listens to a simulation and says in the end what it came to.

Nothing is kept of what is over but numbers: memory is bounded by the work that is alive, a few
machine numbers for each job, and the buckets of the series.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, inf
from operator import sub
from typing import Any, TypeVar

from msgspec.structs import asdict

from fairlead.model.axes import Amounts
from fairlead.sim.engine.events import (
    CapacityChanged,
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.measures.backlogged_time import BackloggedTime, TimeToFairness
from fairlead.sim.measures.entitlement import EntitlementChange
from fairlead.sim.measures.fairness_watch import ContendedTime, FairnessWatch
from fairlead.sim.measures.job_totals import CAUSES, JobGroups, JobRecord, JobTotals
from fairlead.sim.measures.queue_books import LevelTable, QueueBook, QueueBooks
from fairlead.sim.measures.queue_on_share import QueueOnShare
from fairlead.sim.measures.series import MOST_BUCKETS, Series, SeriesRecorder
from fairlead.sim.measures.summary import (
    Backlogged,
    ClusterMeasures,
    Contended,
    JobMeasures,
    QueueMeasures,
    Ratios,
    Summary,
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
        lost = totals.lost_in_all()
        return JobMeasures(
            submitted=totals.submitted,
            finished=totals.finished,
            wait=_waits(totals.waits_ms),
            wait_at_least=_waits(totals.waits_ms + totals.ages_ms),
            unstarted=Unstarted(
                jobs=len(totals.ages_ms),
                total_age_ms=sum(totals.ages_ms),
                oldest_ms=max(totals.ages_ms, default=None),
            ),
            slowdown=_ratios(totals.slowdowns),
            finish_time_fairness=_ratios(totals.finish_time_fairness),
            makespan_ms=_makespan_ms(totals),
            allocated=self._by_resource(totals.allocated),
            utilisation=self._by_resource(map(_ratio, totals.allocated, self._capacity)),
            goodput=self._by_resource(
                map(_ratio, map(sub, totals.allocated, lost), self._capacity)
            ),
            preemptions={cause: totals.stops.get(cause, 0) for cause in CAUSES},
            preempted_pods={cause: totals.stopped_pods.get(cause, 0) for cause in CAUSES},
            lost=self._by_resource(lost),
            lost_by_cause={cause: self._by_resource(totals.lost[cause]) for cause in CAUSES},
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


FIRST_BUCKET_MS = 1000


class Measures:
    """All measures of one simulation, of the cluster, each queue, each user and each kind.

    Call it with each event in the order of time. Events of the same millisecond may come in
    any order in which they can happen: it changes nothing. Cost: depth of the tree x resources for
    a event and for each queue to which something else is due, queues x resources for a bucket.
    """

    def __init__(
        self,
        resources: tuple[str, ...],
        parents: Mapping[str, str | None],
        *,
        start_ms: int = 0,
        horizon_ms: int | None = None,
        period_ms: int = 0,
        most_buckets: int = MOST_BUCKETS,
    ) -> None:
        """Measure *resources* of the queues of *parents*, which has every queue of a job.

        *horizon_ms* is how long the simulation is to last, where that is known: it only spares
        the work of making long buckets out of short ones. *period_ms* is the longest time from a
        change to the next cycle.
        """
        self._resources = resources
        self._start_ms = self._now_ms = start_ms
        self._capacity = LevelTable(1, len(resources))
        self._books = QueueBooks(parents, len(resources))
        self._watch = FairnessWatch(self._books, self._capacity, period_ms)
        bucket_ms = FIRST_BUCKET_MS if horizon_ms is None else -(-horizon_ms // most_buckets)
        self._recorder = SeriesRecorder(
            self._books,
            self._capacity,
            start_ms=start_ms,
            bucket_ms=max(1, bucket_ms),
            most_buckets=most_buckets,
        )
        self._groups = JobGroups(len(resources))
        self._live: dict[str, JobRecord] = {}
        self._on_share: dict[int, QueueOnShare] = {}  # of queues that ever had a job
        # Of this moment, and judged only when all that happens in it is known:
        self._newcomers: list[JobRecord] = []
        self._leavers: list[JobRecord] = []
        self._due_changed: set[int] = set()  # queues
        self._touched: set[int] = set()  # queues with other amounts held, requested or due
        self._is_due_known = False
        self._is_judged = True  # whether nothing has happened in it yet
        # A table is quicker than comparing types one by one, for every thing that happens.
        self._take: dict[type[SimulationEvent], Callable[[Any], None]] = {
            Submitted: self._submit,
            Started: self._start,
            Evicted: _stay,
            Stopped: self._stop,
            Finished: self._finish,
            CapacityChanged: self._change_capacity,
        }

    def __call__(self, event: SimulationEvent) -> None:
        """Take notice of what happened."""
        if event.at_ms != self._now_ms:
            self._pass_until(event.at_ms)
        self._is_judged = False
        self._take[type(event)](event)

    def change_due(self, change: EntitlementChange) -> None:
        """Take what queues are entitled to; of several at one time the last one counts."""
        at_ms, books, touched = change.at_ms, self._books, self._touched
        if at_ms != self._now_ms:
            self._pass_until(at_ms)
        self._is_judged = False
        self._is_due_known = True
        if change.entitled:
            books.entitled.give(at_ms, change.entitled, self._due_changed)
            touched |= self._due_changed
        if change.demand:
            books.demand.give(at_ms, change.demand, touched)
        if change.fair_share:
            books.fair_share.give(at_ms, change.fair_share, set())
        if change.usage_e9:
            books.usage_e9.give(at_ms, change.usage_e9, set())

    def end(self, at_ms: int) -> tuple[Summary, Series]:
        """Say what it came to until *at_ms*; after this there can be no more events.

        Jobs that are not done are cut off: they count with what they had until then.
        """
        self._pass_until(at_ms)
        self._watch.end(at_ms)  # what changed at this very time would hold for no time at all
        series = self._recorder.end(at_ms, self._resources)
        for record in self._live.values():
            record.totals.add_allocated(record.requests, record.held_ms(at_ms))
            if not record.has_started:
                record.totals.ages_ms.append(at_ms - record.job.submit_ms)
        self._live.clear()
        return self._summary(at_ms), series

    def _pass_until(self, at_ms: int) -> None:
        assert at_ms >= self._now_ms, "time does not go back"
        if at_ms > self._now_ms and not self._is_judged:
            self._judge_moment()
        if self._recorder.full_at_ms <= at_ms:
            self._recorder.pass_until(at_ms)
        self._now_ms = at_ms

    def _judge_moment(self) -> None:
        """Compare what queues have with what is due, now that all of this moment is known."""
        self._watch.look(self._now_ms, self._touched)
        if self._is_due_known:
            self._change_model()
        self._newcomers.clear()
        self._leavers.clear()
        self._touched.clear()
        self._due_changed.clear()
        self._is_judged = True

    def _change_model(self) -> None:
        """Bring the model of each queue on its share up to what is now.

        Its times count from the start, so that fractions of a ms are the same whenever that is.
        """
        at_ms, models = self._now_ms - self._start_ms, self._on_share
        for record in self._leavers:
            if record.on_share is not None:
                models[record.path[0]].remove(at_ms, record.on_share)
        for index in self._due_changed & models.keys():
            models[index].set_due(at_ms, self._entitled_now(index))
        for record in sorted(self._newcomers, key=lambda each: each.job.name):
            if record.job.name not in self._live:
                continue  # it is done already
            index = record.path[0]
            entitled = self._entitled_now(index)
            if index not in models:
                models[index] = QueueOnShare(entitled)
            job = record.come_on_share(entitled)
            if job is not None:
                models[index].add(at_ms, job)

    def _entitled_now(self, index: int) -> Amounts:
        return tuple([row[index] for row in self._books.entitled.table.levels])

    def _finish_time_fairness(self, record: JobRecord) -> float | None:
        """How many times longer a job took than on the share of its queue; None: not defined."""
        if record.on_share is None:
            return None
        model, now_ms = self._on_share[record.path[0]], self._now_ms - self._start_ms
        submit_ms = record.job.submit_ms - self._start_ms
        alone_ms = model.ends_ms(now_ms, record.on_share) - submit_ms
        return (now_ms - submit_ms) / alone_ms if alone_ms < inf else None

    def _submit(self, event: Submitted) -> None:
        job = event.job
        totals = self._groups.of(job)
        totals.submit(job.submit_ms)
        path = self._books.upward[job.queue]
        record = JobRecord(job, self._amounts(job.requests), path, totals)
        self._live[job.name] = record
        self._newcomers.append(record)

    def _start(self, event: Started) -> None:
        at_ms, job = event.at_ms, event.job
        record = self._live[job.name]
        if not record.has_started:
            record.has_started = True
            record.totals.waits_ms.append(at_ms - job.submit_ms)
        self._hold(at_ms, record, event.pods)

    def _stop(self, event: Stopped) -> None:
        record = self._live[event.job.name]
        pods = event.pods
        record.totals.stop(event.cause, pods, record.requests, event.lost_ms)
        self._hold(event.at_ms, record, -pods)
        for index in record.path:
            self._books.evictions[index] += 1

    def _finish(self, event: Finished) -> None:
        at_ms = event.at_ms
        record = self._live.pop(event.job.name)
        self._hold(at_ms, record, -event.pods)
        totals = record.totals
        totals.add_allocated(record.requests, record.held_ms(at_ms))
        totals.finish(at_ms, record.slowdown(at_ms), self._finish_time_fairness(record))
        self._leavers.append(record)

    def _hold(self, at_ms: int, record: JobRecord, pods: int) -> None:
        """Let a job have places for so many pods more (or fewer)."""
        self._books.held.add(at_ms, record.path, record.hold(at_ms, pods))
        self._touched.update(record.path)

    def _change_capacity(self, event: CapacityChanged) -> None:
        amounts = self._amounts(event.capacity)
        self._capacity.set_all(event.at_ms, [[amount] for amount in amounts])

    def _amounts(self, by_resource: Mapping[str, int]) -> Amounts:
        return tuple([by_resource.get(resource, 0) for resource in self._resources])

    def _summary(self, end_ms: int) -> Summary:
        summariser = Summariser(self._resources, self._books, self._capacity, end_ms)
        own = self._groups.by(lambda names: names.queue)
        beneath = {
            book.name: self._groups.together(
                own[each.name] for each in book.all_beneath() if each.name in own
            )
            for book in self._books.all
        }
        everything = self._groups.together(own.values())
        users = self._groups.by(lambda names: names.user)
        kinds = self._groups.by(lambda names: names.kind)
        return Summary(
            start_ms=self._start_ms,
            end_ms=end_ms,
            of_cluster=summariser.of_cluster(everything, self._watch.contended),
            of_queues={
                book.name: summariser.of_queue(book, beneath[book.name], self._watch.contended)
                for book in self._books.all
            },
            of_users={name: summariser.of_jobs(totals) for name, totals in users.items()},
            of_kinds={name: summariser.of_jobs(totals) for name, totals in kinds.items()},
        )


def _stay(event: Evicted) -> None:
    """An evicted pod holds its place until it has stopped."""
