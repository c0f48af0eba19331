"""What each queue of the tree holds, requests and is entitled to, as levels over time.

A level that is raised by *d* at time *a* has given *d x (t - a)* by time *t*. So the sum over all
changes is *level x t - sum of d x a*: two exact numbers give the total at any later time, and
nothing is updated between changes. Inner queues are kept like leaves: whether they are backlogged,
and how far they fell behind, does not follow from sums at the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from operator import mul

from fairlead.model.axes import Amounts
from fairlead.sim.measures.backlogged_time import BackloggedTime


class LevelTable:
    """What each holder has of each resource, and its resource-time since the beginning."""

    def __init__(self, holders: int, resources: int) -> None:
        """All levels are 0 at first."""
        self.levels = [[0] * holders for _ in range(resources)]  # by resource, then by holder
        self._moments = [[0] * holders for _ in range(resources)]
        self._begun_ms = 0  # when the open bucket began
        # Per holder whose level changed in it: the excess, had it had the level all along.
        self._missed: list[dict[int, int]] = [{} for _ in range(resources)]
        self.is_had = [False] * resources  # whether any holder ever had any of it

    def add(self, at_ms: int, holders: Sequence[int], amounts: Sequence[int]) -> None:
        """From *at_ms* on each of *holders* has so much more.

        The order of changes does not matter.
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
        """From *at_ms* on all holders have what *rows* say, one for each resource."""
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
        """Return what all holders had in the bucket that ends now, by resource; the next begins.

        All that changed before has been recorded, and nothing later. Where no holder ever had any
        of a resource there is no number at all.
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


class GivenLevels:
    """What was given for each queue of a tree; ``table`` has the levels of all."""

    def __init__(self, above: Mapping[str, tuple[int, ...]], resources: int) -> None:
        """Begin with nothing. *above* has the places of each queue and of all above it, upward."""
        self.table = LevelTable(len(above), resources)
        self._above = above
        self._given: set[int] = set()

    def give(self, at_ms: int, given: Mapping[str, Amounts], changed: set[int]) -> None:
        """Let queues have what is *given* from now on, and add places that change to *changed*.

        Queues that are not in the tree are passed over. Cost: their depth x resources.
        """
        given_now, table, levels = self._given, self.table, self.table.levels
        for name, amounts in given.items():
            path = self._above.get(name)
            if path is None:
                continue
            place = path[0]
            given_now.add(place)
            if len(path) == 1 or path[1] in given_now:
                if table.set_one(at_ms, place, amounts):
                    changed.add(place)
                continue
            more = [amount - level[place] for amount, level in zip(amounts, levels, strict=True)]
            if any(more):
                holders = self._holders(path)
                table.add(at_ms, holders, more)
                changed.update(holders)

    def _holders(self, path: tuple[int, ...]) -> list[int]:
        """Return the first of *path*, and the queues above it that have what is below them."""
        holders = [path[0]]
        for place in path[1:]:
            if place in self._given:
                break
            holders.append(place)
        return holders


class QueueBook:
    """One queue: its place in the tables, and its backlogged time."""

    def __init__(self, name: str, index: int, resources: int, *, is_leaf: bool) -> None:
        """A queue that holds and requests nothing."""
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
        self.demand = GivenLevels(self.upward, resources)
        self.entitled = GivenLevels(self.upward, resources)
        self.fair_share = GivenLevels(self.upward, resources)
        self.usage_e9 = GivenLevels(self.upward, resources)
        self.evictions = [0] * len(names)

    def _upward(self, name: str, parents: Mapping[str, str | None]) -> tuple[int, ...]:
        """Return the places of a queue and of all above it."""
        found = []
        at: str | None = name
        while at is not None:
            found.append(self.by_name[at].index)
            at = parents[at]
        return tuple(found)
