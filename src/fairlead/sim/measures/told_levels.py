"""Amounts of queues that come from outside, told when they change.

Rules may know leaves only, or inner queues too. An inner queue of which nothing was told yet has
what its children have together.
"""

from collections.abc import Mapping

from fairlead.model.axes import Amounts
from fairlead.sim.measures.level_table import LevelTable


class ToldLevels:
    """What was told of each queue of a tree; ``table`` has the levels of all."""

    def __init__(self, above: Mapping[str, tuple[int, ...]], resources: int) -> None:
        """Nothing was told. *above* has the places of each queue and of all above it, upward."""
        self.table = LevelTable(len(above), resources)
        self._above = above
        self._told: set[int] = set()

    def tell(self, at_ms: int, given: Mapping[str, Amounts], changed: set[int]) -> None:
        """Let queues have what is *given* from now on; *changed* gets the places of who had others.

        Queues that are not in the tree are passed over. Cost: their depth x resources.
        """
        told, table, levels = self._told, self.table, self.table.levels
        for name, amounts in given.items():
            path = self._above.get(name)
            if path is None:
                continue
            place = path[0]
            told.add(place)
            if len(path) == 1 or path[1] in told:
                if table.set_one(at_ms, place, amounts):
                    changed.add(place)
                continue
            more = [amount - level[place] for amount, level in zip(amounts, levels, strict=True)]
            if any(more):
                holders = self._holders(path)
                table.add(at_ms, holders, more)
                changed.update(holders)

    def _holders(self, path: tuple[int, ...]) -> list[int]:
        """Return the first of *path* and those above it that have what their children have."""
        holders = [path[0]]
        for place in path[1:]:
            if place in self._told:
                break
            holders.append(place)
        return holders
