"""Old entries, made few: one for each bucket of time in place of one for each change.

What was held is averaged over buckets, such as days; so is the capacity, and what was held above
the guarantee. A bucket of a queue also ends where the queue is forgiven, renamed or removed, and
every bucket ends where there is a gap: these entries, and grants, are kept as they are. At the end
of what is rolled up all levels are told as they were.

How far off the sums are that a ledger then makes, in the exact way:

* From one edge of a bucket to another, without a half-life: half a base unit times a bucket for a
  user and for the capacity; so much for each user of a queue, for the queue; and for its use above
  the guarantee half a base unit times a bucket, and a whole one for each user. That is for a call,
  however many buckets it makes few; the next call may add as much, to either side.
* A window that begins or ends within a bucket: at most what was held in that bucket, besides.
* With a half-life H, what was held in a bucket of length B may count up to 2**(B/H) times as much,
  or as little, as it should.
"""

from collections.abc import Iterator, Sequence

import msgspec

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.usage.entries import (
    Capacity,
    Entry,
    Forgiven,
    Gap,
    Granted,
    Guarantee,
    Held,
    Removed,
    Renamed,
)
from fairlead.usage.queue_use import above_guarantee
from fairlead.usage.settings import DAY_MS

PIECE_DAYS = 7


class RolledUp(msgspec.Struct, frozen=True, kw_only=True):
    """What a roll-up came to, in entries of the time that it was about."""

    until_ms: int
    entries_before: int
    entries_after: int


