"""From the samples of a series to the moments at which it changed.

A week of samples a minute apart says the same thing ten thousand times. Where a sample is absent,
nothing was told then; a number that is no amount (NaN, Inf, less than nothing) tells of no change
either, and what was told before it holds on, also from one stretch of time to the next.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import IntEnum
from itertools import groupby
from typing import Final, NamedTuple

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.store.prometheus.answer import Samples
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held

_MAX_EXPONENT: Final = 30  # beyond any cluster, and still cheap to hold


class Change(NamedTuple):
    """From *at_ms* on a series says *amount*; None: it is absent."""

    at_ms: int
    amount: int | None


class LastTold(NamedTuple):
    """The number that a series has at the end of a stretch, and when its next sample is due."""

    due_ms: int
    number: Decimal


class Odd(NamedTuple):
    """A number that is no amount, and whether there was one before it, which holds on."""

    at_ms: int
    number: Decimal
    follows_amount: bool


class SeriesChanges:
    """When one series changed, in whole base units, and the first number of it that is no amount.

    Law: taking samples in pieces, in the order of time, gives the same as taking all at once; and
    so does going on with what another one has *last*, but that its amount is told once more.
    """

    def __init__(
        self,
        *,
        step_ms: int,
        scale: int,
        may_be_negative: bool = False,
        before: LastTold | None = None,
    ) -> None:
        """Know no sample yet of those that should be *step_ms* apart, the first of them now.

        A guarantee *may be negative*, which means that there is no limit.
        """
        self.changes: list[Change] = []
        self.odd: Odd | None = None
        self._step_ms = step_ms
        self._scale = scale
        self._may_be_negative = may_be_negative
        self._due_ms: int | None = None  # when the next sample should be
        self._number: Decimal | None = None
        if before is not None:
            self._due_ms, self._number = before
            self._change(before.due_ms, base_units(before.number, scale))

    @property
    def last(self) -> LastTold | None:
        """What the next stretch begins with; None if nothing is told at the end of this one."""
        if self._due_ms is None or self._number is None:
            return None
        return LastTold(self._due_ms, self._number)

    def take(self, samples: Samples) -> None:
        """Keep of *samples* those that differ from the one before. Cost: O(samples)."""
        for at_ms, value in samples:
            if at_ms != self._due_ms and self._due_ms is not None:
                self._fall_silent(self._due_ms)
            self._due_ms = at_ms + self._step_ms
            # Equal numbers are mostly one object, which spares the comparison.
            if value is self._number or value == self._number:
                continue
            amount = base_units(value, self._scale)
            if amount is None or (amount < 0 and not self._may_be_negative):
                self.odd = self.odd or Odd(at_ms, value, self._number is not None)
            else:
                self._number = value
                self._change(at_ms, amount)

    def finish(self, end_ms: int) -> None:
        """Say that nothing is told any more after the last sample, if one is due by *end_ms*."""
        if self._due_ms is not None and self._due_ms <= end_ms:
            self._fall_silent(self._due_ms)

    def _fall_silent(self, at_ms: int) -> None:
        if self._number is not None:
            self._number = None
            self._change(at_ms, None)

    def _change(self, at_ms: int, amount: int | None) -> None:
        """Note a change, in the place of what was only supposed to go on at that moment."""
        if self.changes and self.changes[-1].at_ms == at_ms:
            self.changes.pop()
        self.changes.append(Change(at_ms, amount))


def largest(several: Sequence[list[Change]]) -> list[Change]:
    """The largest of what several series of one thing say, such as of one queue.

    An exporter that restarts under another name is there twice for a while; adding both up would
    charge the queue twice. Cost: O(changes times series).
    """
    if len(several) == 1:
        return several[0]
    told: list[int | None] = [None] * len(several)
    merged: list[Change] = []
    level: int | None = None
    marked = [(change, which) for which, changes in enumerate(several) for change in changes]
    marked.sort(key=lambda each: each[0].at_ms)
    for at_ms, group in groupby(marked, key=lambda each: each[0].at_ms):
        for change, which in group:
            told[which] = change.amount
        now = max((each for each in told if each is not None), default=None)
        if now != level:
            level = now
            merged.append(Change(at_ms, now))
    return merged


def base_units(value: Decimal, scale: int) -> int | None:
    """*value* times *scale* to the nearest whole number, half to even; None if it is no amount."""
    if not value.is_finite() or value.adjusted() > _MAX_EXPONENT:
        return None
    if value.adjusted() < -_MAX_EXPONENT:
        return 0
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(numerator * scale, denominator)
    is_up = 2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1)
    return whole + is_up


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
        """Return whether a guarantee of that resource was ever reported: it holds on."""
        return self._knows_guarantee[place]

    def extend(
        self, told: Iterable[Told], *, begin_ms: int, end_ms: int, step_ms: int
    ) -> list[Entry]:
        """Entries for the samples at begin, begin + step, ... end, from what they told.

        *told* may be in any order, but for two of the same series. A series that was there before
        and is not there at *begin_ms* is absent. Cost: O(n log n) of what is told, and
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
        """All that was reported before, as if nothing were now; a guarantee holds on."""
        no_queue = QueueName("")
        return [
            *(Told(at_ms, place, Subject.CAPACITY, no_queue, None) for place in range(self._count)),
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
