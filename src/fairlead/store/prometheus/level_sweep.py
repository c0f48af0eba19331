"""From what series said, one resource at a time, to entries for a ledger, in the order of time.

An entry holds all resources of a queue, but every resource is told by series of its own, and each
may fall silent. Of a resource, a moment counts only if both its capacity and somebody's use of it
are told: else neither counts, so that silence makes nobody's part of the whole larger or smaller. A
queue of which nothing is told, while something is told of others, holds nothing.
"""

from collections.abc import Iterable
from enum import IntEnum
from itertools import groupby
from typing import NamedTuple

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held


class Subject(IntEnum):
    """What a series is about."""

    CAPACITY = 0
    HELD = 1
    GUARANTEED = 2


class Told(NamedTuple):
    """From *at_ms* on a series says *amount*; None: nothing, but of a guarantee, no limit."""

    at_ms: int
    place: int  # of the resource
    subject: Subject
    queue: QueueName  # "" for the capacity
    amount: int | None


class LevelSweep:
    """Follows all series through time; what was told last is kept from one stretch to the next."""

    def __init__(self, count: int) -> None:
        """Know nothing of so many resources."""
        self.newest_ms: int | None = None  # until when all is told that was ever told
        self._count = count
        self._capacity: list[int | None] = [None] * count
        self._held: list[dict[QueueName, int]] = [{} for _ in range(count)]
        self._guaranteed: dict[QueueName, list[int | None]] = {}
        self._knows_guarantee = [False] * count
        self._known = [False] * count
        self._ever_known = [False] * count
        self._last_capacity: Amounts = (0,) * count
        self._last_held: dict[QueueName, Amounts] = {}
        self._last_guaranteed: dict[QueueName, Limits] = {}

    @property
    def queues(self) -> frozenset[QueueName]:
        """All that have entries."""
        return frozenset(self._last_held)

    def knows_guarantee(self, place: int) -> bool:
        """Whether it was ever told what is guaranteed to anybody of that resource: it holds on."""
        return self._knows_guarantee[place]

    def extend(
        self, told: Iterable[Told], *, begin_ms: int, end_ms: int, step_ms: int
    ) -> list[Entry]:
        """Entries for the samples at begin, begin + step, ... end, from what they told.

        *told* may be in any order, but for two of the same series. Whoever was told of before and
        is not told of again at *begin_ms* is absent. Cost: O(n log n) of what is told, and
        O(queues) where a resource falls silent.
        """
        entries: list[Entry] = []
        in_order = sorted([*self._absent(begin_ms), *told], key=lambda each: each.at_ms)
        for at_ms, group in groupby(in_order, key=lambda each: each.at_ms):
            was_complete = self._is_complete()
            touched = {self._take(each) for each in group}
            if self._update_known():
                touched.update(self._last_held)
                touched.update(name for held in self._held for name in held)
            entries.extend(self._entries(at_ms, sorted(touched - {QueueName("")})))
            if was_complete and not self._is_complete() and at_ms > begin_ms:
                self.newest_ms = at_ms - step_ms
        if self._is_complete():
            self.newest_ms = end_ms
        return entries

    def _absent(self, at_ms: int) -> list[Told]:
        """Everybody of whom something was told, as if nothing were; a guarantee holds on."""
        nobody = QueueName("")
        return [
            *(Told(at_ms, place, Subject.CAPACITY, nobody, None) for place in range(self._count)),
            *(
                Told(at_ms, place, Subject.HELD, name, None)
                for place, held in enumerate(self._held)
                for name in held
            ),
        ]

    def _take(self, told: Told) -> QueueName:
        match told.subject:
            case Subject.CAPACITY:
                self._capacity[told.place] = told.amount
            case Subject.HELD:
                if told.amount is None:
                    self._held[told.place].pop(told.queue, None)
                else:
                    self._held[told.place][told.queue] = told.amount
            case Subject.GUARANTEED:
                amounts = self._guaranteed.setdefault(told.queue, [0] * self._count)
                amounts[told.place] = told.amount
                self._knows_guarantee[told.place] = True
        return told.queue

    def _update_known(self) -> bool:
        """Find out of which resources this moment counts; whether that has changed."""
        known = [
            capacity is not None and bool(held)
            for capacity, held in zip(self._capacity, self._held, strict=True)
        ]
        has_changed = known != self._known
        self._known = known
        self._ever_known = [now or ever for now, ever in zip(known, self._ever_known, strict=True)]
        return has_changed

    def _is_complete(self) -> bool:
        """Whether something is told, and no resource is half silent that once was not.

        A resource of which there is no capacity and no use, such as GPUs when the last node that
        has some is gone, is not silent but empty.
        """
        return any(self._known) and not any(
            self._ever_known[place]
            and not self._known[place]
            and (self._capacity[place] is not None or any(self._held[place].values()))
            for place in range(self._count)
        )

    def _entries(self, at_ms: int, touched: list[QueueName]) -> list[Entry]:
        """What has changed at a moment; the guarantee before what is held above it."""
        entries: list[Entry] = []
        capacity = self._counting(self._capacity)
        if capacity != self._last_capacity:
            self._last_capacity = capacity
            entries.append(Capacity(at_ms=at_ms, amounts=capacity))
        for name in touched:
            guaranteed = self._guaranteed.get(name)
            if guaranteed is not None and tuple(guaranteed) != self._last_guaranteed.get(name):
                limits = self._last_guaranteed[name] = tuple(guaranteed)
                entries.append(Guarantee(at_ms=at_ms, queue=name, amounts=limits))
            held = self._counting([each.get(name) for each in self._held])
            if held != self._last_held.get(name):
                self._last_held[name] = held
                entries.append(Held(at_ms=at_ms, queue=name, amounts=held))
        return entries

    def _counting(self, amounts: list[int | None]) -> Amounts:
        return tuple(
            amount if amount is not None and is_known else 0
            for amount, is_known in zip(amounts, self._known, strict=True)
        )
