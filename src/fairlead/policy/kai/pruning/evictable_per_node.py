"""The candidates of each node, and whether evicting all of them may help a preemptor.

A job for whose pods every node is too full may try for hours in vain: in each cycle a search orders
all candidates, step by step, and no scenario can stand. But a scenario evicts only candidates with
a pod on one node, besides the kept victims, and no bound denies with more victims what it allows
with fewer. So a look at all candidates of each node shows that a search is in vain before any
candidate is ordered, or else at which nodes it need not look.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import add
from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.victims.candidates import Candidate, OrderedCandidate, VictimGroup


class EvictableJob(NamedTuple):
    """A candidate that is evicted with all its pods, and what the node of each gains at most."""

    group: VictimGroup
    freed: Sequence[tuple[str, Amounts]]
    nodes: Sequence[str]  # each once
    gpus: int | None  # that it holds on all nodes; None: its pods share devices


class EvictableOnNode:
    """All candidates with a pod on one node."""

    def __init__(self, jobs: Sequence[EvictableJob]) -> None:
        """Take *jobs*. Cost: none until something is asked."""
        self._jobs = jobs
        self._freed: dict[str, Sequence[int]] | None = None

    def groups(self) -> list[VictimGroup]:
        """Return the candidates as groups."""
        return [job.group for job in self._jobs]

    def freed(self) -> Mapping[str, Sequence[int]]:
        """Return what each node gains at most when all are evicted, this node and others."""
        if self._freed is None:
            free: dict[str, Sequence[int]] = {}
            for job in self._jobs:
                for node, amounts in job.freed:
                    before = free.get(node)
                    free[node] = amounts if before is None else tuple(map(add, before, amounts))
            self._freed = free
        return self._freed


class _OfLeaf(NamedTuple):
    """The evictable jobs of one leaf, as long as its list of candidates is this one."""

    candidates: Sequence[OrderedCandidate]
    jobs: Mapping[str, list[EvictableJob]]  # by node
    gpus: Mapping[str, int] | None  # that they hold; None: some share devices


class EvictablePerNode:
    """The evictable jobs of one state, kept for each leaf until its candidates change."""

    def __init__(self, state: ClusterState, finder: NodeFinder) -> None:
        """Look at no leaf yet."""
        self._state = state
        self._finder = finder
        self._known: dict[QueueName, _OfLeaf] = {}
        self._jobs: dict[WorkloadName, tuple[Candidate, EvictableJob]] = {}

    def of(
        self, leaves: Iterable[tuple[QueueName, Sequence[OrderedCandidate]]]
    ) -> Mapping[str, EvictableOnNode]:
        """Return the candidates of these *leaves* by node.

        Cost: the leaves with other candidates than before, and a look at each node of a leaf.
        """
        jobs: dict[str, list[EvictableJob]] = {}
        for queue, candidates in leaves:
            for node, there in self._of(queue, candidates).jobs.items():
                jobs.setdefault(node, []).extend(there)
        return {node: EvictableOnNode(there) for node, there in jobs.items()}

    def most_gpus(
        self, leaves: Iterable[tuple[QueueName, Sequence[OrderedCandidate]]]
    ) -> int | None:
        """Return how many GPUs the candidates of one node hold together, the most of any node.

        On whichever node they hold them. None: some share devices, and may set more free.
        """
        held: dict[str, int] = {}
        for queue, candidates in leaves:
            own = self._of(queue, candidates).gpus
            if own is None:
                return None
            for node, gpus in own.items():
                held[node] = held.get(node, 0) + gpus
        return max(held.values(), default=0)

    def _of(self, queue: QueueName, candidates: Sequence[OrderedCandidate]) -> _OfLeaf:
        known = self._known.get(queue)
        if known is None or known.candidates is not candidates:
            known = self._known[queue] = self._read(candidates)
        return known

    def _read(self, candidates: Sequence[OrderedCandidate]) -> _OfLeaf:
        jobs: dict[str, list[EvictableJob]] = {}
        held: dict[str, int] | None = {}
        for _, candidate in candidates:
            job = self._job_of(candidate)
            for node in job.nodes:
                jobs.setdefault(node, []).append(job)
                if job.gpus is None:
                    held = None
                elif held is not None:
                    held[node] = held.get(node, 0) + job.gpus
        return _OfLeaf(candidates, jobs, held)

    def _job_of(self, candidate: Candidate) -> EvictableJob:
        """Return what evicting a candidate means, which is known while it is the same."""
        known = self._jobs.get(candidate.job)
        if known is None or known[0] is not candidate:
            if len(self._jobs) > 2 * len(self._state.workloads):  # most of them have departed
                self._jobs.clear()
            known = self._jobs[candidate.job] = candidate, self._evictable(candidate)
        return known[1]

    def _evictable(self, candidate: Candidate) -> EvictableJob:
        sets, finder = self._state.workloads[candidate.job].pod_sets, self._finder
        group = VictimGroup(candidate.job, candidate.pods, candidate.costs, candidate.nodes)
        freed = [
            (node, finder.at_most_freed(sets.of(pod)))
            for pod, node in candidate.nodes.items()
            if node is not None
        ]
        gpu, gpus = self._state.axes.index("gpu"), None
        if gpu is not None and not any(each.gpu_share for each in sets):
            gpus = sum([cost[gpu] for cost in candidate.costs.values()])
        return EvictableJob(group, freed, list(dict.fromkeys([node for node, _ in freed])), gpus)


class UsefulNodes:
    """The nodes on which evicting all candidates may help some pods of a preemptor."""

    def __init__(
        self,
        evictable: Callable[[], Mapping[str, EvictableOnNode]],
        may_help: Callable[[EvictableOnNode], bool],
    ) -> None:
        """Read *evictable*, and ask *may_help* for each node, when needed, and once."""
        self._read_evictable = evictable
        self._may_help = may_help
        self._known: dict[str, bool] = {}

    @cached_property
    def _evictable(self) -> Mapping[str, EvictableOnNode]:
        return self._read_evictable()

    def is_any(self) -> bool:
        """Return whether any node may help."""
        return self.is_any_of(self._evictable)

    def is_any_of(self, nodes: Iterable[str]) -> bool:
        """Return whether one of *nodes* may help."""
        return any(map(self._is_useful, nodes))

    def pods(self) -> list[PodKey]:
        """Return all pods of candidates with a pod on a node that may help."""
        useful = [each for node, each in self._evictable.items() if self._is_useful(node)]
        return [key for each in useful for group in each.groups() for key in group.members()]

    def _is_useful(self, node: str) -> bool:
        if node not in self._known:
            self._known[node] = self._may_help(self._evictable[node])
        return self._known[node]
