"""The weighted sum of what one holder had, over a window, in bounded memory.

A level holds from one change to the next, so the sum of all time is known at every moment, and a
window's sum is the difference of two of them. At its new end that is exact. For its old end, what
the sum was must be remembered: once for each bucket of time in which something changed, at the
bucket's beginning. Between such buckets the level was constant and the old sum follows exactly;
within one it is taken to have grown evenly. So a window's sum is exact when its old end is at the
edge of a bucket or in one without changes, and otherwise off by no more than what was used (or
granted) in the width of that one bucket. Tumbling windows begin at an edge and are always exact.

Several amounts that change together (resources; all use and use above the guarantee) share one
running sum. Their number never changes, so `zip` need not check it, which takes half its time.
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


_Cut: TypeAlias = tuple[int, range, list[tuple[int, int, int]]]
"""Where a bucket begins that windows begin in, and which sums were asked for. For each of them:
what it would be at mark 0 without all before that bucket, its level, and what the bucket added.
Between changes thousands of answers need no more."""


class RunningSum:
    """What was held, summed; changes must come in the order of time."""

    __slots__ = ("_asked_ms", "_cut", "_edges_ms", "_mark", "_starts", "_sums", "at_ms", "levels")

    _edges_ms: list[int]
    _starts: list[Start]  # one for each edge
    _mark: int  # up to where the sums go
    _sums: tuple[int, ...]
    _cut: _Cut | None  # None: there is none, or something changed since
    _asked_ms: int | None  # a cut is worth its time when its bucket is asked about again

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
        self._cut = self._asked_ms = None

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
        self._cut = self._asked_ms = None
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
        if begin_ms >= self.at_ms:
            levels, passed = self.levels, end_mark - begin_mark
            return tuple([levels[place] * passed for place in places])
        cut = self._cut
        if cut is None or cut[0] != edge_ms or cut[1] != places:
            firsts, lasts, grown, is_lasting = self._around(span)
            if not is_lasting or self._asked_ms != edge_ms:
                self._asked_ms = edge_ms
                return self._between(span, places, firsts, lasts, grown)
            cut = self._cut = edge_ms, places, self._rows(places, firsts, lasts)
        return tuple(
            [
                total + level * end_mark - (step * grown >> GROWN_BITS)
                for total, level, step in cut[2]
            ]
        )

    def _begin(self, moment: Moment) -> None:
        """Start from nothing, remembered at the edge before *moment*."""
        self._mark = moment.mark
        self._sums = (0,) * len(self.levels)
        nothing = (0,) * len(self.levels)
        self._edges_ms = [moment.edge_ms]
        self._starts = [(moment.edge_mark, nothing, nothing)]
        self._cut = self._asked_ms = None

    def _advance(self, moment: Moment) -> None:
        assert moment.at_ms >= self.at_ms
        self._cut = self._asked_ms = None
        if moment.edge_ms > self._edges_ms[-1]:
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
            self._sums = tuple(
                [
                    total + level * passed if level else total
                    for total, level in zip(self._sums, self.levels, strict=False)
                ]
            )
            self._mark = mark

    def _between(
        self,
        span: Span,
        places: range,
        firsts: tuple[int, ...],
        lasts: tuple[int, ...],
        grown: int,
    ) -> tuple[int, ...]:
        """The weighted sums over *span* from what was known around its beginning."""
        passed = span.end_mark - self._mark
        sums, levels = self._sums, self.levels
        # A plan asks for thousands of these; indexing takes half the time of slices and zip.
        return tuple(
            [
                sums[place]
                + levels[place] * passed
                - firsts[place]
                - ((lasts[place] - firsts[place]) * grown >> GROWN_BITS)
                for place in places
            ]
        )

    def _rows(
        self, places: range, firsts: tuple[int, ...], lasts: tuple[int, ...]
    ) -> list[tuple[int, int, int]]:
        """What a cut has for each of *places*."""
        mark, sums, levels = self._mark, self._sums, self.levels
        return [
            (
                sums[place] - levels[place] * mark - firsts[place],
                levels[place],
                lasts[place] - firsts[place],
            )
            for place in places
        ]

    def _around(self, span: Span) -> tuple[tuple[int, ...], tuple[int, ...], int, bool]:
        """Sums known before and after *span* began, and which part of the way it then was.

        It began before the last change. The last is whether that part is the span's own, so that
        other windows which begin in the same bucket have the same sums around them.
        """
        edges_ms, starts = self._edges_ms, self._starts
        following = bisect_right(edges_ms, span.begin_ms)
        if following == 0:
            _, sums, _ = starts[0]
            return sums, sums, 0, False
        edge_ms = edges_ms[following - 1]
        mark, sums, _ = starts[following - 1]
        if edge_ms == span.begin_ms:
            return sums, sums, 0, False
        if edge_ms < span.edge_ms:
            exact = _back_from(starts[following], span.begin_mark)
            return exact, exact, 0, False
        if following == len(starts):
            return sums, self._sums, part_of_way(mark, span.begin_mark, self._mark), False
        return sums, _back_from(starts[following], span.edge_end_mark), span.grown, True


def _back_from(start: Start, mark: int) -> tuple[int, ...]:
    """What the sums were at an earlier mark since when the levels have been the same."""
    start_mark, sums, levels = start
    passed = start_mark - mark
    if not passed:
        return sums
    columns = zip(sums, levels, strict=False)
    return tuple([total - level * passed for total, level in columns])


def _halved(values: Sequence[int], times: int) -> tuple[int, ...]:
    """Each value so many times halved, toward 0."""
    return tuple([value >> times if value >= 0 else -(-value >> times) for value in values])
