"""What queues held on average in each of a few equal stretches of time, for drawing."""

from collections.abc import Iterable

import msgspec

from fairlead.usage.entries import Capacity, Entry, Gap, Held, Removed, Renamed

Points = list[float | None]
"""One average for each stretch; None where nothing is known of all of it."""


class HeldOverTime(msgspec.Struct, frozen=True, kw_only=True):
    """Averages for drawing, in base units: lists of points, one list for each resource."""

    begin_ms: int
    end_ms: int
    count: int  # of stretches
    queues: dict[str, list[Points]]
    capacity: list[Points]


class _Track:
    """Sums a level over stretches of time."""

    def __init__(self, width: int, count: int) -> None:
        self.levels: dict[str, tuple[int, ...]] = {}  # by user
        self.since_ms = 0
        self.sums = [[0] * count for _ in range(width)]


class _Tracks:
    """All tracks, and the stretches into which their time is cut."""

    def __init__(self, begin_ms: int, end_ms: int, count: int, width: int) -> None:
        self.begin_ms = begin_ms
        self.length_ms = max(1, -(-(end_ms - begin_ms) // count))  # rounded up: the end is in
        self.end_ms = begin_ms + self.length_ms * count
        self.count = count
        self.width = width
        self.queues: dict[str, _Track] = {}
        self.capacity = _Track(width, count)
        self.gaps = _Track(1, count)

    def of(self, queue: str) -> _Track:
        if queue not in self.queues:
            self.queues[queue] = _Track(self.width, self.count)
        return self.queues[queue]

    def charge(self, track: _Track, until_ms: int) -> None:
        """Add what *track* held since it was last charged to the stretches that it crosses."""
        begin_ms, until_ms = max(track.since_ms, self.begin_ms), min(until_ms, self.end_ms)
        track.since_ms = max(track.since_ms, until_ms)
        held = [sum(each) for each in zip(*track.levels.values(), strict=True)]
        while begin_ms < until_ms and any(held):
            at = (begin_ms - self.begin_ms) // self.length_ms
            next_ms = min(until_ms, self.begin_ms + (at + 1) * self.length_ms)
            for sums, level in zip(track.sums, held, strict=True):
                sums[at] += level * (next_ms - begin_ms)
            begin_ms = next_ms

    def take(self, entry: Entry) -> None:
        match entry:
            case Held():
                track = self.of(entry.queue)
                self.charge(track, entry.at_ms)
                track.levels[entry.user] = entry.amounts
            case Capacity():
                self.charge(self.capacity, entry.at_ms)
                self.capacity.levels[""] = entry.amounts
            case Removed() if entry.queue in self.queues:
                self.charge(self.queues[entry.queue], entry.at_ms)
                self.queues[entry.queue].levels.clear()
            case Renamed() if entry.queue in self.queues:
                self.queues[entry.name] = self.queues.pop(entry.queue)
            case Gap():
                self._skip(entry)

    def _skip(self, gap: Gap) -> None:
        for track in (*self.queues.values(), self.capacity):
            self.charge(track, gap.since_ms)
            track.since_ms = gap.at_ms
        self.gaps.since_ms = gap.since_ms
        self.gaps.levels[""] = (1,)
        self.charge(self.gaps, gap.at_ms)
        self.gaps.levels.clear()

    def points(self, track: _Track, end_ms: int) -> list[Points]:
        self.charge(track, end_ms)
        ends = [self.begin_ms + (at + 1) * self.length_ms for at in range(self.count)]
        known = [
            min(end, end_ms) - (end - self.length_ms) - gap
            for end, gap in zip(ends, self.gaps.sums[0], strict=True)
        ]
        return [
            [total / ms if ms > 0 else None for total, ms in zip(sums, known, strict=True)]
            for sums in track.sums
        ]


def held_over_time(
    entries: Iterable[Entry], width: int, begin_ms: int, end_ms: int, count: int
) -> HeldOverTime:
    """Return averages of what was held between two moments, in *count* equal stretches.

    *entries* begin with the levels at *begin_ms*, and have *width* resources. Law: an average times
    its known time is what was held in it. Cost: O(entries + queues times stretches).
    """
    tracks = _Tracks(begin_ms, end_ms, count, width)
    for entry in entries:
        if entry.at_ms > end_ms:
            break
        tracks.take(entry)
    return HeldOverTime(
        begin_ms=begin_ms,
        end_ms=tracks.end_ms,
        count=count,
        queues={name: tracks.points(track, end_ms) for name, track in tracks.queues.items()},
        capacity=tracks.points(tracks.capacity, end_ms),
    )
