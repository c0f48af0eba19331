"""What is known of each queue of the tree while a simulation goes on.

Inner queues are kept like leaves, because whether they are backlogged, and how far behind they
fell, cannot be told from sums at the end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fairlead.model.axes import Amounts
from fairlead.sim.measures.backlogged_time import BackloggedTime
from fairlead.sim.measures.level_table import LevelTable


class QueueBook:
    """One queue: its place in the tables, and its time in want."""

    __slots__ = ("backlogs", "children", "index", "is_backlogged", "name")

    def __init__(self, name: str, index: int, resources: int) -> None:
        """A queue that holds nothing and wants nothing."""
        self.name = name
        self.index = index
        self.children: list[QueueBook] = []
        self.backlogs = [BackloggedTime() for _ in range(resources)]
        self.is_backlogged = False  # in any resource

    def all_beneath(self) -> Iterator["QueueBook"]:
        """Yield all queues beneath it, and at last itself."""
        for child in self.children:
            yield from child.all_beneath()
        yield self

    def leaves(self) -> Iterator["QueueBook"]:
        """The leaves beneath it, or itself if it is one."""
        return (book for book in self.all_beneath() if not book.children)


class QueuePath:
    """A queue and all above it."""

    __slots__ = ("books", "indexes")

    def __init__(self, books: Iterable[QueueBook]) -> None:
        """From the queue upward."""
        self.books = tuple(books)
        self.indexes = tuple(book.index for book in self.books)


class QueueBooks:
    """All queues of a tree, in the order of their names, and tables of what they have."""

    def __init__(self, parents: Mapping[str, str | None], resources: int) -> None:
        """Open a book for each queue of *parents*."""
        names = sorted(parents)
        self.by_name = {name: QueueBook(name, i, resources) for i, name in enumerate(names)}
        self.all = tuple(self.by_name.values())
        self.tops: list[QueueBook] = []
        for name, book in self.by_name.items():
            parent = parents[name]
            siblings = self.tops if parent is None else self.by_name[parent].children
            siblings.append(book)
        self.children_first = [book for top in self.tops for book in top.all_beneath()]
        self.leaves = tuple(leaf for top in self.tops for leaf in top.leaves())
        self.held = LevelTable(len(names), resources)
        self.entitled = LevelTable(len(names), resources)
        self.fair_share = LevelTable(len(names), resources)
        self.usage_e9 = LevelTable(len(names), resources)
        self.evictions = [0] * len(names)
        self._paths = {name: QueuePath(self._upward(name, parents)) for name in names}
        self._nothing: Amounts = (0,) * resources

    def path(self, name: str) -> QueuePath:
        """The queue of that name and all above it."""
        return self._paths[name]

    def start(self, at_ms: int, path: QueuePath, amounts: Sequence[int]) -> None:
        """From now on the queues of *path* hold so much more."""
        held = self.held
        for book in path.books:
            if book.is_backlogged:
                for resource, backlog in enumerate(book.backlogs):
                    level = held.levels[resource][book.index]
                    is_due = level <= backlog.entitled_now < level + amounts[resource]
                    if is_due and backlog.is_open:
                        backlog.look(at_ms, held.total(at_ms, resource, book.index))
        held.add(at_ms, path.indexes, amounts)

    def rows(self, given: Mapping[str, Amounts]) -> list[tuple[int, ...]]:
        """For each resource the amounts of all queues: as given, else their children's, else 0."""
        amounts = [self._nothing] * len(self.all)
        for book in self.children_first:
            known = given.get(book.name)
            if known is not None:
                amounts[book.index] = known
            elif book.children:
                parts = [amounts[child.index] for child in book.children]
                amounts[book.index] = tuple(map(sum, zip(*parts, strict=True)))
        if not amounts:
            return [() for _ in self._nothing]
        return list(zip(*amounts, strict=True))

    def _upward(self, name: str, parents: Mapping[str, str | None]) -> Iterator[QueueBook]:
        at: str | None = name
        while at is not None:
            yield self.by_name[at]
            at = parents[at]
