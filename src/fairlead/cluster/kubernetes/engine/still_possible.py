"""Whether a decision can still be carried out on a state that has learnt more since the plan."""

from operator import add, le, sub
from typing import assert_never

from fairlead.model.events import Placement
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Unknown, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId


def is_still_possible(state: ClusterState, decision: Decision) -> bool:
    """Return whether pods, nodes and room are as *decision* needs them.

    Quotas are not looked at: a plan of the next moment puts right what they have become.
    """
    if decision.workload not in state.workloads:
        return False
    match decision:
        case Start():
            return _can_start(state, decision)
        case Evict():
            return _are_running(state, decision, decision.pods)
        case Move():
            return _are_running(state, decision, [each.pod for each in decision.origins])
        case Reserve():
            return all(map(state.workloads[decision.workload].has_pod, _pods(decision.placements)))
        case Wait() | Unknown():
            return True
        case _:
            assert_never(decision)


def _can_start(state: ClusterState, decision: Start) -> bool:
    workload, run = state.workloads[decision.workload], state.runs.get(decision.workload)
    placed = run.pods if run is not None else {}
    if any(pod in placed or not workload.has_pod(pod) for pod in _pods(decision.placements)):
        return False
    needed: dict[str, tuple[int, ...]] = {}
    for place in decision.placements:
        if place.node is None:
            continue
        requests = workload.pod_sets.of(place.pod).requests
        before = needed.get(place.node)
        needed[place.node] = requests if before is None else tuple(map(add, before, requests))
    return all(_has_room(state, node, amounts) for node, amounts in needed.items())


def _has_room(state: ClusterState, name: str, needed: tuple[int, ...]) -> bool:
    node = state.nodes.get(name)
    if node is None or not node.ready:
        return False
    free = map(sub, state.books.offered(node), state.books.held(name))
    return all(not amount or le(amount, left) for amount, left in zip(needed, free, strict=True))


def _are_running(
    state: ClusterState, decision: Evict | Move, pods: tuple[PodId, ...] | list[PodId]
) -> bool:
    run = state.runs.get(decision.workload)
    return run is not None and all(pod in run.pods and run.pods[pod].is_running() for pod in pods)


def _pods(placements: tuple[Placement, ...]) -> list[PodId]:
    return [each.pod for each in placements]
