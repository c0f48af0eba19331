"""The weighted sum of what one holder had, over a window, in bounded memory.

A level holds from one change to the next, so the sum of all time is known at every moment, and a
window's sum is the difference of two of them. At its new end that is exact. For its old end, what
the sum was must be remembered: once for each bucket of time in which something changed, at the
bucket's beginning. Between such buckets the level was constant and the old sum follows exactly;
within one it is taken to have grown evenly. So a window's sum is exact when its old end is at the
edge of a bucket or in one without changes, and otherwise off by no more than what was used (or
granted) in the width of that one bucket. Tumbling windows begin at an edge and are always exact.

While a level holds, the sum is a straight line over the marks of time: an offset, and the level
times the mark. A change of level bends the line at its mark. So a line is all that is kept, of now
and of each bucket, and where time passes without a change nothing is done at all.

Several resources that change together share one running sum: levels and offsets are numbers with a
lane for each resource (`lanes`). All that is done here is done to every lane alike.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from fairlead.usage.timeline import GROWN_BITS, Moment, Span, part_of_way


class SumState(NamedTuple):
    """All that a running sum knows, for it to be written down and taken up again."""

    at_ms: int  # of the last change
    mark: int  # of the same moment
    offset: int  # of the line since then
    levels: int
    edges_ms: Sequence[int]
    old_offsets: Sequence[int]  # for each edge, of the line on which it lies
    old_levels: Sequence[int]


_Cut: TypeAlias = tuple[int, int, int]
"""Where a bucket begins that windows begin in, the sums at its beginning, and what they grew by
until its end. It is past, so what changes today leaves it as it is, and plans need not search until
the bucket is over.
"""


class RunningSum:
    """What was held, summed; changes must come in the order of time."""

    __slots__ = (
        "_cut",
        "_edges_ms",
        "_mark",
        "_offset",
        "_old_levels",
        "_old_offsets",
        "at_ms",
        "levels",
    )

    _mark: int  # of the last change
    _offset: int
    # Three lists of numbers, for the sake of the garbage collector, which would look at every line
    # again and again, if there were objects for them.
    _edges_ms: list[int]
    _old_offsets: list[int]
    _old_levels: list[int]
    _cut: _Cut | None  # of the bucket that was asked about last

    def __init__(self, moment: Moment) -> None:
        """Nothing is held before *moment*."""
        self.levels = 0
        self.forget(moment)

    @classmethod
    def resumed(cls, state: SumState) -> "RunningSum":
        """A sum that goes on from *state*, and answers as the one that it was taken from."""
        resumed = cls.__new__(cls)
        resumed.resume(state)
        return resumed

    def resume(self, state: SumState) -> None:
        """Forget everything and go on from *state*."""
        self.at_ms, self._mark, self._offset, self.levels = state[:4]
        self._edges_ms = list(state.edges_ms)
        self._old_offsets, self._old_levels = list(state.old_offsets), list(state.old_levels)
        self._cut = None

    def state(self) -> SumState:
        """All that is known now; good until the next change."""
        return SumState(
            at_ms=self.at_ms,
            mark=self._mark,
            offset=self._offset,
            levels=self.levels,
            edges_ms=self._edges_ms,
            old_offsets=self._old_offsets,
            old_levels=self._old_levels,
        )

    def copy(self) -> "RunningSum":
        """Return an independent sum that answers, and continues, as this one."""
        return RunningSum.resumed(self.state())

    def set_levels(self, moment: Moment, levels: int) -> None:
        """From *moment* on so much is held. Cost: O(1), amortised over the buckets."""
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
        self._edges_ms, self._old_offsets, self._old_levels = [moment.edge_ms], [0], [0]
        self._cut = None

    def halve(
        self, times: int, mark_of: Callable[[int], int], halved: Callable[[int, int], int]
    ) -> None:
        """Make everything so many times smaller, because the base of the timeline moves.

        Each line goes through its known sums afterwards: those of the last change, or at the edge
        of a bucket, whose mark *mark_of* still has. Its offset by itself is the difference of two
        long numbers, and would not be as near.
        """

        def moved(offset: int, levels: int, mark: int) -> int:
            return halved(offset + levels * mark, times) - levels * (mark >> times)

        self._cut = None
        self._offset = moved(self._offset, self.levels, self._mark)
        self._mark >>= times
        marks = map(mark_of, self._edges_ms)
        self._old_offsets = list(map(moved, self._old_offsets, self._old_levels, marks))

    def over(self, span: Span) -> int:
        """The weighted sums over *span*, which does not end before the last change, in 2**-64.

        Cost: O(1) and a search among the buckets of one window.
        """
        begin_ms, begin_mark, end_mark, edge_ms, _, _, grown = span
        levels, cut = self.levels, self._cut
        if begin_ms > self.at_ms:  # at the last change itself there may be a grant
            return levels * ((end_mark - begin_mark) << GROWN_BITS)
        if cut is not None and cut[0] == edge_ms:
            _, sums, growth = cut
        else:
            sums, growth, grown = self._around(span)
        return ((self._offset + levels * end_mark - sums) << GROWN_BITS) - growth * grown

    def _advance(self, moment: Moment) -> None:
        assert moment.at_ms >= self.at_ms
        if moment.edge_ms > self.at_ms:  # the last change was in an earlier bucket
            self._edges_ms.append(moment.edge_ms)
            self._old_offsets.append(self._offset)
            self._old_levels.append(self.levels)
            # The last bucket that begins before the window is still needed for its old end.
            if self._edges_ms[1] <= moment.oldest_ms:
                expired = bisect_right(self._edges_ms, moment.oldest_ms) - 1
                del self._edges_ms[:expired]
                del self._old_offsets[:expired]
                del self._old_levels[:expired]
        self.at_ms, self._mark = moment.at_ms, moment.mark

    def _around(self, span: Span) -> tuple[int, int, int]:
        """Sums known before *span* began, their growth until known again, and its part by then.

        It began no later than the last change. Where that part is the span's own, other windows
        which begin in the same bucket have the same sums around them, and these are kept.
        """
        begin_ms, begin_mark, _, edge_ms, edge_mark, edge_end_mark, grown = span
        edges_ms, offsets, levels = self._edges_ms, self._old_offsets, self._old_levels
        # A change drops the buckets that are too old, so mostly the first one is the one.
        following = 1 if edges_ms[0] == edge_ms else bisect_right(edges_ms, begin_ms)
        if following == 0:  # it began before everything, else an older bucket would be there
            return 0, 0, 0
        last = following - 1
        if edges_ms[last] == begin_ms:
            return offsets[last] + levels[last] * begin_mark, 0, 0
        if edges_ms[last] < edge_ms:
            return offsets[following] + levels[following] * begin_mark, 0, 0
        sums = offsets[last] + levels[last] * edge_mark
        if following == len(edges_ms):
            growth = self._offset + self.levels * self._mark - sums
            return sums, growth, part_of_way(edge_mark, begin_mark, self._mark)
        growth = offsets[following] + levels[following] * edge_end_mark - sums
        self._cut = edge_ms, sums, growth
        return sums, growth, grown
