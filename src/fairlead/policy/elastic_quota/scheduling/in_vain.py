"""Preemptions of one cycle that came to nothing: their pods could not start any more at its end.

A pod beyond its min may preempt, and a pod that is attempted later may take from the pool what the
first counts on, because it is within its own min. Or a pod that the first must be near is evicted.
"""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.plan import Decision, Evict, Reserve, Start
from fairlead.model.workload import PodId, Workload
from fairlead.policy.elastic_quota.planning_context import PlanningContext, needs_more_quota
from fairlead.policy.elastic_quota.preemption.cross_node import CrossNodePreemption
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod, readiness, whole_gang


def preemptions_in_vain(
    context: PlanningContext, decisions: Sequence[Decision]
) -> dict[WorkloadName, WorkloadName]:
    """Return the workloads that preempt in vain, and which one behind each of them it gives way to.

    That is the last one served that takes what it lacks; if none plainly does, the last one.
    *context* is as the *decisions* left it. Cost: the pods that are nominated with evictions, the
    nodes for each workload that is in doubt, and the decisions for each that preempts in vain.
    """
    claimants = {each.beneficiary for each in decisions if isinstance(each, Evict)}
    if not claimants:
        return {}
    found: dict[WorkloadName, WorkloadName] = {}
    overbooked = _overbooked_axes(context)
    behind: list[Start | Reserve] = []
    for each in reversed(decisions):
        if behind and isinstance(each, Reserve) and each.workload in claimants:
            for group in _started_together(context, each):
                if not _can_start(context, *group, overbooked):
                    shortage = _shortage(context, *group, overbooked, decisions)
                    taker = next(filter(shortage.is_due_to, behind), behind[0])
                    found[each.workload] = taker.workload
                    break
        if isinstance(each, Start | Reserve):
            behind.append(each)
    return found


class _Shortage(NamedTuple):
    """What pods that preempt in vain lack: quota, or the pods that they must be near."""

    context: PlanningContext
    claimant: WorkloadName
    axes: Set[int]  # on which the pool is too small
    nodes: Set[str | None]  # where other pods may rule them out
    evictors: Set[WorkloadName | None]  # which evict pods there

    def is_due_to(self, served: Start | Reserve) -> bool:
        """Return whether another workload that is *served* takes some of it."""
        workload = self.context.state.workloads[served.workload]
        if workload.name == self.claimant:
            return False
        return workload.name in self.evictors or any(
            place.node in self.nodes or self._takes_quota(workload, place.pod)
            for place in served.placements
        )

    def _takes_quota(self, workload: Workload, pod: PodId) -> bool:
        pending = self.context.pending_pod(workload, pod)
        return pending.queue is not None and any(pending.charge[at] for at in self.axes)


def _shortage(
    context: PlanningContext,
    pending_pods: Sequence[PendingPod],
    charge: Amounts,
    overbooked: Sequence[int],
    decisions: Sequence[Decision],
) -> _Shortage:
    claimant = pending_pods[0].workload
    in_doubt = range(len(charge)) if needs_more_quota(claimant) else overbooked
    axes = {at for at in in_doubt if charge[at]}
    nodes = {
        context.nominations.node_of(each.key)
        for each in pending_pods
        if context.fit.depends_on_other_pods(each)
    }
    evictors = {
        each.beneficiary
        for each in decisions
        if isinstance(each, Evict)
        if any(context.state.runs[each.workload].pods[pod].node in nodes for pod in each.pods)
    }
    return _Shortage(context, claimant.name, axes, nodes, evictors)


def _overbooked_axes(context: PlanningContext) -> list[int]:
    """Return the axes on which the pool is too small for all nominated pods after termination."""
    quotas, nominations = context.quotas, context.nominations
    nominated = [nominations.nominated_in(queue) for queue in quotas.guaranteed]
    wanted = map(sum, zip(quotas.after_termination.pool, *nominated, strict=True))
    return [at for at, amount in enumerate(wanted) if amount > quotas.pool[at]]


def _started_together(
    context: PlanningContext, reserve: Reserve
) -> Iterator[tuple[list[PendingPod], Amounts]]:
    """Yield the nominated pods that start together, with their charge: a gang, or each pod."""
    workload = context.state.workloads[reserve.workload]
    pending_pods = [context.pending_pod(workload, each.pod) for each in reserve.placements]
    if readiness(context.state, workload).needed > 0:
        yield pending_pods, whole_gang(context.state, context.charges, pending_pods).charge
    else:
        for pending in pending_pods:
            yield [pending], pending.charge


def _can_start(
    context: PlanningContext,
    pending_pods: Sequence[PendingPod],
    charge: Amounts,
    overbooked: Sequence[int],
) -> bool:
    """Return whether nominated pods can start together after termination.

    On their nodes their place is kept, so only quotas and the other pods there can forbid it.
    """
    depends_on_pods = any(map(context.fit.depends_on_other_pods, pending_pods))
    in_doubt = any(charge[at] for at in overbooked) or needs_more_quota(pending_pods[0].workload)
    if not in_doubt and not depends_on_pods:
        return True
    nodes = [context.nominations.node_of(each.key) for each in pending_pods]
    assert None not in nodes, "no pod behind another one takes its nomination"
    mark = context.mark()
    for pending in pending_pods:
        context.withdraw(pending)  # its own nominations do not block it
    preemption = CrossNodePreemption(context, pending_pods, charge, protects_min=False)
    can_start = preemption.holds(tuple([node for node in nodes if node is not None]), ())
    context.roll_back(mark)
    return can_start
