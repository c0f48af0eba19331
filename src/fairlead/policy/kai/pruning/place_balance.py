"""How many places are too few when some leave for a claimant and all of them come back.

What is idle counts for little where it lies about in pieces: a pod of a whole node that leaves for
another of its size finds no place again, however much is free in all. A pod takes as many places
from those of the claimant's size as it is times as large, wherever it goes. So what leavers and
claimant would take together, less the places on the nodes of the try, somebody has to lose.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from operator import add
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.workload import PodId
from fairlead.placement.node_room import NodeRoom
from fairlead.policy.kai.victims.steps import Group

Needs: TypeAlias = Sequence[tuple[int, int]]
"""What a pod asks for and where that stands among the amounts, but for what it does not ask for."""


class Moving(NamedTuple):
    """A pod that leaves a node."""

    node: str
    freed: Amounts  # what the node gains at most
    asked: Amounts  # what the pod needs elsewhere at least


class _Leaving(NamedTuple):
    """What it means that a group leaves."""

    freed: list[tuple[str, Amounts]]
    taken: list[tuple[int, ...]]  # for each pod, how many places of each size it takes again


class PlaceBalance:
    """Counts places for the sizes of a claimant's pods, on the nodes of one search."""

    def __init__(
        self,
        sizes: Sequence[Amounts],
        rooms: Mapping[str, NodeRoom],
        base: Set[str],
        moving: Callable[[Group], Sequence[Moving | None]],
    ) -> None:
        """Take in what the pods ask for, in their order, and what is free at the start.

        *base* are the nodes where the claimant may look whoever leaves, *moving* are the pods of a
        group, None for those that are on no node. Cost: the nodes.
        """
        self._asked = sizes
        self._moving = moving
        self._later = {name: room.later for name, room in rooms.items()}
        self.sizes: list[Amounts] = [size for size in dict.fromkeys(sizes) if any(size)]
        """Those that are counted for: whatever asks for something."""
        self._needs = [needs_of(size) for size in self.sizes]
        free = [self._later[node] for node in base if node in self._later]
        self._there = [sum([times(each, needs) for each in free]) for needs in self._needs]
        self._base = base
        self._known: dict[tuple[WorkloadName, tuple[PodId, ...]], _Leaving] = {}

    def taken(self, group: Group) -> list[tuple[int, ...]]:
        """Return how many places of each size every pod of a group takes where it comes back.

        None are counted for pods on nodes that are not ready.
        """
        return self._leaving(group).taken

    def short(self, count: int, groups: Sequence[Group]) -> list[int]:
        """Return how many places of each size are too few for the first *count* pods and *groups*.

        Law: if the pods find places in a try in which these leave, pods that would take so many are
        lost in it. Cost: the pods that leave.
        """
        leaving = [self._leaving(group) for group in groups]
        later, free = self._later, dict[str, Sequence[int]]()
        for each in leaving:
            for node, amounts in each.freed:
                free[node] = tuple(map(add, free.get(node, later[node]), amounts))
        short = []
        for at, needs in enumerate(self._needs):
            wanted = sum([times(size, needs) for size in self._asked[:count]])
            wanted += sum([taken[at] for each in leaving for taken in each.taken])
            there = self._there[at]
            for node, room in free.items():
                before = times(later[node], needs) if node in self._base else 0
                there += times(room, needs) - before
            short.append(wanted - there)
        return short

    def _leaving(self, group: Group) -> _Leaving:
        key = group.job, group.pods
        known = self._known.get(key)
        if known is None:
            moving = [
                each if each is not None and each.node in self._later else None
                for each in self._moving(group)
            ]
            known = self._known[key] = _Leaving(
                [(each.node, each.freed) for each in moving if each is not None],
                [self._places(each) for each in moving],
            )
        return known

    def _places(self, pod: Moving | None) -> tuple[int, ...]:
        return tuple([0 if pod is None else times(pod.asked, needs) for needs in self._needs])


def needs_of(size: Amounts) -> Needs:
    """Return what a pod asks for, each with its place."""
    return [(at, amount) for at, amount in enumerate(size) if amount]


def times(amounts: Sequence[int], needs: Needs) -> int:
    """Return how many times all *needs* are in *amounts*."""
    return min([amounts[at] // amount for at, amount in needs])
