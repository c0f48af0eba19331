"""Who loses its quota without anybody else's claim: its queue was drained, or its owner says so."""

from typing import Final

from fairlead.model.plan import Evict, Reason
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kueue.pending.admissibility import DEACTIVATED, Door

CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"


def drained(state: ClusterState, door: Door) -> list[Evict]:
    """Return who has to leave, by name; those who are leaving already are not told again.

    Nor are those whom the caller holds as victims. Cost: a look at each workload that has quota.
    """
    found, held = [], state.holds.victim_workloads()
    for name, run in state.runs.items():
        code = _reason(state, state.workloads[name], door)
        if code is not None and name not in held:
            staying = [pod for pod, at in run.pods.items() if at.phase != "leaving"]
            found.append((name, code, tuple(run.pod_sets.in_order(staying))))
    return [
        Evict(
            workload=name,
            pods=pods,
            beneficiary=None,
            reason=Reason(code=code, queue=state.workloads[name].queue),
        )
        for name, code, pods in sorted(found)
        if pods
    ]


def _reason(state: ClusterState, workload: Workload, door: Door) -> str | None:
    if not workload.active and workload.obstacle is None:  # an obstacle keeps from starting only
        return DEACTIVATED
    queue = state.queues.get(workload.queue)
    rules = queue.extension if queue else None
    if isinstance(rules, ClusterQueue) and rules.stop_policy == "HoldAndDrain":
        return CLUSTER_QUEUE_STOPPED
    local = door.local_queue(workload)
    return LOCAL_QUEUE_STOPPED if local is not None and local.drained else None
