"""Nobody starts and loses its place in the same plan.

By priority, one that borrows may have its turn before one within its min, which then takes the
place back at once. So the first is held back and the plan made anew: the second gets the place
without a fight. Where that does not give the second its place, because it needs the room of others
too, the first starts after all, and is spared until the next plan.
"""

from collections.abc import Sequence

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Start, Wait


class Newcomers:
    """Who is held back for whom, and who is spared, from one try at a plan to the next."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self.held_back: dict[WorkloadName, WorkloadName] = {}
        self.spared: set[WorkloadName] = set()

    def are_settled(self, decisions: Sequence[Decision]) -> bool:
        """Take in what came of a try; returns whether it may stand.

        Each workload is held back once and spared once at most, so some try stands.
        """
        waiting = {each.workload for each in decisions if isinstance(each, Wait)}
        in_vain = {name for name, other in self.held_back.items() if other in waiting}
        for name in in_vain:
            del self.held_back[name]
        self.spared |= in_vain
        found = _started_in_vain(decisions)
        self.held_back |= found
        return not in_vain and not found


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
