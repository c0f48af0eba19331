"""Why a workload does not get in: what lacks on its flavors, where in the tree, and who has it."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from fairlead.model.axes import QueueName, QuotaAxes
from fairlead.model.plan import Comparison, Held, Reason, Term
from fairlead.policy.kueue.flavors.assignment import (
    FlavorTrial,
    Waiting,
    uncovered,
    wanted_by_group,
)
from fairlead.policy.kueue.flavors.eligibility import Eligibility
from fairlead.policy.kueue.flavors.mismatch_text import flavor_mismatch_text
from fairlead.policy.kueue.flavors.nomination import Nominator
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot

RESOURCE_NOT_COVERED: Final = "ResourceNotCovered"
NO_MATCHING_FLAVOR: Final = "NoMatchingFlavor"
EXCEEDS_MAX_QUOTA: Final = "ExceedsMaxQuota"
WAITING_FOR_QUOTA: Final = "WaitingForQuota"
PENDING_EVALUATION: Final = "PendingEvaluation"

MOST_HOLDERS: Final = 5  # told for each axis


class WaitReasons:
    """Says why workloads wait, on one snapshot that stays as it is."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        settings: KueueSettings,
        held_on: Snapshot | None = None,
    ) -> None:
        """Look at nobody yet; *held_on* tells who has what, if *snapshot* counts more than that."""
        self._snapshot = snapshot
        self._held_on = held_on or snapshot
        self._axes = axes
        self.nominator = Nominator(snapshot, axes, settings, stays=True)
        self._held: dict[tuple[QueueName, int], list[Held]] = {}

    def of(
        self, waiting: Waiting, eligibility: Sequence[Sequence[Eligibility]] | None = None
    ) -> Reason:
        """Return why *waiting* does not get in; *eligibility* is by pod set and resource group.

        What nobody's leaving could mend comes first. Quota is judged by as few pods as it may be
        admitted with. If nothing lacks, others merely had their turn before: no numbers are told.
        Cost: that of an assignment of flavors; for each queue where room ends, once, those below.
        """
        groups = self._snapshot.rules[waiting.queue].resource_groups
        missing = {name for demand in waiting.demands for name in uncovered(groups, demand)}
        if missing:
            names = tuple(sorted(missing))
            return Reason(code=RESOURCE_NOT_COVERED, queue=waiting.queue, names=names)
        against = self._against_all_flavors(waiting, eligibility)
        if against is not None:
            return Reason(code=NO_MATCHING_FLAVOR, queue=waiting.queue, names=against)
        fewest = self.nominator.fewest(waiting)
        asked = "request" if fewest.counts() == waiting.counts() else "least request"
        lacking = self._lacking(fewest)
        if any(trial.amount > trial.potential for trial in lacking):
            return self._exceeds(waiting, asked, lacking)
        return self._waits(waiting, asked, lacking)

    def has_room(self, waiting: Waiting) -> bool:
        """Return whether nothing lacks for *waiting*, which some flavor suits."""
        return not self._lacking(self.nominator.fewest(waiting))

    def _against_all_flavors(
        self, waiting: Waiting, eligibility: Sequence[Sequence[Eligibility]] | None
    ) -> tuple[str, ...] | None:
        """Return what speaks against each flavor of the first group that has none for the pods."""
        groups = self._snapshot.rules[waiting.queue].resource_groups
        for at, demand in enumerate(waiting.demands):
            for number, _ in wanted_by_group(groups, demand):
                eligible = (
                    groups[number].flavors if demand.flavors is None else demand.flavors[number]
                )
                if not eligible:
                    known = () if eligibility is None else eligibility[at][number].mismatches
                    return tuple(map(flavor_mismatch_text, known))
        return None

    def _lacking(self, waiting: Waiting) -> list[FlavorTrial]:
        """Return what lacks on the flavors that come nearest, one resource for each axis.

        Of each pod set and resource group, as far as flavors were tried: no further than to the
        first that no flavor can meet.
        """
        groups: dict[tuple[int, int], dict[str, list[FlavorTrial]]] = {}
        for trial in self.nominator.try_flavors(waiting):
            by_flavor = groups.setdefault((trial.pod_set, trial.group), {})
            by_flavor.setdefault(trial.flavor, []).append(trial)
        nearest = [min(by_flavor.values(), key=_distance) for by_flavor in groups.values()]
        # A later pod set counts what earlier ones took, so the last of an axis has it all.
        lacking = {t.met.axis: t for trials in nearest for t in trials if _lack(t) > 0}
        return list(lacking.values())

    def _exceeds(self, waiting: Waiting, asked: str, lacking: Sequence[FlavorTrial]) -> Reason:
        tree = self._snapshot.tree
        compared = [
            Comparison(
                queue=QueueName(tree.potential_ends_at(waiting.queue, trial.met.axis)),
                axis=self._axes.axes[trial.met.axis],
                left=(Term(asked, trial.amount),),
                relation=">",
                right=Term("potential", trial.potential),
            )
            for trial in lacking
            if trial.amount > trial.potential
        ]
        return Reason(code=EXCEEDS_MAX_QUOTA, queue=compared[0].queue, comparisons=tuple(compared))

    def _waits(self, waiting: Waiting, asked: str, lacking: Sequence[FlavorTrial]) -> Reason:
        tree = self._snapshot.tree
        compared: list[Comparison] = []
        held: list[Held] = []
        for trial in lacking:
            end = QueueName(tree.ends_at(waiting.queue, trial.met.axis))
            compared.append(
                Comparison(
                    queue=end,
                    axis=self._axes.axes[trial.met.axis],
                    left=(Term(asked, trial.amount),),
                    relation=">",
                    right=Term("available", trial.available),
                )
            )
            held += self._holders(end, trial.met.axis, waiting.queue)
        return Reason(
            code=WAITING_FOR_QUOTA,
            queue=compared[0].queue if compared else waiting.queue,
            comparisons=tuple(compared),
            held=tuple(held),
        )

    def _holders(self, end: QueueName, axis: int, own: QueueName) -> tuple[Held, ...]:
        """Return who at or below *end* uses most of an axis, the largest borrowers first.

        What a node retains for its own is no loss to others, so who uses no more is left out, but
        for the queue that is lacking itself.
        """
        users = self._held.get((end, axis))
        if users is None:
            felt_at = self._held_on.tree.felt_at
            leaves = [each for each in self._leaves(end) if felt_at(end, each, axis) > 0]
            users = sorted((self._usage(each, axis) for each in leaves), key=_by_size)
            users = self._held[end, axis] = users[:MOST_HOLDERS]
        if self._held_on.tree.charged_on(own, axis) > 0 and own not in {u.queue for u in users}:
            users = sorted([*users, self._usage(own, axis)], key=_by_size)
        return tuple(users[:MOST_HOLDERS])

    def _usage(self, queue: QueueName, axis: int) -> Held:
        tree = self._held_on.tree
        used = tree.charged_on(queue, axis)
        over = max(0, used - tree.subtree_on(queue, axis))
        has_parent = self._snapshot.parents[queue] is not None
        return Held(
            queue=queue,
            axis=self._axes.axes[axis],
            amount=used,
            borrowed=over if has_parent else 0,
        )

    def _leaves(self, top: QueueName) -> Iterator[QueueName]:
        snapshot, below = self._snapshot, [top]
        while below:
            name = below.pop()
            if name in snapshot.rules:
                yield name
            below += snapshot.children.get(name, ())


def _by_size(held: Held) -> tuple[int, int, QueueName]:
    """Return by what holders are told, the largest borrowers first."""
    return (-held.borrowed, -held.amount, held.queue)


def _distance(trials: Sequence[FlavorTrial]) -> tuple[int, Fraction, Fraction]:
    """Return how far a flavor is from meeting a request, the nearest one first.

    How its worst resource could be met; by what part of the request the worst lacks for good; by
    what part it lacks now.
    """
    asked = [each.amount or 1 for each in trials]
    for_good = [max(0, each.amount - each.potential) for each in trials]
    return (
        -min(each.met.mode for each in trials),
        max(map(Fraction, for_good, asked)),
        max(map(Fraction, map(_lack, trials), asked)),
    )


def _lack(trial: FlavorTrial) -> int:
    """Return by how much more is asked than is available."""
    return max(0, trial.amount - max(0, trial.available))
