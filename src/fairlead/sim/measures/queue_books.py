"""What is known of each queue of the tree while a simulation goes on.

Inner queues are kept like leaves, because whether they are backlogged, and how far behind they
fell, cannot be told from sums at the end.
"""

from collections.abc import Iterator, Mapping

from fairlead.sim.measures.backlogged_time import BackloggedTime
from fairlead.sim.measures.level_table import LevelTable
from fairlead.sim.measures.told_levels import ToldLevels


class QueueBook:
    """One queue: its place in the tables, and its time in want."""

    __slots__ = ("backlogs", "children", "index", "name")

    def __init__(self, name: str, index: int, resources: int, *, is_leaf: bool) -> None:
        """A queue that holds nothing and wants nothing."""
        self.name = name
        self.index = index
        self.children: list[QueueBook] = []
        self.backlogs = [BackloggedTime(is_leaf=is_leaf) for _ in range(resources)]

    def all_beneath(self) -> Iterator["QueueBook"]:
        """Yield itself and all queues beneath it, however deep."""
        waiting = [self]
        while waiting:
            book = waiting.pop()
            yield book
            waiting.extend(reversed(book.children))

    def leaves(self) -> Iterator["QueueBook"]:
        """The leaves beneath it, or itself if it is one."""
        return (book for book in self.all_beneath() if not book.children)


class QueueBooks:
    """All queues of a tree, in the order of their names, and tables of what they have."""

    def __init__(self, parents: Mapping[str, str | None], resources: int) -> None:
        """Open a book for each queue of *parents*."""
        names = sorted(parents)
        inner = set(parents.values())
        self.by_name = {
            name: QueueBook(name, index, resources, is_leaf=name not in inner)
            for index, name in enumerate(names)
        }
        self.all = tuple(self.by_name.values())
        self.tops: list[QueueBook] = []
        for name, book in self.by_name.items():
            parent = parents[name]
            siblings = self.tops if parent is None else self.by_name[parent].children
            siblings.append(book)
        self.leaves = tuple(leaf for top in self.tops for leaf in top.leaves())
        self.upward = {name: self._upward(name, parents) for name in names}
        self.held = LevelTable(len(names), resources)
        self.demand = ToldLevels(self.upward, resources)
        self.entitled = ToldLevels(self.upward, resources)
        self.fair_share = ToldLevels(self.upward, resources)
        self.usage_e9 = ToldLevels(self.upward, resources)
        self.evictions = [0] * len(names)

    def _upward(self, name: str, parents: Mapping[str, str | None]) -> tuple[int, ...]:
        """Return the places of a queue and of all above it."""
        found = []
        at: str | None = name
        while at is not None:
            found.append(self.by_name[at].index)
            at = parents[at]
        return tuple(found)
