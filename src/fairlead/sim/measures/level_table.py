"""Amounts that change now and then, of many holders, and how much resource-time they add up to.

A level that is raised by *d* at time *a* has given *d x (t - a)* by time *t*. So the sum over all
changes is *level x t - sum of d x a*: two numbers tell the total at any later time, and nothing has
to be brought up to date between changes. All of it is exact.

In a bucket of time everybody had its level for all of it, but for what changed in the bucket: so of
most holders one product tells what they had in it.

Numbers of one resource stand side by side, because whoever looks at all holders looks at them
resource by resource.
"""

from collections.abc import Sequence
from itertools import repeat
from operator import mul


class LevelTable:
    """What each holder has of each resource, and its resource-time since the beginning."""

    def __init__(self, holders: int, resources: int) -> None:
        """Nobody has anything at first."""
        self.levels = [[0] * holders for _ in range(resources)]  # by resource, then by holder
        self._moments = [[0] * holders for _ in range(resources)]
        self._begun_ms = 0  # when the open bucket began
        # What those whose level changed in it would have too much, had they had it all along.
        self._missed: list[dict[int, int]] = [{} for _ in range(resources)]
        self.is_had = [False] * resources  # whether anybody ever had any of it

    def add(self, at_ms: int, holders: Sequence[int], amounts: Sequence[int]) -> None:
        """From *at_ms* on each of *holders* has so much more.

        In which order changes are told does not matter.
        """
        for resource, amount in enumerate(amounts):
            if not amount:
                continue
            self.is_had[resource] = True
            levels, moments, moment = self.levels[resource], self._moments[resource], amount * at_ms
            missed, less = self._missed[resource], amount * (at_ms - self._begun_ms)
            for holder in holders:
                levels[holder] += amount
                moments[holder] += moment
                missed[holder] = missed.get(holder, 0) + less

    def set_one(self, at_ms: int, holder: int, amounts: Sequence[int]) -> bool:
        """From *at_ms* on one holder has *amounts*; return whether it had others."""
        is_other = False
        for resource, amount in enumerate(amounts):
            levels = self.levels[resource]
            more = amount - levels[holder]
            if more:
                is_other = self.is_had[resource] = True
                levels[holder] = amount
                self._moments[resource][holder] += more * at_ms
                missed = self._missed[resource]
                missed[holder] = missed.get(holder, 0) + more * (at_ms - self._begun_ms)
        return is_other

    def set_all(self, at_ms: int, rows: Sequence[Sequence[int]]) -> None:
        """From *at_ms* on everybody has what *rows* say, one for each resource."""
        for holder, amounts in enumerate(zip(*rows, strict=True)):
            self.set_one(at_ms, holder, amounts)

    def total(self, at_ms: int, resource: int, holder: int) -> int:
        """One holder's resource-time until *at_ms*, which is not before the last change."""
        return self.levels[resource][holder] * at_ms - self._moments[resource][holder]

    def begin_buckets(self, at_ms: int) -> None:
        """Let the first bucket begin, before anything changes."""
        assert not any(self._missed), "what changed before is in no bucket"
        self._begun_ms = at_ms

    def close_bucket(self, at_ms: int) -> list[list[int]]:
        """Everybody's resource-time in the bucket that ends now, by resource; the next begins.

        All that changed before has been told, and nothing later. Where nobody ever had anything of
        a resource there is no number at all.
        """
        rows = []
        lasted_ms, self._begun_ms = at_ms - self._begun_ms, at_ms
        for is_had, levels, missed in zip(self.is_had, self.levels, self._missed, strict=True):
            row = list(map(mul, levels, repeat(lasted_ms))) if is_had else []
            for holder, less in missed.items():
                row[holder] -= less
            missed.clear()
            rows.append(row)
        return rows
