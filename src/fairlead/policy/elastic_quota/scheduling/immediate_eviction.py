"""No workload starts and is preempted in the same plan.

In order of priority a borrower may be attempted before a pod within its min, which then reclaims
the node at once. So the borrower is held back, with similar workloads behind it, and the plan is
made again: the second gets the node without a preemption. If that does not help the second, because
it needs the capacity of other pods as well, the borrower starts after all, and is exempt from
preemption until the next plan.
"""

from collections.abc import Sequence

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.quota.pending_pod import scheduling_order


class ImmediateEvictions:
    """The workloads that are held back or exempt, from one attempt at a plan to the next."""

    def __init__(self, state: ClusterState) -> None:
        """Hold back no workload of *state* at first."""
        self._state = state
        self.held_back: dict[WorkloadName, WorkloadName] = {}
        self.exempt: set[WorkloadName] = set()

    def is_settled(self, decisions: Sequence[Decision]) -> bool:
        """Take in the decisions of one attempt; returns whether the plan is final.

        Each workload is held back and exempt at most once, so the attempts end. Waits may be left
        out: a workload that neither starts nor is nominated waits.
        """
        served = {each.workload for each in decisions if isinstance(each, Start | Reserve)}
        not_helped = {name for name, other in self.held_back.items() if other not in served}
        for name in not_helped:
            del self.held_back[name]
        self.exempt |= not_helped
        found = _evicted_at_once(decisions)
        for name in sorted(found, key=lambda each: scheduling_order(self._state.workloads[each])):
            if name not in self.held_back:
                for each in self._similar_behind(name):
                    if each not in self.exempt:
                        self.held_back.setdefault(each, found[name])
        return not not_helped and not found

    def _similar_behind(self, name: WorkloadName) -> list[WorkloadName]:
        """Return a workload, and those behind it that would take its node for the same reason."""
        workloads = self._state.workloads
        first = workloads[name]
        turn, kind = scheduling_order(first), _kind(first)
        return [
            each
            for each in self._state.waiting(first.queue)
            if each == name
            or (scheduling_order(workloads[each]) > turn and _kind(workloads[each]) == kind)
        ]


def _kind(workload: Workload) -> object:
    sets = [(each.count, each.requests, each.constraints) for each in workload.pod_sets]
    return (workload.priority, workload.min_count, sets)


def _evicted_at_once(decisions: Sequence[Decision]) -> dict[WorkloadName, WorkloadName]:
    """Return workloads that would start and be evicted in the same plan, and their preemptors."""
    started = {
        (each.workload, place.pod)
        for each in decisions
        if isinstance(each, Start)
        for place in each.placements
    }
    return {
        each.workload: each.beneficiary
        for each in decisions
        if isinstance(each, Evict) and each.beneficiary is not None
        if any((each.workload, pod) in started for pod in each.pods)
    }
