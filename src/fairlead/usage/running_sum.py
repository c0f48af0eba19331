"""The weighted sum of what one holder had, over a window, in bounded memory.

A level holds from one change to the next, so the sum of all time is known at every moment, and a
window's sum is the difference of two of them. At its new end that is exact. For its old end, what
the sum was must be remembered: once for each bucket of time in which something changed, at the
bucket's beginning. Between such buckets the level was constant and the old sum follows exactly;
within one it is taken to have grown evenly. So a window's sum is exact when its old end is at the
edge of a bucket or in one without changes, and otherwise off by no more than what was used (or
granted) in the width of that one bucket. Tumbling windows begin at an edge and are always exact.

Several amounts that change together (resources; all use and use above the guarantee) share one
running sum. Each is picked by its place, because `zip` takes half as long again.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts
from fairlead.usage.timeline import GROWN_BITS, Moment, Span, part_of_way

Start: TypeAlias = tuple[int, tuple[int, ...], Amounts]
"""How things were at the beginning of a bucket: its mark, the sums, and the levels just before it.

There are so many of these that it must be a plain tuple: the garbage collector looks at those of
numbers once, and at those with names for ever."""


class SumState(NamedTuple):
    """All that a running sum knows, for it to be written down and taken up again."""

    at_ms: int  # of the last change
    mark: int  # up to where the sums go
    levels: Amounts
    sums: tuple[int, ...]
    edges_ms: Sequence[int]
    starts: Sequence[Start]  # one for each edge


_Cut: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Where a bucket begins that windows begin in, and the sums at its beginning and at its end. It is
past, so what changes today leaves it as it is, and plans need not search until the bucket is over.
"""


