"""Nobody starts and loses its place in the same plan.

By priority, one that borrows may have its turn before one within its min, which then takes the
place back at once. So the first is held back, with those behind it who ask for the same, and the
plan made anew: the second gets the place without a fight. Where that does not give the second its
place, because it needs the room of others too, the first starts after all, and is spared until the
next plan.
"""

from collections.abc import Sequence

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.quota.pending_pod import turn_of


class Newcomers:
    """Who is held back for whom, and who is spared, from one try at a plan to the next."""

    def __init__(self, state: ClusterState) -> None:
        """Begin with nobody of those who wait in *state*."""
        self._state = state
        self.held_back: dict[WorkloadName, WorkloadName] = {}
        self.spared: set[WorkloadName] = set()

    def are_settled(self, decisions: Sequence[Decision]) -> bool:
        """Take in what came of a try; returns whether it may stand.

        Each workload is held back once and spared once at most, so some try stands. Waits may be
        left out: who neither starts nor is promised anything waits.
        """
        served = {each.workload for each in decisions if isinstance(each, Start | Reserve)}
        in_vain = {name for name, other in self.held_back.items() if other not in served}
        for name in in_vain:
            del self.held_back[name]
        self.spared |= in_vain
        found = _started_in_vain(decisions)
        for name in sorted(found, key=lambda each: turn_of(self._state.workloads[each])):
            if name not in self.held_back:
                for each in self._alike_behind(name):
                    if each not in self.spared:
                        self.held_back.setdefault(each, found[name])
        return not in_vain and not found

    def _alike_behind(self, name: WorkloadName) -> list[WorkloadName]:
        """Return a workload, and those behind it that would take its place with the same right."""
        workloads = self._state.workloads
        first = workloads[name]
        turn, kind = turn_of(first), _kind(first)
        return [
            each
            for each in self._state.waiting(first.queue)
            if each == name or (turn_of(workloads[each]) > turn and _kind(workloads[each]) == kind)
        ]


def _kind(workload: Workload) -> object:
    sets = [(each.count, each.requests, each.constraints) for each in workload.pod_sets]
    return (workload.priority, workload.min_count, sets)


def _started_in_vain(decisions: Sequence[Decision]) -> dict[WorkloadName, WorkloadName]:
    """Return who would start and lose its place in the same plan, and to whom."""
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
