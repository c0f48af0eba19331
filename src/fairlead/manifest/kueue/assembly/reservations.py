"""Compares what the status of ClusterQueues says is reserved with what their Workloads hold.

The two are written by one controller, so where they disagree Workloads are missing in the input, or
it was read at different moments. What the Workloads hold is what counts.
"""

from collections.abc import Iterator
from typing import Final

from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.objects import ClusterQueueObject
from fairlead.model.axes import Axis, QueueName
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import run_usage

_SHOWN: Final = 3


def warn_of_reservations(
    queues: dict[str, ClusterQueueObject], state: ClusterState, findings: Findings
) -> None:
    """Report all ClusterQueues whose status disagrees, in one remark, by name.

    Cost: the workloads of the queues that have such a status.
    """
    found = [
        (queue, text) for name, queue in sorted(queues.items()) for text in _gaps(queue, state)
    ]
    if not found:
        return
    shown = "; ".join([f"{queue.name}: {text}" for queue, text in found[:_SHOWN]])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    found[0][0].source.warn(
        findings,
        "contradiction",
        ("status", "flavorsReservation"),
        "found reservations other than what Workloads of the input hold, which counts: "
        f"{shown}{more}",
        "add all Workloads, as kubectl get workloads -A -o yaml writes them, "
        "and read them together with the queues",
    )


def _gaps(queue: ClusterQueueObject, state: ClusterState) -> Iterator[str]:
    """Yield what is reserved otherwise, by flavor and resource."""
    if not queue.reservations:
        return
    held = _held(QueueName(queue.name), state)
    for axis, reserved in queue.reservations:
        own = held.get(axis, 0)
        if own != reserved:
            resource = axis.resource
            yield (
                f"{axis} reserved {show_amount(resource, reserved)}, "
                f"held {show_amount(resource, own)}"
            )


def _held(queue: QueueName, state: ClusterState) -> dict[Axis, int]:
    """Return what Kueue counts: quota is free as soon as a workload is deactivated."""
    held: dict[Axis, int] = {}
    for name in state.queued(queue):
        workload = state.workloads[name]
        if name in state.runs and (workload.active or workload.obstacle is not None):
            for at, amount in run_usage(state.runs[name]):
                axis = state.axes.axes[at]
                held[axis] = held.get(axis, 0) + amount
    return held
