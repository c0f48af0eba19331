"""Which pods should not start, given that some which a plan starts would lose their place again.

Those themselves, and the pods of their jobs that got no place: they would step into the same room
and lose it in the same way. So may others of their queue, one after the other. If that goes on, all
of the queue are held back that got nothing by the plan; but not because of a place that was
claimed, which nobody else steps into.
"""

from collections.abc import Sequence, Set

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey


def pods_to_hold_back(
    state: ClusterState,
    decisions: Sequence[Decision],
    undone: Set[PodKey],
    *,
    with_those_behind: bool,
    takers: Set[WorkloadName] = frozenset(),
) -> set[PodKey]:
    """Return which pods should wait, for *undone* of those that get a place by *decisions*.

    Law: *undone* are among them, so asking again and again comes to an end. Cost: a look at each
    decision; *with_those_behind* also at each job that waits in the queues of those pods. But not
    the *takers*, for whose sake they wait.
    """
    started = {each.workload for each in decisions if isinstance(each, Start)}
    served = started | {each.workload for each in decisions if isinstance(each, Reserve)}
    losing = {name for name, _ in undone}
    held = set(losing)
    if with_those_behind:
        queues = {state.workloads[name].queue for name in losing & started}
        held |= {name for queue in queues for name in state.waiting(queue)} - served - takers
    placed = {
        (each.workload, place.pod)
        for each in decisions
        if isinstance(each, Start | Reserve)
        for place in each.placements
    }
    waiting = {(name, pod) for name in held for pod in state.workloads[name].pods()}
    return (waiting - placed) | undone
