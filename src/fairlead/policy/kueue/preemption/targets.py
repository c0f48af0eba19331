"""Who gives way to a claimant, under which rule, and which shares were compared."""

from typing import Literal, TypeAlias

import msgspec

from fairlead.fairness.dominant_share import DominantShare
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.settings import Strategy
from fairlead.policy.kueue.workloads import Holder

TargetReason: TypeAlias = Literal[
    "InClusterQueue",  # the claimant's queue makes room for a more important workload
    "InCohortReclamation",  # quota that was lent goes back
    "InCohortFairSharing",  # the holder's side borrows more than the claimant's side would
    "InCohortReclaimWhileBorrowing",  # the claimant borrows and is more important
]


class ShareComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides of one cohort and their shares at the moment of the decision.

    The sides are the children of the lowest cohort that both workloads have in common. Earlier
    targets were away at that moment, also those that could stay in the end.
    """

    strategy: Strategy
    claimant_side: QueueName
    claimant_before: DominantShare  # without the claimant
    claimant_after: DominantShare  # with it: what the strategies compare
    holder_side: QueueName
    holder_before: DominantShare
    holder_after: DominantShare  # without the holder


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that must give way."""

    holder: Holder
    reason: TargetReason
    compared: ShareComparison | None = None  # only where shares decided
    by_own_quota: bool = False  # the claimant's queue takes back what is its own
