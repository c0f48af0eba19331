"""The shortcuts of elastic-quota's rules."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from bench.ablation.shortcut import Replacement, Shortcut
from bench.ablation.workloads import AblationWorkload, Work, simulated
from bench.elastic_world import NAMESPACES, NOW_MS, full_cluster, waiting
from fairlead.model.events import WorkloadAdded
from fairlead.model.state import ClusterState
from fairlead.placement.scored_nodes import ScoredNodes
from fairlead.policy.elastic_quota.incremental import unschedulable
from fairlead.policy.elastic_quota.incremental.feasibility import (
    Feasibility,
    FittingPods,
    PendingGroup,
)
from fairlead.policy.elastic_quota.incremental.state import FeasibleSource, IncrementalState
from fairlead.policy.elastic_quota.incremental.unschedulable import UnschedulableCache
from fairlead.policy.elastic_quota.nodes.node_fit import NominatedNeighbours
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPods
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.preemption.joint_placement import JointPlacement, PlacementSearch
from fairlead.policy.elastic_quota.preemption.node_search import NodeSearch, PodPreemption
from fairlead.policy.elastic_quota.preemption.victims import VictimSelection
from fairlead.policy.elastic_quota.quota.nominations import Nominations
from fairlead.policy.elastic_quota.quota.usage import Charges
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


def _no(*_: Any, **__: Any) -> bool:
    return False


def _yes(*_: Any, **__: Any) -> bool:
    return True


def _none(*_: Any, **__: Any) -> None:
    pass


def _new_state(self: Any, state: ClusterState) -> IncrementalState:
    return IncrementalState(state, self.settings)


def _new_source(self: Any) -> FeasibleSource:
    return FeasibleSource(self._state, self._settings, self._indexes, self._results)


def _check_each_group(self: Any) -> list[PendingGroup]:
    self._classify_changed()
    return [
        group
        for groups in self._in_queue.values()
        for group in groups.values()
        if group.may_preempt or any(map(self._may_fit, group.key.demands))
    ]


def _every_node(self: Any) -> Iterator[tuple[Any, str]]:
    for name in sorted(self._nodes):
        yield _LEAST_COST, name


def _no_bound(*_: Any) -> Any:
    return _LEAST_COST


_LEAST_COST: Final = (0, -(2**31) - 1, 0, 0, 0, "")


def _charge_now(self: Any, workload: Any, pod_set: int) -> Any:
    return self._charge(workload, pod_set)


def _summed_now(self: Any, queue: Any) -> tuple[int, ...]:
    charges = [each.charge for each in self._in_quota.get(queue, {}).values()]
    return tuple(map(sum, zip(*charges, strict=True))) if charges else self._zero


def _all_nodes(self: Any) -> list[str]:
    return list(self._free)


def _backtrack(self: Any) -> bool:
    return bool(self._placed)


def _across_nodes(self: Any) -> bool:
    return self._last_search is not None and self.has_candidates()


def _lowest_of_all(self: Any, queue: Any) -> int | None:
    self._catch_up()
    pods = [each for on in self._on_node.values() for each in on if each.queue == queue]
    return min([each.priority for each in pods], default=None)


def _nodes_of_all(self: Any, queue: Any) -> Sequence[str]:
    self._catch_up()
    return sorted(
        [node for node, on in self._on_node.items() if any(each.queue == queue for each in on)]
    )


def _sorted_now(self: Any) -> Sequence[Any]:
    self._catch_up()
    lowest = []
    for node, on in self._on_node.items():
        each = next((each for each in reversed(on) if each.queue is not None), None)
        if each is not None:
            lowest.append((each.priority, -each.started_ms, node))
    return sorted(lowest)


def _shortcut(name: str, lines: int, owner: Any, attribute: str, plain: Any) -> Shortcut:
    return Shortcut(name, lines, (Replacement(owner, attribute, plain),))


def _forgetful(
    name: str,
    lines: int,
    owner: Any,
    attribute: str,
    memory: str,
    empty: Callable[[], object] = _none,
) -> Shortcut:
    """Return a shortcut whose answer is not kept: its *memory* is emptied before each question."""
    kept = getattr(owner, attribute)

    def computed_now(self: Any, *arguments: Any) -> Any:
        setattr(self, memory, empty())
        return kept(self, *arguments)

    return _shortcut(name, lines, owner, attribute, computed_now)


SHORTCUTS: Final[tuple[Shortcut, ...]] = (
    _shortcut("anything kept from plan to plan", 200, ElasticQuotaPolicy, "_kept", _new_state),
    _shortcut("skipping workloads that get nothing", 420, IncrementalState, "can_skip", _no),
    _shortcut("kept groups and usage", 70, IncrementalState, "_feasible_source", _new_source),
    _forgetful(
        "kept classification of groups",
        6,
        Feasibility,
        "_classify_changed",
        "_nodes_at",
    ),
    _shortcut("one check per demand", 8, Feasibility, "feasible_groups", _check_each_group),
    _shortcut("counts of fitting pods", 75, FittingPods, "may_fit", _yes),
    _shortcut("results of the cycle before", 110, UnschedulableCache, "known", _none),
    _shortcut("results of this cycle", 25, UnschedulableCache, "unchanged", _none),
    _shortcut("results that no node changes", 25, unschedulable, "_has_no_candidates", _no),
    _forgetful(
        "quota facts once per change",
        6,
        UnschedulableCache,
        "_facts_of_all_queues",
        "_quota_facts",
    ),
    _shortcut("nodes by least cost", 25, NodeSearch, "_by_least_cost", _every_node),
    _shortcut("bound of a node's victims", 60, NodeSearch, "_least_cost", _no_bound),
    _forgetful(
        "candidates judged once",
        6,
        VictimSelection,
        "is_candidate",
        "_may_lose_now",
        empty=dict,
    ),
    _shortcut(
        "prefilter of several nodes", 25, PodPreemption, "may_succeed_across_nodes", _across_nodes
    ),
    _shortcut(
        "few nodes for several pods",
        8,
        JointPlacement,
        "_nodes_with_room",
        _all_nodes,
    ),
    _shortcut("equal pods placed once", 8, PlacementSearch, "_backtrack", _backtrack),
    _shortcut("cached charges", 30, Charges, "of", _charge_now),
    _forgetful(
        "cached domains of nominated pods",
        6,
        NominatedNeighbours,
        "_anti_affinity_domains",
        "_known",
    ),
    _shortcut("kept sums of nominated pods", 14, Nominations, "nominated_in", _summed_now),
    _shortcut("kept lowest priority", 8, RunningPods, "lowest_priority", _lowest_of_all),
    _shortcut("kept nodes of each quota", 4, RunningPods, "nodes_of", _nodes_of_all),
    _shortcut("kept order of nodes", 12, RunningPods, "by_lowest_priority", _sorted_now),
    _forgetful("kept scores of nodes", 40, ScoredNodes, "_order_of", "_orders", empty=dict),
)

OURS: Final = ElasticQuotaSettings()
EMPTY: Final = 50  # the first namespace without a pod


def _preemptions(name: str, pods: int, gpus: int, mins: Sequence[int]) -> AblationWorkload:
    """Return a plan in which pods of empty namespaces preempt, or one gang if *pods* is 0."""

    def prepare() -> Work:
        state = full_cluster(mins)
        if pods:
            for at in range(pods):
                namespace = EMPTY + at % (NAMESPACES - EMPTY)
                state.apply(WorkloadAdded(waiting(f"new{at:03}", namespace, gpus=gpus)))
        else:
            state.apply(WorkloadAdded(waiting("gang", EMPTY, gpus=gpus, pods=16)))
        return lambda: _decided(ElasticQuotaPolicy(OURS), state)

    return AblationWorkload(name, prepare)


def _one_more() -> AblationWorkload:
    """Return plans for 1,000 pods that wait in vain, and one that comes."""

    def prepare() -> Work:
        state = full_cluster()
        for at in range(1_000):
            state.apply(WorkloadAdded(waiting(f"new{at:03}", at % EMPTY)))
        policy = ElasticQuotaPolicy(OURS)
        policy.plan(state, NOW_MS)

        def plans() -> str:
            found = []
            for _ in range(10):
                with state.trial():
                    state.apply(WorkloadAdded(waiting("extra", 0)))
                    found.append(_decided(policy, state))
            return " ".join(found)

        return plans

    return AblationWorkload("1,000 wait in vain, and one more comes, 10 times", prepare)


def _decided(policy: ElasticQuotaPolicy, state: ClusterState) -> str:
    return sha256(msgspec.json.encode(policy.plan(state, NOW_MS).decisions)).hexdigest()


WORKLOADS: Final[tuple[AblationWorkload, ...]] = (
    simulated("month", "elastic-quota", days=2),
    simulated("philly", "elastic-quota", from_day=42, days=2),
    _preemptions("300 pods preempt", 300, 1, (80,) * NAMESPACES),
    _preemptions("20 pods of 8 GPUs preempt", 20, 8, (80,) * NAMESPACES),
    _preemptions(
        "a gang of 16 x 8 GPUs preempts",
        0,
        8,
        [128 if at == EMPTY else 32 if at == EMPTY + 1 else 80 for at in range(NAMESPACES)],
    ),
    _one_more(),
)
