"""Who gave way to whom, so that nobody asks back, directly or through others.

Preemption loops when workloads take the same place from each other in turn. Each eviction puts the
one who gains above the one who loses. If no claim is allowed that would close a circle in that
order, and who preempts does get its place, evictions come to an end: whoever stands at the top is
never evicted, so it preempts once at most; then whoever stands below those, and so on.

Rights are not equal. Who takes back its own quota, or makes room for importance in its own queue,
must not be stopped because it once lost what it had borrowed. So each claim is tested against the
evictions by rights as strong as its own or stronger, and that is enough: in a circle, the claim by
the weakest right is the one that is refused.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.workload import KueueWorkload, Workload

_STRENGTH: Final[Mapping[str, int]] = {
    "InClusterQueue": 0,  # importance and age, which make no circles
    "InCohortReclamation": 1,
    "InCohortFairSharing": 2,
    "InCohortReclaimWhileBorrowing": 2,
}
_WEAKEST: Final = 2


class GiveWayOrder:
    """The order among the workloads of one state, kept up while a plan is made."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        """Take in what the workloads remember. Cost: a look at each."""
        self._above: dict[WorkloadName, dict[WorkloadName, int]] = {}
        for workload in workloads:
            if isinstance(workload.extension, KueueWorkload):
                for each in workload.extension.gave_way:
                    self.record(workload.name, each.beneficiary, each.code)

    def record(self, loser: WorkloadName, beneficiary: WorkloadName, code: str) -> None:
        """Note that *loser* gave way by the rule *code*; the strongest right is what counts."""
        above = self._above.setdefault(loser, {})
        strength = _STRENGTH[code]
        above[beneficiary] = min(strength, above.get(beneficiary, strength))

    def above(self, name: WorkloadName) -> frozenset[WorkloadName]:
        """Return whom *name* must not ask for what its queue would borrow."""
        return self._reached(name, _WEAKEST)

    def above_by_right(self, name: WorkloadName) -> frozenset[WorkloadName]:
        """Return whom *name* must not even ask for what is its queue's own."""
        return self._reached(name, _STRENGTH["InCohortReclamation"])

    def _reached(self, name: WorkloadName, weakest: int) -> frozenset[WorkloadName]:
        """Return all to whom *name* gave way, directly or through others, by strong rights."""
        found: set[WorkloadName] = set()
        to_visit = [name]
        while to_visit:
            for each, strength in self._above.get(to_visit.pop(), {}).items():
                if strength <= weakest and each not in found:
                    found.add(each)
                    to_visit.append(each)
        return frozenset(found)
