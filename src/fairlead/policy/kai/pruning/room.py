"""Upper bounds on the places that a scenario can have, by amounts only.

A scenario places victims and preemptor again, which takes milliseconds; most scenarios of a large
search fail for want of room. Placing only takes room, so if even the emptied nodes have too little,
a scenario cannot succeed. The bounds take every freed part of a device for a whole one: they may
allow too much, and never too little.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import add, sub
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.workload import PodId
from fairlead.placement.node_room import NodeRoom
from fairlead.policy.kai.victims.candidates import VictimGroup
from fairlead.policy.kai.victims.steps import Freed, Lacking


class RoomBound:
    """Counts places for the first pods of a preemptor on the nodes of one search.

    A node has places where the preemptor may look: on the *base* nodes, and where victims leave.
    """

    def __init__(
        self, sizes: Sequence[Amounts], rooms: Mapping[str, NodeRoom], base: Iterable[str]
    ) -> None:
        """Count for pods of these *sizes*, in their order. Cost: the base nodes."""
        self._sizes = list(dict.fromkeys(sizes))
        self._asked = sizes
        self._later: dict[str, Amounts | None] = {}
        self._kept: dict[str, Sequence[int]] = {}
        self._evicted_pods: Counter[str] = Counter()  # how many pods set that free
        self._base = frozenset(base)
        self._places: dict[str, list[int]] = {}  # on base nodes, and where kept victims leave
        self._totals = [0] * len(self._sizes)
        self.learn(rooms, self._base)
        for node in self._base:
            self._count(node)

    def learn(self, rooms: Mapping[str, NodeRoom], nodes: Iterable[str]) -> None:
        """Read what is free on *nodes* when the search begins, before they are asked about."""
        for node in nodes:
            if node not in self._later:
                room = rooms.get(node)  # None: not ready, or gone
                self._later[node] = None if room is None else room.later

    def keep(self, freed: Freed) -> None:
        """Note that more pods have left from now on."""
        for node, amounts in freed:
            before = self._kept.get(node)
            self._kept[node] = amounts if before is None else tuple(map(add, before, amounts))
            self._evicted_pods[node] += 1
            self._count(node)

    def unkeep(self, freed: Freed) -> None:
        """Note that pods are back where they were: the inverse of `keep`."""
        for node, amounts in freed:
            self._kept[node] = tuple(map(sub, self._kept[node], amounts))
            self._evicted_pods[node] -= 1
            if not self._evicted_pods[node]:
                del self._kept[node]
            self._count(node)

    def lacking(self, count: int) -> Lacking:
        """Return how many places the first *count* pods lack, with the kept victims."""
        asked = self._asked[:count]
        totals = zip(self._sizes, self._totals, strict=True)
        return tuple([asked.count(size) - total for size, total in totals])

    def allows(self, need: Lacking, more: Mapping[str, Sequence[int]]) -> bool:
        """Return whether there may be as many places as are *lacking* when *more* is set free.

        Law: with as much or more lacking, and all else the same, it is denied again.
        """
        for at, lacking in enumerate(need):
            for node, amounts in more.items():
                if lacking <= 0:
                    break
                kept = self._kept.get(node)
                free = amounts if kept is None else tuple(map(add, amounts, kept))
                before = self._places.get(node)
                lacking -= self._fitting(node, free, at) - (before[at] if before else 0)
            if lacking > 0:
                return False
        return True

    def _count(self, node: str) -> None:
        """Count the places on a node anew."""
        before = self._places.pop(node, None)
        free = self._kept.get(node)
        if free is not None or node in self._base:
            after = [self._fitting(node, free, at) for at in range(len(self._sizes))]
            self._places[node] = after
            self._totals = list(map(add, self._totals, after))
        if before is not None:
            self._totals = [total - less for total, less in zip(self._totals, before, strict=True)]

    def _fitting(self, node: str, free: Sequence[int] | None, at: int) -> int:
        """Return how many of a size fit a node that has *free* more than at the start."""
        later = self._later[node]
        if later is None:
            return 0
        there = later if free is None else map(add, later, free)
        most = len(self._asked)  # more than that is as good
        for amount, need in zip(there, self._sizes[at], strict=True):
            if need and amount < need * most:
                most = amount // need
        return most


Needs: TypeAlias = Sequence[tuple[int, int]]
"""The nonzero requests of a pod, each with its position among the amounts."""


class EvictedPod(NamedTuple):
    """A pod that leaves a node."""

    node: str
    freed: Amounts  # what the node gains at most
    asked: Amounts  # what the pod needs elsewhere at least


class _EvictedGroup(NamedTuple):
    """What it means that a group leaves."""

    freed: list[tuple[str, Amounts]]
    taken: list[tuple[int, ...]]  # for each pod, how many places of each size it takes again


class PlaceBalance:
    """Counts places for the pod sizes of a preemptor if all victims come back.

    Idle room counts for little where it is fragmented: a pod of a whole node that leaves for
    another of its size finds no place again, however much is free in all. Wherever a pod goes, it
    takes as many places of the preemptor's size as it is times as large. So what victims and
    preemptor take together, less the places on the nodes of the scenario, is lost.
    """

    def __init__(
        self,
        sizes: Sequence[Amounts],
        rooms: Mapping[str, NodeRoom],
        base: Set[str],
        evicted: Callable[[VictimGroup], Sequence[EvictedPod | None]],
    ) -> None:
        """Count for pods of these *sizes*, in their order, and what is free at the start.

        *base* are the nodes open to the preemptor without victims, *evicted* returns the pods of a
        group, None for those that are on no node. Cost: the nodes.
        """
        self._asked = sizes
        self._moving = evicted
        self._later = {name: room.later for name, room in rooms.items()}
        self.sizes: list[Amounts] = [size for size in dict.fromkeys(sizes) if any(size)]
        """The sizes that are counted: those with a request."""
        self._needs = [needs_of(size) for size in self.sizes]
        free = [self._later[node] for node in base if node in self._later]
        self._there = [sum([times(each, needs) for each in free]) for needs in self._needs]
        self._base = base
        self._known: dict[tuple[WorkloadName, tuple[PodId, ...]], _EvictedGroup] = {}

    def taken(self, group: VictimGroup) -> list[tuple[int, ...]]:
        """Return how many places of each size every pod of a group takes where it comes back.

        None are counted for pods on nodes that are not ready.
        """
        return self._evicted_group(group).taken

    def short(self, count: int, groups: Sequence[VictimGroup]) -> list[int]:
        """Return how many places of each size are too few for the first *count* pods and *groups*.

        Law: if the pods find places in a scenario that evicts *groups*, pods that would take so
        many places are lost in it. Cost: the evicted pods.
        """
        evicted = [self._evicted_group(group) for group in groups]
        later, free = self._later, dict[str, Sequence[int]]()
        for each in evicted:
            for node, amounts in each.freed:
                free[node] = tuple(map(add, free.get(node, later[node]), amounts))
        short = []
        for at, needs in enumerate(self._needs):
            needed = sum([times(size, needs) for size in self._asked[:count]])
            needed += sum([taken[at] for each in evicted for taken in each.taken])
            there = self._there[at]
            for node, room in free.items():
                before = times(later[node], needs) if node in self._base else 0
                there += times(room, needs) - before
            short.append(needed - there)
        return short

    def _evicted_group(self, group: VictimGroup) -> _EvictedGroup:
        key = group.job, group.pods
        known = self._known.get(key)
        if known is None:
            evicted = [
                each if each is not None and each.node in self._later else None
                for each in self._moving(group)
            ]
            known = self._known[key] = _EvictedGroup(
                [(each.node, each.freed) for each in evicted if each is not None],
                [self._places(each) for each in evicted],
            )
        return known

    def _places(self, pod: EvictedPod | None) -> tuple[int, ...]:
        return tuple([0 if pod is None else times(pod.asked, needs) for needs in self._needs])


def needs_of(size: Amounts) -> Needs:
    """Return the nonzero requests of a pod, each with its position."""
    return [(at, amount) for at, amount in enumerate(size) if amount]


def times(amounts: Sequence[int], needs: Needs) -> int:
    """Return how many times all *needs* fit into *amounts*."""
    return min([amounts[at] // amount for at, amount in needs])
