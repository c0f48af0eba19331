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

from collections.abc import Mapping
from enum import IntEnum

from fairlead.model.axes import WorkloadName
from fairlead.model.execution.remember import gave_way_to
from fairlead.model.memory import GaveWay, KueueMemory, Memory
from fairlead.model.workload import Workload


class Right(IntEnum):
    """By what right somebody was told to leave, the strongest one first."""

    IMPORTANCE = 0  # or age, in one queue: these make no circles
    OWN_QUOTA = 1
    SHARING = 2


def right_of(given: GaveWay) -> Right:
    """Return by what right a workload had to give way."""
    if given.code == "InClusterQueue":
        return Right.IMPORTANCE
    return Right.OWN_QUOTA if given.by_own_quota else Right.SHARING


class GiveWayOrder:
    """The order among the workloads of one state, kept up while a plan is made."""

    def __init__(
        self, memories: Mapping[WorkloadName, Memory], known: Mapping[WorkloadName, Workload]
    ) -> None:
        """Take in what *memories* say of beneficiaries that are still *known*.

        Cost: a look at each memory.
        """
        self._above: dict[WorkloadName, dict[WorkloadName, Right]] = {}
        for name, memory in memories.items():
            if isinstance(memory, KueueMemory):
                for each in memory.gave_way:
                    if gave_way_to(each, known) is not None:
                        self.record(name, each.beneficiary, right_of(each))

    def record(self, loser: WorkloadName, beneficiary: WorkloadName, right: Right) -> None:
        """Note that *loser* gave way; of several rights the strongest one counts."""
        above = self._above.setdefault(loser, {})
        above[beneficiary] = min(right, above.get(beneficiary, right))

    def above(self, name: WorkloadName, right: Right) -> frozenset[WorkloadName]:
        """Return whom *name* must not ask by *right*.

        All to whom it gave way, directly or through others, by rights as strong or stronger.
        """
        found: set[WorkloadName] = set()
        to_visit = [name]
        while to_visit:
            for each, theirs in self._above.get(to_visit.pop(), {}).items():
                if theirs <= right and each not in found:
                    found.add(each)
                    to_visit.append(each)
        return frozenset(found)
