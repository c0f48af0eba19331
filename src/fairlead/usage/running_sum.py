"""The weighted sum of what one holder had, over a window, in bounded memory.

A level holds from one change to the next, so the sum of all time is known at every moment, and a
window's sum is the difference of two of them. For its old end, what the sum was must be remembered:
at each change that lies in the window, or only at the first one of each window where windows do not
slide. So a window's sum is exact, wherever it begins, if all of these are remembered.

There is a bound on what is remembered. Of a holder with more than MOST_LINES changes in a sliding
window, only so many are. Where others between two of these are forgotten, the sum is taken to have
grown evenly from one to the other: their levels give way to the mean of them. A window that begins
there is off by no more than the largest change of level, over a part of 1 / (MOST_LINES / 2) of the
window, and the grants in it; the more changes were forgotten, the nearer the mean is.

While a level holds, the sum is a straight line over the marks of time: an offset, and the level
times the mark. A change of level bends the line at its mark. So a line is all that is kept, of now
and before each change, and where time passes without a change nothing is done at all.

Several resources that change together share one running sum: levels and offsets are numbers with a
lane for each resource (`lanes`). All that is done here is done to every lane alike.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from fairlead.usage.lanes import Lanes
from fairlead.usage.timeline import Moment, Span

MOST_LINES: Final = 256


class SumState(NamedTuple):
    """All that a running sum knows, for it to be written down and taken up again."""

    at_ms: int  # of the last change
    mark: int  # of the same moment
    offset: int  # of the line since then
    levels: int
    edges_ms: Sequence[int]
    old_lines: (
        bytes | bytearray
    )  # for each edge, levels and offset of the line that ends at or after it


class RunningSum:
    """What was held, summed; changes must come in the order of time."""

    __slots__ = (
        "_edges_ms",
        "_lanes",
        "_mark",
        "_offset",
        "_old_lines",
        "at_ms",
        "levels",
    )

    _mark: int  # of the last change
    _offset: int
    # Bytes take half the memory of numbers, and a snapshot has them as they are.
    _edges_ms: list[int]
    _old_lines: bytearray

    def __init__(self, moment: Moment, lanes: Lanes) -> None:
        """Nothing is held before *moment*; all numbers are of *lanes*."""
        self.levels = 0
        self._lanes = lanes
        self.forget(moment)

    @classmethod
    def resumed(cls, state: SumState, lanes: Lanes) -> "RunningSum":
        """A sum that goes on from *state*, and answers as the one that it was taken from."""
        resumed = cls(Moment(0, 0, 0, 0, mark_of=int), lanes)
        resumed.resume(state)
        return resumed

    def resume(self, state: SumState) -> None:
        """Forget everything and go on from *state*."""
        self.at_ms, self._mark, self._offset, self.levels = state[:4]
        self._edges_ms = list(state.edges_ms)
        self._old_lines = bytearray(state.old_lines)

    def state(self) -> SumState:
        """All that is known now; good until the next change."""
        return SumState(
            at_ms=self.at_ms,
            mark=self._mark,
            offset=self._offset,
            levels=self.levels,
            edges_ms=self._edges_ms,
            old_lines=self._old_lines,
        )

    def copy(self) -> "RunningSum":
        """Return an independent sum that answers, and continues, as this one."""
        return RunningSum.resumed(self.state(), self._lanes)

    def set_levels(self, moment: Moment, levels: int) -> None:
        """From *moment* on so much is held. Cost: O(1), amortised."""
        self._advance(moment)
        self._offset += (self.levels - levels) * moment.mark
        self.levels = levels

    def add(self, moment: Moment, weighted: int) -> None:
        """Count so much more as used at *moment*."""
        self._advance(moment)
        self._offset += weighted

    def forget(self, moment: Moment) -> None:
        """Let everything before *moment* be as if never; levels stay."""
        self.at_ms, self._mark = moment.at_ms, moment.mark
        self._offset = -self.levels * moment.mark
        self._edges_ms, self._old_lines = [moment.edge_ms], bytearray(2 * self._lanes.size)

    def halve(self, times: int, mark_of: Callable[[int], int]) -> None:
        """Make everything so many times smaller, because the base of the timeline moves.

        Each line goes through its known sums afterwards: those of the last change, or at its edge,
        whose mark *mark_of* still has. Its offset by itself is the difference of two long numbers,
        and would not be as near.
        """

        def moved(offset: int, levels: int, mark: int) -> int:
            sums = self._lanes.halved(offset + levels * mark, times)
            return sums - levels * (mark >> times)

        self._offset = moved(self._offset, self.levels, self._mark)
        self._mark >>= times
        old = [self._line(place) for place in range(len(self._edges_ms))]
        self._old_lines.clear()
        for edge_ms, (levels, offset) in zip(self._edges_ms, old, strict=True):
            self._keep(levels, moved(offset, levels, mark_of(edge_ms)))

    def over(self, span: Span) -> int:
        """The weighted sums over *span*, which does not end before the last change.

        Cost: O(1) and a search among the changes of one window.
        """
        begin_ms, begin_mark, end_mark = span
        if begin_ms > self.at_ms:  # at the last change itself there may be a grant
            return self.levels * (end_mark - begin_mark)
        levels, offset = self._line(bisect_left(self._edges_ms, begin_ms))
        return self._offset + self.levels * end_mark - (offset + levels * begin_mark)

    def _advance(self, moment: Moment) -> None:
        assert moment.at_ms >= self.at_ms
        if moment.edge_ms > self.at_ms:  # else the line that ended there is kept already
            self._edges_ms.append(moment.edge_ms)
            self._keep(self.levels, self._offset)
            if self._edges_ms[0] < moment.oldest_ms:
                expired = bisect_left(self._edges_ms, moment.oldest_ms)
                del self._edges_ms[:expired]
                del self._old_lines[: 2 * self._lanes.size * expired]
            if len(self._edges_ms) > MOST_LINES:
                self._thin_out(moment.mark_of)
        self.at_ms, self._mark = moment.at_ms, moment.mark

    def _thin_out(self, mark_of: Callable[[int], int]) -> None:
        """Keep one line, the first, of each of half as many stretches of time, and the last."""
        begin_ms, last = self._edges_ms[0], len(self._edges_ms) - 1
        width_ms = -(-(self._edges_ms[last] + 1 - begin_ms) // (MOST_LINES // 2))
        stretches = [(edge_ms - begin_ms) // width_ms for edge_ms in self._edges_ms]
        kept = [
            place
            for place, stretch in enumerate(stretches)
            if place in (0, last) or stretch != stretches[place - 1]
        ]
        lines = [self._line(0)]
        for before, place in pairwise(kept):
            straight = place == before + 1
            lines.append(self._line(place) if straight else self._evenly(before, place, mark_of))
        self._edges_ms = [self._edges_ms[place] for place in kept]
        self._old_lines.clear()
        for levels, offset in lines:
            self._keep(levels, offset)

    def _evenly(self, before: int, place: int, mark_of: Callable[[int], int]) -> tuple[int, int]:
        """The line that ends as the one at *place*, and grew evenly since the edge *before*."""
        begin_mark, end_mark = mark_of(self._edges_ms[before]), mark_of(self._edges_ms[place])
        old_levels, old_offset = self._line(before)
        levels, offset = self._line(place)
        sums = offset + levels * end_mark
        if end_mark > begin_mark:  # else no sample was between them
            growth = sums - (old_offset + old_levels * begin_mark)
            levels = self._lanes.divided(growth, end_mark - begin_mark)
        return levels, sums - levels * end_mark

    def _keep(self, levels: int, offset: int) -> None:
        size = self._lanes.size
        self._old_lines += levels.to_bytes(size, "little", signed=True)
        self._old_lines += offset.to_bytes(size, "little", signed=True)

    def _line(self, place: int) -> tuple[int, int]:
        """The levels and the offset of the line that ends at the edge there, or after it."""
        size, lines, whole = self._lanes.size, self._old_lines, int.from_bytes
        begin = 2 * size * place
        levels, offset = lines[begin : begin + size], lines[begin + size : begin + 2 * size]
        return whole(levels, "little", signed=True), whole(offset, "little", signed=True)
