"""Jobs that have no turn in a cycle: no queue can run them, or they are not ready."""

from collections import Counter
from collections.abc import Iterator, Set
from typing import Final

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.holds import HELD_AFTER_FAILURE
from fairlead.model.plan import Reason, Tally
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.obstacles import obstacle_reason

QUEUE_DOES_NOT_EXIST: Final = "QueueDoesNotExist"
QUEUE_HAS_CHILDREN: Final = "QueueHasChildren"
NOT_READY: Final = "NotReady"
SCHEDULING_GATED: Final = "SchedulingGated"
SUSPENDED: Final = "Suspended"


def misplaced(state: ClusterState, leaves: Set[QueueName]) -> Iterator[tuple[WorkloadName, Reason]]:
    """Yield the jobs that no queue can run: theirs is not there, or not a leaf."""
    for queue in state.waited_for():
        if queue in leaves:
            continue
        reason = _why_no_leaf(state, queue)
        for name in state.waiting(queue):
            yield name, obstacle_reason(state.workloads[name]) or reason


def _why_no_leaf(state: ClusterState, queue: QueueName) -> Reason:
    path = state.path(queue)
    missing = state.queues[path[-1]].parent if path else queue
    if missing is not None:
        return Reason(code=QUEUE_DOES_NOT_EXIST, queue=missing)
    return Reason(code=QUEUE_HAS_CHILDREN, queue=queue)


def why_unready(state: ClusterState, name: WorkloadName, gang: Gang) -> Reason:
    """Return why a job in a leaf has nothing to start: it is held back, or pods are missing.

    Pods with a gate are there. Only where they would not do either, pods are missing. That it is
    held after a failure is why it waits only if it could start something otherwise.
    """
    workload = state.workloads[name]
    if not workload.active:
        # Else its owner's doing, not a queue's.
        return obstacle_reason(workload) or Reason(code=SUSPENDED)
    if name in state.holds.workloads and gang.next_pods(state.runs.get(name)):
        return Reason(code=HELD_AFTER_FAILURE, queue=workload.queue)
    gated = _gated_pods(workload, gang)
    there = [(group, n + gated[group.name]) for group, n in gang.incomplete(state.runs.get(name))]
    missing = tuple(
        Tally(
            count=count,
            of=group.minimum,
            things=f"pods that {group.name or 'the job'} needs",
            what="are there",
        )
        for group, count in there
        if count < group.minimum
    )
    held_back = Tally(
        count=gated.total(), of=workload.pod_count(), things="pods", what="have a scheduling gate"
    )
    if missing:
        tallies = (*missing, held_back) if gated else missing
        return Reason(code=NOT_READY, queue=workload.queue, tallies=tallies)
    return Reason(code=SCHEDULING_GATED, queue=workload.queue, tallies=(held_back,))


def _gated_pods(workload: Workload, gang: Gang) -> Counter[str]:
    """Return how many pods of each group of *gang*, by its name, have a scheduling gate."""
    names = {group.name for group in gang.groups}
    gated: Counter[str] = Counter()
    for each in workload.pod_sets:
        if each.gated:
            gated[each.sub_group if each.sub_group in names else ""] += each.count
    return gated
