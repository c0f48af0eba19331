"""What a caller holds back after failures, as an argument of one plan.

A cluster refuses some of what was decided: a pod cannot be bound, a budget forbids an eviction. A
policy that knows nothing of that decides the same again, and fails again. How long something is
held, and after which failure, is the caller's to know; a plan is given what is held now.
"""

from typing import Final

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.model.workload import PodKey

HELD_AFTER_FAILURE: Final = "HeldAfterFailure"
"""The code of the reason for which a held workload waits."""


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """What is not to be tried now; names of what is gone have no effect.

    Shares do not change by it: what is held is still requested by its queue, and pods that run go
    on as always.
    """

    workloads: frozenset[WorkloadName] = frozenset()  # start nothing and claim nothing
    nodes: frozenset[tuple[WorkloadName, str]] = frozenset()  # no pod of it is placed there
    victims: frozenset[PodKey] = frozenset()  # pods that are not evicted

    def victim_workloads(self) -> frozenset[WorkloadName]:
        """Return the workloads of which some pod is not evicted."""
        return frozenset([name for name, _ in self.victims])


NOTHING_HELD: Final = Holds()
