"""Amounts that change now and then, of many holders, and how much resource-time they add up to.

A level that is raised by *d* at time *a* has given *d x (t - a)* by time *t*. So the sum over all
changes is *level x t - sum of d x a*: two numbers tell the total at any later time, and nothing has
to be brought up to date between changes. All of it is exact.

Numbers of one resource stand side by side, because whoever looks at all holders looks at them
resource by resource.
"""

from collections.abc import Sequence
from itertools import repeat
from operator import mul, sub


class LevelTable:
    """What each holder has of each resource, and its resource-time since the beginning."""

    def __init__(self, holders: int, resources: int) -> None:
        """Nobody has anything at first."""
        self.levels = [[0] * holders for _ in range(resources)]  # by resource, then by holder
        self._moments = [[0] * holders for _ in range(resources)]
        self._nothing = [0] * holders
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
            for holder in holders:
                levels[holder] += amount
                moments[holder] += moment

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
        return is_other

    def set_all(self, at_ms: int, rows: Sequence[Sequence[int]]) -> None:
        """From *at_ms* on everybody has what *rows* say, one for each resource."""
        for resource, row in enumerate(rows):
            old, moments = self.levels[resource], self._moments[resource]
            if not self.is_had[resource] and not any(row):
                continue
            self.is_had[resource] = True
            self._moments[resource] = [
                moment + (amount - before) * at_ms
                for moment, amount, before in zip(moments, row, old, strict=True)
            ]
            self.levels[resource] = list(row)

    def total(self, at_ms: int, resource: int, holder: int) -> int:
        """One holder's resource-time until *at_ms*, which is not before the last change."""
        return self.levels[resource][holder] * at_ms - self._moments[resource][holder]

    def totals(self, at_ms: int, resource: int) -> list[int]:
        """Everybody's resource-time until *at_ms*, which is not before the last change.

        Cost: none to speak of if nobody ever had anything of *resource*. Not to be changed.
        """
        if not self.is_had[resource]:
            return self._nothing
        gained = map(mul, self.levels[resource], repeat(at_ms))
        return list(map(sub, gained, self._moments[resource]))
