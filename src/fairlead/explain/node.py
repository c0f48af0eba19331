"""One node: which pods are on it, what is free, and which waiting jobs could start there."""

from collections.abc import Sequence

import msgspec

from fairlead.explain.jobs.nodes import HAVE_ROOM, Free, asked_axes, free_of, free_text
from fairlead.explain.text.amounts import amount_text
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.explain.text.reasons import reason_text, verb_agrees
from fairlead.manifest.translate.directory import PodOnNode
from fairlead.model.axes import Axis, QueueName, WorkloadName
from fairlead.model.node import Node
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.room_defect import part_text
from fairlead.policy.obstacles import constraint_reason, obstacle_reason


class WaitingJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that waits, and what its next pod finds on the node."""

    workload: WorkloadName
    queue: QueueName
    what: str  # goes on after "nodes": lack cpu, have room


def barred_text(workload: Workload, pods: Sequence[PodId]) -> str | None:
    """Return why *pods* can start on no node, whatever is free; None: they can."""
    reason = obstacle_reason(workload) or constraint_reason(workload, pods, None)
    return None if reason is None else f"does not matter: {reason_text(reason)}"


def explain_node(
    state: ClusterState,
    name: str,
    pods: Sequence[PodOnNode],
    waiting: Sequence[WaitingJob] | None,
) -> Explanation:
    """Return what is known of a node; without *waiting*, the rules choose no nodes.

    Quotas and the order of queues are left out: a job that finds room here may still have to wait.
    """
    node = state.nodes[name]
    free = _free(state, node, pods) if waiting is None else _free_in_state(state, node)
    fits = [each for each in waiting or () if each.what.startswith(HAVE_ROOM)]
    sections = [_pods_section(state, pods), _free_section(state, node, free)]
    if waiting is not None:
        sections.append(_waiting_section(waiting, fits))
    return Explanation(
        answer=f"{_condition(node)}; {len(pods)} {'pod is' if len(pods) == 1 else 'pods are'} on it"
        + ("." if waiting is None else f"; {len(fits)} of {len(waiting)} waiting jobs find room."),
        sections=tuple(sections),
        data={
            "node": name,
            "ready": node.ready,
            "cordoned": node.cordoned,
            "pods": [_pod_document(each) for each in pods],
            "free": [_free_document(each) for each in free],
            "waiting": waiting,
        },
    )


def _condition(node: Node) -> str:
    words = "is ready" if node.ready else "is not ready, so no pod can start on it"
    return f"{node.name} {words}{', and is cordoned' if node.cordoned else ''}"


def _free_in_state(state: ClusterState, node: Node) -> tuple[Free, ...]:
    """Return what is free by the state, which knows shared devices too."""
    room = NodeIndex(state, spread_gpus=False, spread_cpus=False).rooms().get(node.name)
    if room is None:
        return ()
    axes = asked_axes(state, node.allocatable)
    return tuple(free_of(room, axis, at, with_parts=True) for axis, at in axes)


def _free(state: ClusterState, node: Node, pods: Sequence[PodOnNode]) -> tuple[Free, ...]:
    """Return what is free by the requests of *pods*, where the state has no nodes of pods."""
    return tuple(
        Free(
            axis=axis,
            now=(_left(node.allocatable[at], axis, pods),),
            later=(_left(node.allocatable[at], axis, [p for p in pods if not p.terminating]),),
        )
        for axis, at in asked_axes(state, node.allocatable)
    )


def _left(amount: int, axis: Axis, pods: Sequence[PodOnNode]) -> int:
    return max(0, amount - sum(each.requests.get(axis.resource, 0) for each in pods))


def _pods_section(state: ClusterState, pods: Sequence[PodOnNode]) -> Section:
    if not pods:
        return Section(title="Pods on it: none")
    rows = [(each.name, *_whose(state, each), _requests_text(each)) for each in pods]
    head = ("POD", "JOB", "QUEUE", "REQUESTS")
    return Section(title="Pods on it", table=(head, *rows), words=4)


def _whose(state: ClusterState, pod: PodOnNode) -> tuple[str, str]:
    """Return the job and the queue of a pod, or why it has none."""
    leaving = " (terminating)" if pod.terminating else ""
    if pod.workload in state.workloads:
        return f"{pod.workload}{leaving}", state.workloads[pod.workload].queue
    return f"of {pod.scheduler or 'another scheduler'}{leaving}", "-"


def _requests_text(pod: PodOnNode) -> str:
    shown = [
        f"{resource}: {amount_text(Axis(resource), amount)}"
        for resource, amount in sorted(pod.requests.items())
        if amount and resource != "pods"
    ]
    if pod.gpu_share is not None:
        shown.append(f"{pod.gpu_share.devices} GPU in part: {part_text(pod.gpu_share)}")
    return ", ".join(shown) or "-"


def _free_section(state: ClusterState, node: Node, free: Sequence[Free]) -> Section:
    rows = [
        (
            each.axis.resource,
            amount_text(each.axis, node.allocatable[state.resources.index(each.axis.resource)]),
            free_text(each),
        )
        for each in free
    ]
    title = "What is free" if rows else "What is free: nothing is known of a node that is not ready"
    table = (("RESOURCE", "ALLOCATABLE", "FREE"), *rows) if rows else ()
    return Section(title=title, table=table)


def _waiting_section(waiting: Sequence[WaitingJob], fits: Sequence[WaitingJob]) -> Section:
    if not waiting:
        return Section(title="Waiting jobs: none")
    others = [each for each in waiting if each not in fits]
    rows = [(each.workload, each.queue, verb_agrees(each.what, 1)) for each in (*fits, *others)]
    return Section(
        title="Waiting jobs, and what their next pod finds on it",
        table=(("JOB", "QUEUE", "THE NODE"), *rows),
        words=3,
        remarks=("Limits, quotas and the order of queues come on top: fairlead explain JOB.",),
    )


def _pod_document(pod: PodOnNode) -> dict[str, object]:
    return {
        "pod": pod.name,
        "workload": pod.workload,
        "scheduler": pod.scheduler,
        "terminating": pod.terminating,
        "requests": {name: format_amount(name, n) for name, n in sorted(pod.requests.items())},
    }


def _free_document(free: Free) -> dict[str, object]:
    name = free.axis.resource
    return {
        "resource": name,
        "now": [format_amount(name, amount) for amount in free.now],
        "later": [format_amount(name, amount) for amount in free.later],
    }
