"""Which workloads give way to a preemptor, by which rule, and which shares were compared."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from fairlead.fairness.dominant_share import DominantShare, Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.settings import Strategy
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Preemptor

TargetReason: TypeAlias = Literal[
    "InClusterQueue",  # by priority in the preemptor's queue
    "InCohortReclamation",  # quota that was lent goes back
    "InCohortFairSharing",  # the victim's side borrows more than the preemptor's would
    "InCohortReclaimWhileBorrowing",  # the preemptor borrows and has a higher priority
]


class ShareComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides of one cohort and their shares at the moment of the decision.

    The sides are the children of the lowest cohort that both workloads have in common. Earlier
    targets were away at that moment, also those that could stay in the end.
    """

    strategy: Strategy
    preemptor_side: QueueName
    preemptor_before: DominantShare  # without the preemptor
    preemptor_after: DominantShare  # with it: what the strategies compare
    target_side: QueueName
    target_before: DominantShare
    target_after: DominantShare  # without the victim


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that must give way."""

    workload: AdmittedWorkload
    reason: TargetReason
    compared: ShareComparison | None = None  # only where shares decided
    by_own_quota: bool = False  # the preemptor's queue reclaims its nominal quota


def fill_back(
    snapshot: Snapshot, taken: Sequence[AdmittedWorkload], fits: Callable[[], bool]
) -> list[bool]:
    """Put back, latest first, every workload that need not go; return for each whether it must.

    A search stops as soon as the preemptor fits. By then some workloads taken earlier may be
    needless, because later ones freed more. The last one is not tried: before it went, the
    preemptor did not fit. In *snapshot* workloads that must go are away and the others are back.
    Cost: one test of the fit for each.
    """
    must_go = [True] * len(taken)
    for position in range(len(taken) - 2, -1, -1):
        admitted = taken[position]
        snapshot.charge(admitted.queue, admitted.usage)
        if fits():
            must_go[position] = False
        else:
            snapshot.discharge(admitted.queue, admitted.usage)
    return must_go


class Sides(msgspec.Struct, frozen=True):
    """Two children of the lowest cohort above both workloads, and the strategy that chose."""

    preemptor: QueueName
    target: QueueName
    strategy: Strategy


class Choice(msgspec.Struct, frozen=True):
    """A workload taken during a search, and why."""

    workload: AdmittedWorkload
    reason: TargetReason
    sides: Sides | None = None


def compare_shares(
    snapshot: Snapshot, preemptor: Preemptor, choices: Sequence[Choice], must_go: Sequence[bool]
) -> list[Target]:
    """Return the choices that must go as targets, each with the shares of its moment.

    The search itself compares ranks and keeps no shares. For the few targets that remain, the
    choices are made once more in their order, and the shares read on the way. In *snapshot* the
    preemptor is charged and no workload is away; it is left so. Cost: one charge and discharge for
    each choice, and some shares for each target.
    """
    targets = []
    for choice, must in zip(choices, must_go, strict=True):
        admitted = choice.workload
        if not must or choice.sides is None:
            snapshot.discharge(admitted.queue, admitted.usage)
            compared = None
        else:
            compared = _compare(snapshot, preemptor, admitted, choice.sides)
        if must:
            targets.append(
                Target(
                    workload=admitted,
                    reason=choice.reason,
                    compared=compared,
                    by_own_quota=choice.reason == "InCohortReclamation",
                )
            )
    for choice in choices:
        snapshot.charge(choice.workload.queue, choice.workload.usage)
    return targets


def _compare(
    snapshot: Snapshot, preemptor: Preemptor, admitted: AdmittedWorkload, sides: Sides
) -> ShareComparison:
    """Read the shares of both sides while a workload goes, and leave it away."""
    tree = snapshot.tree
    preemptor_after = tree.dominant_share(sides.preemptor)
    target_before = tree.dominant_share(sides.target)
    snapshot.discharge(preemptor.queue, preemptor.usage)
    preemptor_before = tree.dominant_share(sides.preemptor)
    snapshot.charge(preemptor.queue, preemptor.usage)
    snapshot.discharge(admitted.queue, admitted.usage)
    return ShareComparison(
        strategy=sides.strategy,
        preemptor_side=sides.preemptor,
        preemptor_before=preemptor_before,
        preemptor_after=preemptor_after,
        target_side=sides.target,
        target_before=target_before,
        target_after=tree.dominant_share(sides.target),
    )


class FailedSearch(msgspec.Struct, frozen=True, gc=False):
    """What must change, or else the same search fails again.

    Ranks only fall while workloads are taken, so a side that ranks below ``ranks`` was never looked
    into and will not be. The search goes on until the preemptor fits: with as much more available
    as ``lacking`` says it would have succeeded.
    """

    ranks: tuple[Rank, ...]  # of the preemptor's side, from its queue up to below the root
    lacking: tuple[tuple[int, int], ...]  # by axis, in the end
    took_any: bool
    within_nominal: bool  # shares do not count