def rolled_up(entries: Sequence[Entry], until_ms: int, bucket_ms: int = DAY_MS) -> list[Entry]:
    """*entries* with those of the buckets that are over at *until_ms* made few, in order of time.

    Buckets begin at multiples of *bucket_ms*. Entries must be such as a ledger takes. Rolling up
    what is rolled up changes nothing. Cost: O(entries log entries + queues times buckets).
    """
    assert bucket_ms > 0
    end_ms = _end_ms(entries, until_ms // bucket_ms * bucket_ms)
    in_time = sorted(entries, key=lambda entry: entry.at_ms)
    old = [entry for entry in in_time if entry.at_ms < end_ms]
    if not old:
        return in_time
    roll_up = _RollUp(bucket_ms)
    for entry in old:
        roll_up.take(entry)
    roll_up.finish(end_ms)
    return [
        *sorted(roll_up.told, key=lambda entry: entry.at_ms),
        *(entry for entry in in_time if entry.at_ms >= end_ms),
    ]


def _end_ms(entries: Sequence[Entry], until_ms: int) -> int:
    """No later than where a gap begins that is not over by then: nothing may be told within it."""
    gaps = (entry for entry in entries if isinstance(entry, Gap) and entry.at_ms >= until_ms)
    return min([until_ms, *(gap.since_ms for gap in gaps)])


class _RollUp:
    """Takes old entries in the order of time; what it tells is not quite in that order."""

    def __init__(self, bucket_ms: int) -> None:
        self.told: list[Entry] = []
        self._bucket_ms = bucket_ms
        self._holders: dict[QueueName | None, _Holder] = {}  # queues, and None for the capacity
        self._last_gap: Gap | None = None

    def take(self, entry: Entry) -> None:
        match entry:
            case Held():
                holder = self._holder(entry.queue, entry.at_ms, len(entry.amounts))
                holder.hold(entry.user, entry.amounts)
            case Guarantee():
                holder = self._holder(entry.queue, entry.at_ms, len(entry.amounts))
                holder.set_guarantee(entry.amounts)
            case Capacity():
                self._holder(None, entry.at_ms, len(entry.amounts)).hold("", entry.amounts)
            case Granted():
                self.told.append(entry)
            case _:
                self._take_rare(entry)

    def finish(self, end_ms: int) -> None:
        for each in self._holders.values():
            self._end_bucket(each, end_ms)
            self.told.extend(each.true_levels(end_ms))

    def _take_rare(self, entry: Forgiven | Renamed | Removed | Gap) -> None:
        match entry:
            case Gap():
                if entry != self._last_gap:
                    self._skip(entry)
                self._last_gap = entry
            case Forgiven(queue=None):
                for name, holder in self._holders.items():
                    if name is not None:
                        self._end_bucket(holder, entry.at_ms)
            case Forgiven(queue=str(name)) | Renamed(queue=name) | Removed(queue=name):
                if name in self._holders:
                    self._end_bucket(self._holders[name], entry.at_ms)
                    self._change_queue(entry)
        self.told.append(entry)

    def _change_queue(self, entry: Forgiven | Renamed | Removed) -> None:
        match entry:
            case Renamed():
                queue = self._holders.pop(entry.queue)
                queue.name = entry.name
                self._holders[entry.name] = queue
            case Removed():
                self._holders[entry.queue].remove()

    def _skip(self, gap: Gap) -> None:
        for each in self._holders.values():
            self._end_bucket(each, gap.since_ms)
            each.begin_ms = each.at_ms = gap.at_ms

    def _holder(self, name: QueueName | None, at_ms: int, count: int) -> "_Holder":
        holder = self._holders.get(name)
        if holder is None:
            holder = self._holders[name] = _Holder(at_ms, name, count)
        self._advance(holder, at_ms)
        return holder

    def _advance(self, each: "_Holder", at_ms: int) -> None:
        """Let time pass, and end every bucket whose edge is passed."""
        while (edge_ms := (each.begin_ms // self._bucket_ms + 1) * self._bucket_ms) <= at_ms:
            self.told.extend(each.end_bucket(edge_ms))
        each.pass_time(at_ms)

    def _end_bucket(self, each: "_Holder", at_ms: int) -> None:
        """Let time pass, and end the bucket even if it is not at an edge."""
        self._advance(each, at_ms)
        if each.begin_ms < at_ms:
            self.told.extend(each.end_bucket(at_ms))


class _Holder:
    """One queue, or (None) the capacity, bucket by bucket.

    The capacity is held by no user, above a guarantee of nothing.
    """

    def __init__(self, at_ms: int, name: QueueName | None, count: int) -> None:
        """Nothing is held and nothing guaranteed at first."""
        self.name = name
        self.begin_ms = self.at_ms = at_ms  # of the bucket, and until when time has passed
        self._users: dict[str, _Average] = {}
        self._guarantee: Limits = (0,) * count
        self._above = _Average(count)
        self._told: dict[str, Amounts] = {}
        self._told_guarantee: Limits = (0,) * count

    def hold(self, user: str, amounts: Amounts) -> None:
        """From now on *user* holds *amounts*."""
        if user not in self._users:
            self._users[user] = _Average(len(amounts))
        self._users[user].levels = amounts
        self._set_above()

    def set_guarantee(self, amounts: Limits) -> None:
        """From now on *amounts* are guaranteed."""
        self._guarantee = amounts
        self._set_above()

    def remove(self) -> None:
        """From now on nothing is held or guaranteed, which a ledger knows from the entry itself."""
        nothing = (0,) * len(self._guarantee)
        for average in self._users.values():
            average.levels = nothing
        self.set_guarantee(nothing)
        self._told, self._told_guarantee = self._held(), nothing

    def pass_time(self, until_ms: int) -> None:
        """Let everything be as it is until then."""
        for average in (*self._users.values(), self._above):
            average.pass_time(until_ms - self.at_ms)
        self.at_ms = until_ms

    def end_bucket(self, end_ms: int) -> list[Entry]:
        """Return the entries for the bucket that ends then: each user's levels, and the guarantee.

        The average of what was above a guarantee is not what an average is above it. So the
        guarantee to tell is the one that leaves the right amount above it; the last one told, or
        the true one, is taken where it does.
        """
        self.pass_time(end_ms)
        begin_ms, length_ms = self.begin_ms, end_ms - self.begin_ms
        users = {user: each.close_bucket(length_ms) for user, each in self._users.items()}
        held = self._together(users)
        above = self._above.close_bucket(length_ms, held)
        guarantee = tuple(
            next(
                limit
                for limit in (last, true, amount - excess)
                if above_guarantee(amount, limit) == excess
            )
            for last, true, amount, excess in zip(
                self._told_guarantee, self._guarantee, held, above, strict=True
            )
        )
        self.begin_ms = end_ms
        return self._changes(begin_ms, users, guarantee)

    def true_levels(self, at_ms: int) -> list[Entry]:
        """Return entries that restate all levels as they are."""
        return self._changes(at_ms, self._held(), self._guarantee)

    def _changes(self, at_ms: int, users: dict[str, Amounts], guarantee: Limits) -> list[Entry]:
        changed = {user: each for user, each in users.items() if each != self._told.get(user)}
        is_other = guarantee != self._told_guarantee
        self._told, self._told_guarantee = users, guarantee
        name = self.name
        if name is None:
            return [Capacity(at_ms=at_ms, amounts=amounts) for amounts in changed.values()]
        entries: list[Entry] = [
            Held(at_ms=at_ms, queue=name, user=user, amounts=amounts)
            for user, amounts in changed.items()
        ]
        if is_other:
            entries.append(Guarantee(at_ms=at_ms, queue=name, amounts=guarantee))
        return entries

    def _held(self) -> dict[str, Amounts]:
        return {user: average.levels for user, average in self._users.items()}

    def _set_above(self) -> None:
        held = self._together(self._held())
        self._above.levels = tuple(map(above_guarantee, held, self._guarantee))

    def _together(self, users: dict[str, Amounts]) -> Amounts:
        return tuple(map(sum, zip(*users.values(), strict=True))) or (0,) * len(self._guarantee)


class _Average:
    """The levels of one holder, on several resources that change together."""

    def __init__(self, count: int) -> None:
        """Nothing is held at first."""
        self.levels: Amounts = (0,) * count
        self._totals = [0] * count  # resource-time since the bucket began
        self._carried = [0] * count  # resource-time of earlier buckets that was not told yet

    def pass_time(self, passed_ms: int) -> None:
        """Let the levels hold for so long."""
        columns = zip(self._totals, self.levels, strict=True)
        self._totals = [total + level * passed_ms for total, level in columns]

    def close_bucket(self, length_ms: int, at_most: Amounts | None = None) -> Amounts:
        """The whole levels to tell for the bucket that ends now, none of them above *at_most*."""
        told = []
        for place, total in enumerate(self._totals):
            due = total + self._carried[place]
            if at_most is None:
                # What a long bucket left over would be a peak in a short one, and what did not
                # change must stay as it is.
                least, most = total // length_ms, -(-total // length_ms)
            else:
                least, most = 0, at_most[place]
            level = min(max((2 * due + length_ms) // (2 * length_ms), least), most)
            self._carried[place] = due - level * length_ms
            told.append(level)
        self._totals = [0] * len(told)
        return tuple(told)


def pieces(begin_ms: int, until_ms: int, gaps: Sequence[Gap]) -> Iterator[tuple[int, int]]:
    """Begin and end of each piece of the whole days between two moments, in order.

    The first begins at the last free edge not after *begin_ms*, which may be some days earlier.
    """
    begin_ms = _free_edge(begin_ms, -DAY_MS, gaps)
    until_ms = _free_edge(until_ms, -DAY_MS, gaps)
    while begin_ms < until_ms:
        end_ms = min(until_ms, _free_edge(begin_ms + PIECE_DAYS * DAY_MS, DAY_MS, gaps))
        yield begin_ms, end_ms
        begin_ms = end_ms


def _free_edge(at_ms: int, step_ms: int, gaps: Sequence[Gap]) -> int:
    """The edge of a day before *at_ms*, moved by steps until no gap is there."""
    edge_ms = at_ms // DAY_MS * DAY_MS
    while any(gap.since_ms < edge_ms <= gap.at_ms for gap in gaps):
        edge_ms += step_ms
    return edge_ms
