"""Whether a decision can still be carried out on a state that has learnt more since the plan."""

from operator import add, le, sub
from typing import assert_never

import msgspec

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement
from fairlead.model.node import Node
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Unknown, Wait
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId


class Basis(msgspec.Struct, frozen=True):
    """What a plan rests on that is not looked into again, but compared with what it is later."""

    nodes: dict[str, Node]
    queues: dict[QueueName, Queue]

    @classmethod
    def of(cls, state: ClusterState) -> "Basis":
        """Return that of a plan for *state*. Cost: nodes and queues, by reference."""
        return cls(dict(state.nodes), dict(state.queues))

    def has_same_access(self, node: Node) -> bool:
        """Return whether the same pods may be on *node* as before, be there room or not."""
        before = self.nodes.get(node.name)
        return before is not None and _access(before) == _access(node)


def _access(node: Node) -> tuple[object, ...]:
    return node.cordoned, node.taints, node.labels


def is_still_possible(state: ClusterState, decision: Decision, basis: Basis) -> bool:
    """Return whether pods, nodes and room are as *decision* needs them, which rests on *basis*.

    Quotas that have changed keep nothing from starting: a plan of the next moment puts right what
    they have become. What is evicted stays evicted, so they keep pods from that.
    """
    if decision.workload not in state.workloads:
        return False
    match decision:
        case Start():
            return _can_start(state, decision, basis)
        case Evict():
            return basis.queues == state.queues and _are_running(state, decision, decision.pods)
        case Move():
            return _are_running(state, decision, [each.pod for each in decision.origins])
        case Reserve():
            return all(map(state.workloads[decision.workload].has_pod, _pods(decision.placements)))
        case Wait() | Unknown():
            return True
        case _:
            assert_never(decision)


def has_waiting_pod(state: ClusterState, name: WorkloadName) -> bool:
    """Return whether a workload is there of which some pod has no place."""
    workload, run = state.workloads.get(name), state.runs.get(name)
    return workload is not None and (run is None or len(run.pods) < workload.pod_count())


def _can_start(state: ClusterState, decision: Start, basis: Basis) -> bool:
    workload, run = state.workloads[decision.workload], state.runs.get(decision.workload)
    placed = run.pods if run is not None else {}
    if not workload.active:
        return False
    if any(pod in placed or not workload.has_pod(pod) for pod in _pods(decision.placements)):
        return False
    needed: dict[str, tuple[int, ...]] = {}
    for place in decision.placements:
        if place.node is None:
            continue
        requests = workload.pod_sets.of(place.pod).requests
        before = needed.get(place.node)
        needed[place.node] = requests if before is None else tuple(map(add, before, requests))
    return all(_has_room(state, node, amounts, basis) for node, amounts in needed.items())


def _has_room(state: ClusterState, name: str, needed: tuple[int, ...], basis: Basis) -> bool:
    node = state.nodes.get(name)
    if node is None or not node.ready or not basis.has_same_access(node):
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
