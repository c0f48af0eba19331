"""Tells, once a fair search is over, which shares decided over each target.

The search itself compares ranks and keeps no shares. For the few targets that remain, the choices
are made once more in their order, and the shares read on the way.
"""

from collections.abc import Sequence

import msgspec

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.preemption.targets import ShareComparison, Target, TargetReason
from fairlead.policy.kueue.settings import Strategy
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Claimant, Holder


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
