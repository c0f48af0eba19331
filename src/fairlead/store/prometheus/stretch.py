"""One stretch of time, asked about resource by resource, and what is odd about the answers.

Series that are missing, have no usable number or belong to no queue leave an answer that can be
used, and readers may ask why; each is noted here in words, with the query that shows it.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.prometheus.answer import shown
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.store.prometheus.kai_queries import (
    QUEUE_LABEL,
    ResourceQueries,
)
from fairlead.store.prometheus.level_sweep import (
    Change,
    LastTold,
    SeriesChanges,
    Subject,
    Told,
    largest,
)
from fairlead.usage.settings import UsageRules

SHOWN_PROBLEMS: Final = 5

_SortedLabels: TypeAlias = tuple[tuple[str, str], ...]
LastSamples: TypeAlias = dict[tuple[int, Subject, _SortedLabels], LastTold]
"""What each series has at the end of a stretch, by resource, subject and labels."""


class _Answered(NamedTuple):
    """What is told in answer to one query, and whether any of it is a number that counts."""

    told: list[Told]
    has_amounts: bool
    no_amount: str  # the first sample that is no amount, for people; "": all are
    unlabelled: str  # the query, if there are series without a queue; "": there are none


class Stretch:
    """Asks about one stretch of time and notes what is odd about the answers."""

    def __init__(
        self,
        client: PrometheusClient,
        rules: UsageRules,
        *,
        begin_ms: int,
        end_ms: int,
        before: LastSamples,
    ) -> None:
        """Ask nothing yet about the samples from *begin_ms* to *end_ms*, both included.

        What the stretch *before* ended with goes on, if this one begins where that one ended.
        """
        self.last: LastSamples = {}
        self._client = client
        self._rules = rules
        self._begin_ms = begin_ms
        self._end_ms = end_ms
        self._before = before
        self._odd: dict[str, None] = {}
        self._has_answers = False
        self._no_amount = ""  # what queues held, in a sample that is no amount
        self._unlabelled = ""  # the query for held amounts, if its series name no queue

    def ask(self, place: int, queries: ResourceQueries, *, knows_guarantee: bool) -> Iterator[Told]:
        """Yield what the server reports of one resource.

        Raises StoreError, also if usage above guarantees is charged and none is reported, now or
        before.
        """
        held = self._told(place, Subject.HELD, queries.allocated, queries.scale)
        capacity = self._told(place, Subject.CAPACITY, queries.capacity, queries.scale)
        self._judge(queries, held, capacity)
        yield from capacity.told
        yield from held.told
        if self._rules.charge == "over-quota":
            # Also while no queue holds any: the guarantee counts as soon as one does.
            guaranteed = self._told(place, Subject.GUARANTEED, queries.guaranteed, queries.scale)
            if held.has_amounts and not (knows_guarantee or guaranteed.has_amounts):
                what = f"what is guaranteed to queues of {queries.resource} ({queries.guaranteed})"
                raise StoreError(
                    f"Prometheus at {self._client.name} {_lacks(what, guaranteed)}, and "
                    "charge: over-quota needs one; scrape it, name another, or use charge: all"
                )
            yield from guaranteed.told

    def problems(self) -> tuple[str, ...]:
        """What is odd, in the order in which it was found; not all if there is much."""
        odd = list(self._odd)
        if not self._has_answers:
            return (f"Prometheus at {self._client.name} {self._nothing_held()}",)
        more = len(odd) - SHOWN_PROBLEMS
        return (*odd[:SHOWN_PROBLEMS], *([f"and {more} more like these"] if more > 0 else []))

    def _nothing_held(self) -> str:
        """Say why it is not known what any queue held of anything, and where to look."""
        what = f"what queues held between {_moment(self._begin_ms)} and {_moment(self._end_ms)}"
        if self._no_amount:
            return f"{_without_numbers(what, self._no_amount)}; look at what is scraped"
        if self._unlabelled:
            text = f"{_without_label(what)}, such as in {self._unlabelled}"
            return f"{text}; let what is scraped, or the query, keep that label"
        return f"has no series of {what}; is it the right server, and are queues scraped?"

    def _told(self, place: int, subject: Subject, query: str, scale: int) -> _Answered:
        by_queue: dict[QueueName, list[list[Change]]] = {}
        no_amount = unlabelled = ""
        for labels, found in self._followed(place, subject, query, scale).items():
            queue = QueueName(dict(labels).get(QUEUE_LABEL, ""))
            if not queue and subject is not Subject.CAPACITY:
                self._note(f"has series without the label {QUEUE_LABEL} in {query}; left out")
                unlabelled = query
                continue
            odd = self._note_odd(query, queue, found)
            no_amount = no_amount or odd
            by_queue.setdefault(queue, []).append(found.changes)
        return _Answered(
            told=[
                told
                for queue, several in by_queue.items()
                for told in _as_told(largest(several), place, subject, queue)
            ],
            has_amounts=any(map(_has_amount, chain.from_iterable(by_queue.values()))),
            no_amount=no_amount,
            unlabelled=unlabelled,
        )

    def _followed(
        self, place: int, subject: Subject, query: str, scale: int
    ) -> dict[_SortedLabels, SeriesChanges]:
        """Follow each series, by its labels, through the pieces of the answer, one at a time."""
        step_ms = self._rules.resolution_ms
        followed: dict[_SortedLabels, SeriesChanges] = {}
        for answer in self._client.range(query, self._begin_ms, self._end_ms, step_ms):
            for warning in answer.warnings:
                self._note(f"warns that its answer may be partial: {warning}")
            for series in answer.series:
                labels = tuple(sorted(series.labels.items()))
                if labels not in followed:
                    followed[labels] = SeriesChanges(
                        step_ms=step_ms,
                        scale=scale,
                        may_be_negative=subject is Subject.GUARANTEED,
                        before=self._told_before(place, subject, labels),
                    )
                followed[labels].take(series.samples)
        for labels, each in followed.items():
            each.finish(self._end_ms)
            if each.last is not None:
                self.last[place, subject, labels] = each.last
        return followed

    def _told_before(self, place: int, subject: Subject, labels: _SortedLabels) -> LastTold | None:
        last = self._before.get((place, subject, labels))
        return last if last is not None and last.due_ms == self._begin_ms else None

    def _judge(self, queries: ResourceQueries, held: _Answered, capacity: _Answered) -> None:
        self._has_answers = self._has_answers or held.has_amounts
        self._no_amount = self._no_amount or held.no_amount
        self._unlabelled = self._unlabelled or held.unlabelled
        resource = queries.resource
        of_use = f"what queues held of {resource} ({queries.allocated})"
        of_capacity = f"the capacity of {resource} ({queries.capacity})"
        if not held.has_amounts:
            text = _lacks(of_use, held)
            if not capacity.has_amounts:  # not even as 0, which says that the cluster has none
                text += f", and {_lacks(of_capacity, capacity)}"
            self._note(f"{text}; nothing is known of its use")
        elif not capacity.has_amounts and any(each.amount for each in held.told):
            text = _lacks(of_capacity, capacity)
            self._note(f"{text}; what queues held of it cannot be counted")

    def _note_odd(self, query: str, queue: QueueName, found: SeriesChanges) -> str:
        """Note the first number of a series that is no amount, and return it; "" if all are."""
        if found.odd is None:
            return ""
        odd = found.odd
        whose = f" for queue {shown(queue)}" if queue else ""
        said = f"{shown(str(odd.number))}{whose} at {_moment(odd.at_ms)}"
        if odd.follows_amount:
            then = "the amount before it was kept"
        elif _has_amount(found.changes):
            then = "nothing counts there until it says one"
        else:
            then = "nothing else is told there"
        self._note(f"says {said} in {query}, which is no amount; {then}")
        return said

    def _note(self, text: str) -> None:
        self._odd[f"Prometheus at {self._client.name} {text}"] = None


def _as_told(
    changes: list[Change], place: int, subject: Subject, queue: QueueName
) -> Iterator[Told]:
    for at_ms, amount in changes:
        if subject is not Subject.GUARANTEED:
            yield Told(at_ms, place, subject, queue, amount)
        elif amount is not None:  # else it is absent, and what was guaranteed holds on
            yield Told(at_ms, place, subject, queue, None if amount < 0 else amount)


def _lacks(what: str, answered: _Answered) -> str:
    """Say that there is no number of *what*, be it that nothing is there or nothing usable."""
    if answered.no_amount:
        return _without_numbers(what, answered.no_amount)
    if answered.unlabelled:
        return _without_label(what)
    return f"has no series of {what}"


def _without_numbers(what: str, no_amount: str) -> str:
    return f"has samples of {what}, but no usable number among them, only such as {no_amount}"


def _without_label(what: str) -> str:
    return f"has series of {what}, but none with the label {QUEUE_LABEL}"


def _has_amount(changes: list[Change]) -> bool:
    return any(change.amount is not None for change in changes)


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