class RunningSum:
    """What was held, summed; changes must come in the order of time."""

    __slots__ = ("_cut", "_edges_ms", "_mark", "_starts", "_sums", "at_ms", "levels")

    _edges_ms: list[int]
    _starts: list[Start]  # one for each edge
    _mark: int  # up to where the sums go
    _sums: tuple[int, ...]
    _cut: _Cut | None  # of the bucket that was asked about last

    def __init__(self, moment: Moment, count: int) -> None:
        """Nothing is held before *moment*."""
        self.at_ms = moment.at_ms  # of the last change
        self.levels: Amounts = (0,) * count
        self._begin(moment)

    @classmethod
    def resumed(cls, state: SumState) -> "RunningSum":
        """A sum that goes on from *state*, and answers as the one that it was taken from."""
        resumed = cls.__new__(cls)
        resumed.resume(state)
        return resumed

    def resume(self, state: SumState) -> None:
        """Forget everything and go on from *state*."""
        self.at_ms, self._mark, self.levels, self._sums = state[:4]
        self._edges_ms, self._starts = list(state.edges_ms), list(state.starts)
        self._cut = None

    def state(self) -> SumState:
        """All that is known now; good until the next change."""
        return SumState(
            self.at_ms, self._mark, self.levels, self._sums, self._edges_ms, self._starts
        )

    def set_levels(self, moment: Moment, levels: Amounts) -> None:
        """From *moment* on so much is held. Cost: O(1), amortised over the buckets."""
        self._advance(moment)
        self.levels = levels

    def add(self, moment: Moment, weighted: Sequence[int]) -> None:
        """Count so much more as used at *moment*."""
        self._advance(moment)
        self._sums = tuple(map(int.__add__, self._sums, weighted))

    def forget(self, moment: Moment) -> None:
        """Let everything before *moment* be as if never; levels stay."""
        self._begin(moment)
        self.at_ms = moment.at_ms

    def halve(self, times: int) -> None:
        """Make everything so many times smaller, because the base of the timeline moved."""
        self._cut = None
        self._mark >>= times
        self._sums = _halved(self._sums, times)
        self._starts = [
            (mark >> times, _halved(sums, times), levels) for mark, sums, levels in self._starts
        ]

    def over(self, span: Span, which: range | None = None) -> tuple[int, ...]:
        """The weighted sums over *span*, which does not end before the last change.

        *which* picks some of them. Cost: O(1) and a search among the buckets of one window.
        """
        places = range(len(self.levels)) if which is None else which
        begin_ms, begin_mark, end_mark, edge_ms, _, grown = span
        sums, levels, cut = self._sums, self.levels, self._cut
        if begin_ms > self.at_ms:  # at the last change itself there may be a grant
            passed = end_mark - begin_mark
            return tuple([levels[place] * passed for place in places])
        if cut is not None and cut[0] == edge_ms:
            _, firsts, lasts = cut
        else:
            firsts, lasts, grown = self._around(span)
        passed = end_mark - self._mark
        found = []
        for place in places:  # a comprehension would take a fifth longer
            first = firsts[place]
            before = first + ((lasts[place] - first) * grown >> GROWN_BITS)
            found.append(sums[place] + levels[place] * passed - before)
        return tuple(found)

    def _begin(self, moment: Moment) -> None:
        """Start from nothing, remembered at the edge before *moment*."""
        self._mark = moment.mark
        self._sums = (0,) * len(self.levels)
        nothing = (0,) * len(self.levels)
        self._edges_ms = [moment.edge_ms]
        self._starts = [(moment.edge_mark, nothing, nothing)]
        self._cut = None

    def _advance(self, moment: Moment) -> None:
        assert moment.at_ms >= self.at_ms
        if moment.edge_ms > self.at_ms:  # the last change was in an earlier bucket
            self._accrue(moment.edge_mark)
            self._edges_ms.append(moment.edge_ms)
            self._starts.append((moment.edge_mark, self._sums, self.levels))
            # The last bucket that begins before the window is still needed for its old end.
            expired = bisect_right(self._edges_ms, moment.oldest_ms) - 1
            if expired > 0:
                del self._edges_ms[:expired]
                del self._starts[:expired]
        self._accrue(moment.mark)
        self.at_ms = moment.at_ms

    def _accrue(self, mark: int) -> None:
        passed = mark - self._mark
        if passed:
            sums = self._sums
            self._sums = tuple(
                [
                    sums[place] + level * passed if level else sums[place]
                    for place, level in enumerate(self.levels)
                ]
            )
            self._mark = mark

    def _around(self, span: Span) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Sums known before and after *span* began, and which part of the way it then was.

        It began no later than the last change. Where that part is the span's own, other windows
        which begin in the same bucket have the same sums around them, and these are kept.
        """
        begin_ms, begin_mark, _, edge_ms, edge_end_mark, grown = span
        edges_ms, starts = self._edges_ms, self._starts
        # A change drops the buckets that are too old, so mostly the first one is the one.
        following = 1 if edges_ms[0] == edge_ms else bisect_right(edges_ms, begin_ms)
        if following == 0:
            _, sums, _ = starts[0]
            return sums, sums, 0
        mark, sums, _ = starts[following - 1]
        if edges_ms[following - 1] == begin_ms:
            return sums, sums, 0
        if edges_ms[following - 1] < edge_ms:
            exact = _back_from(starts[following], begin_mark)
            return exact, exact, 0
        if following == len(starts):
            return sums, self._sums, part_of_way(mark, begin_mark, self._mark)
        lasts = _back_from(starts[following], edge_end_mark)
        self._cut = edge_ms, sums, lasts
        return sums, lasts, grown


def _back_from(start: Start, mark: int) -> tuple[int, ...]:
    """What the sums were at an earlier mark since when the levels have been the same."""
    start_mark, sums, levels = start
    passed = start_mark - mark
    if not passed:
        return sums
    return tuple([sums[place] - level * passed for place, level in enumerate(levels)])


def _halved(values: Sequence[int], times: int) -> tuple[int, ...]:
    """Each value so many times halved, toward 0."""
    return tuple([value >> times if value >= 0 else -(-value >> times) for value in values])
