"""Who gives way to a claimant, under which rule, and which shares were compared."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from fairlead.fairness.dominant_share import DominantShare, Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.settings import Strategy
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Claimant, Holder

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


def fill_back(snapshot: Snapshot, taken: Sequence[Holder], fits: Callable[[], bool]) -> list[bool]:
    """Put back, latest first, whoever leaves room enough; tell for each whether it must go.

    The last one is not tried: before it went, the claimant did not fit. In *snapshot* those who
    must go are away and the others are back. Cost: one test of the fit for each.
    """
    must_go = [True] * len(taken)
    for position in range(len(taken) - 2, -1, -1):
        holder = taken[position]
        snapshot.charge(holder.queue, holder.usage)
        if fits():
            must_go[position] = False
        else:
            snapshot.discharge(holder.queue, holder.usage)
    return must_go


class Sides(msgspec.Struct, frozen=True):
    """Two children of the lowest cohort above both workloads, and the strategy that chose."""

    claimant: QueueName
    holder: QueueName
    strategy: Strategy


class Choice(msgspec.Struct, frozen=True):
    """A workload taken during a search, and why."""

    holder: Holder
    reason: TargetReason
    sides: Sides | None = None


def compare_sides(
    snapshot: Snapshot, claimant: Claimant, choices: Sequence[Choice], must_go: Sequence[bool]
) -> list[Target]:
    """Return the choices that must go as targets, each with the shares of its moment.

    In *snapshot* the claimant is charged and nobody is away; it is left so. Cost: one charge and
    discharge for each choice, and some shares for each target.
    """
    targets = []
    for choice, must in zip(choices, must_go, strict=True):
        holder = choice.holder
        if not must or choice.sides is None:
            snapshot.discharge(holder.queue, holder.usage)
            compared = None
        else:
            compared = _compare(snapshot, claimant, holder, choice.sides)
        if must:
            targets.append(
                Target(
                    holder=holder,
                    reason=choice.reason,
                    compared=compared,
                    by_own_quota=choice.reason == "InCohortReclamation",
                )
            )
    for choice in choices:
        snapshot.charge(choice.holder.queue, choice.holder.usage)
    return targets


def _compare(
    snapshot: Snapshot, claimant: Claimant, holder: Holder, sides: Sides
) -> ShareComparison:
    """Read the shares of both sides while *holder* goes, and leave it away."""
    tree = snapshot.tree
    claimant_after = tree.dominant_share(sides.claimant)
    holder_before = tree.dominant_share(sides.holder)
    snapshot.discharge(claimant.queue, claimant.usage)
    claimant_before = tree.dominant_share(sides.claimant)
    snapshot.charge(claimant.queue, claimant.usage)
    snapshot.discharge(holder.queue, holder.usage)
    return ShareComparison(
        strategy=sides.strategy,
        claimant_side=sides.claimant,
        claimant_before=claimant_before,
        claimant_after=claimant_after,
        holder_side=sides.holder,
        holder_before=holder_before,
        holder_after=tree.dominant_share(sides.holder),
    )


class FailedSearch(msgspec.Struct, frozen=True, gc=False):
    """What must change, or else the same claim fails again.

    Ranks only fall while workloads are taken, so a side that stands below ``ranks`` was never asked
    and will not be. The search goes on until there is room: with as much more of it as ``lacking``
    says it would have succeeded.
    """

    ranks: tuple[Rank, ...]  # of the claimant's side, from its queue up to below the root
    lacking: tuple[tuple[int, int], ...]  # by axis, in the end
    took_any: bool
    is_owed: bool  # within its own quota: shares do not count
