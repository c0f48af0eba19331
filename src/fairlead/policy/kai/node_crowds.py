"""Who could give way on each node, and whether it can help a claimant at all if they do.

A job for whose pods every node is too full may claim for hours in vain: in each cycle a search
lines up everybody, step by step, and none of its tries can stand. But in a try only those leave who
have a pod on one node, besides those who are kept, and the bounds on a try deny nothing with more
leavers that they allow with fewer. So a look at all who could leave on each node tells that a
search is in vain before anybody is lined up, and else where it need not look.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import add
from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.victim_pool import Candidate, Entry
from fairlead.policy.kai.victim_steps import Group


class Leaver(NamedTuple):
    """A job that could leave with all of its pods, and what the node of each gains at most."""

    group: Group
    freed: Sequence[tuple[str, Amounts]]
    nodes: Sequence[str]  # each once
    gpus: int | None  # that it holds, wherever; None: its pods share devices


class Crowd:
    """All who have a pod on one node and could leave."""

    def __init__(self, leavers: Sequence[Leaver]) -> None:
        """Take them in. Cost: none until anybody asks."""
        self._leavers = leavers
        self._freed: dict[str, Sequence[int]] | None = None

    def groups(self) -> list[Group]:
        """Return who they are."""
        return [leaver.group for leaver in self._leavers]

    def freed(self) -> Mapping[str, Sequence[int]]:
        """Return what each node gains at most when all of them leave, this one and others."""
        if self._freed is None:
            free: dict[str, Sequence[int]] = {}
            for leaver in self._leavers:
                for node, amounts in leaver.freed:
                    before = free.get(node)
                    free[node] = amounts if before is None else tuple(map(add, before, amounts))
            self._freed = free
        return self._freed


class _LeafCrowds(NamedTuple):
    """The crowds of one leaf, as long as its line is this one."""

    line: Sequence[Entry]
    leavers: Mapping[str, list[Leaver]]  # by their nodes
    gpus: Mapping[str, int] | None  # what they hold; None: some share devices


class NodeCrowds:
    """The crowds of one state, kept leaf by leaf for as long as who could give way is the same."""

    def __init__(self, state: ClusterState, finder: NodeFinder) -> None:
        """Look at nobody yet."""
        self._state = state
        self._finder = finder
        self._known: dict[QueueName, _LeafCrowds] = {}
        self._leavers: dict[WorkloadName, tuple[Candidate, Leaver]] = {}

    def of(self, lines: Iterable[tuple[QueueName, Sequence[Entry]]]) -> Mapping[str, Crowd]:
        """Return who of these *lines* of leaves has a pod on which node.

        Cost: the lines that are others than before, and a look at each node that a leaf has.
        """
        leavers: dict[str, list[Leaver]] = {}
        for queue, line in lines:
            for node, there in self._of(queue, line).leavers.items():
                leavers.setdefault(node, []).extend(there)
        return {node: Crowd(there) for node, there in leavers.items()}

    def most_gpus(self, lines: Iterable[tuple[QueueName, Sequence[Entry]]]) -> int | None:
        """Return what all of *lines* hold of GPUs who are on one node, the most of any node.

        On whichever node they hold it. None: some share devices, and may set more free.
        """
        held: dict[str, int] = {}
        for queue, line in lines:
            own = self._of(queue, line).gpus
            if own is None:
                return None
            for node, gpus in own.items():
                held[node] = held.get(node, 0) + gpus
        return max(held.values(), default=0)

    def _of(self, queue: QueueName, line: Sequence[Entry]) -> _LeafCrowds:
        known = self._known.get(queue)
        if known is None or known.line is not line:
            known = self._known[queue] = self._made(line)
        return known

    def _made(self, line: Sequence[Entry]) -> _LeafCrowds:
        crowds: dict[str, list[Leaver]] = {}
        held: dict[str, int] | None = {}
        for _, candidate in line:
            leaver = self._leaver_of(candidate)
            for node in leaver.nodes:
                crowds.setdefault(node, []).append(leaver)
                if leaver.gpus is None:
                    held = None
                elif held is not None:
                    held[node] = held.get(node, 0) + leaver.gpus
        return _LeafCrowds(line, crowds, held)

    def _leaver_of(self, candidate: Candidate) -> Leaver:
        """Return a candidate with what it means that it leaves, which is known while it is so."""
        known = self._leavers.get(candidate.job)
        if known is None or known[0] is not candidate:
            if len(self._leavers) > 2 * len(self._state.workloads):  # most of them have gone
                self._leavers.clear()
            known = self._leavers[candidate.job] = candidate, self._leaver(candidate)
        return known[1]

    def _leaver(self, candidate: Candidate) -> Leaver:
        sets, finder = self._state.workloads[candidate.job].pod_sets, self._finder
        group = Group(candidate.job, candidate.pods, candidate.costs, candidate.nodes)
        freed = [
            (node, finder.at_most_freed(sets.of(pod)))
            for pod, node in candidate.nodes.items()
            if node is not None
        ]
        gpu, gpus = self._state.axes.index("gpu"), None
        if gpu is not None and not any(each.gpu_share for each in sets):
            gpus = sum([cost[gpu] for cost in candidate.costs.values()])
        return Leaver(group, freed, list(dict.fromkeys([node for node, _ in freed])), gpus)


class HelpfulNodes:
    """The nodes on which it may help some pods of a claimant that all leave who are there."""

    def __init__(
        self,
        crowds: Callable[[], Mapping[str, Crowd] | None],
        may_help: Callable[[Crowd], bool],
    ) -> None:
        """Ask for *crowds*, and *may_help* of each, when it matters, and once.

        None: it is not known who is on which node, so any may help.
        """
        self._ask_for_crowds = crowds
        self._may_help = may_help
        self._known: dict[str, bool] = {}

    @cached_property
    def _crowds(self) -> Mapping[str, Crowd] | None:
        return self._ask_for_crowds()

    def are_known(self) -> bool:
        """Return whether it is known who is on which node."""
        return self._crowds is not None

    def are_any(self) -> bool:
        """Return whether any node may help."""
        return self._crowds is None or self.is_any_of(self._crowds)

    def is_any_of(self, nodes: Iterable[str]) -> bool:
        """Return whether one of *nodes* may help."""
        return self._crowds is None or any(map(self._is_helpful, nodes))

    def members(self) -> list[PodKey]:
        """Return all pods of those who have one on a node that may help."""
        crowds = self._crowds or {}
        helpful = [crowd for node, crowd in crowds.items() if self._is_helpful(node)]
        return [key for crowd in helpful for group in crowd.groups() for key in group.members()]

    def _is_helpful(self, node: str) -> bool:
        assert self._crowds is not None, "any node may help"
        if node not in self._known:
            self._known[node] = self._may_help(self._crowds[node])
        return self._known[node]
