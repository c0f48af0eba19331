"""Why workloads wait: what lacks on their flavors, where in the tree, and which queues use it."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes
from fairlead.model.plan import Comparison, FailedClaim, Held, Reason, Term, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.cycle.rounds import TreeOutcome
from fairlead.policy.kueue.flavors.assignment import (
    AssignmentMode,
    FlavorTrial,
    demand_by_group,
    uncovered,
)
from fairlead.policy.kueue.flavors.demands import DemandReader, Eligibilities
from fairlead.policy.kueue.flavors.eligibility import Eligibility, flavor_mismatch_text
from fairlead.policy.kueue.flavors.nomination import Nominator
from fairlead.policy.kueue.pending.queue import PendingQueue
from fairlead.policy.kueue.reasons.diagnosis import BORROWING_FORBIDDEN, diagnose_failed_preemption
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot, without_evicted
from fairlead.policy.kueue.workloads import PendingWorkload

RESOURCE_NOT_COVERED: Final = "ResourceNotCovered"
NO_MATCHING_FLAVOR: Final = "NoMatchingFlavor"
EXCEEDS_MAX_QUOTA: Final = "ExceedsMaxQuota"
WAITING_FOR_QUOTA: Final = "WaitingForQuota"
PENDING_EVALUATION: Final = "PendingEvaluation"

MOST_USERS: Final = 5  # listed for each axis


class QuotaReasons:
    """Says why workloads lack quota, on one snapshot that stays as it is."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        settings: KueueSettings,
        held_on: Snapshot | None = None,
    ) -> None:
        """Look at no workload yet; *held_on* has the present usage, if *snapshot* counts more."""
        self._snapshot = snapshot
        self._held_on = held_on or snapshot
        self._axes = axes
        self.nominator = Nominator(snapshot, axes, settings, unchanged=True)
        self._held: dict[tuple[QueueName, int], list[Held]] = {}

    def of(
        self, pending: PendingWorkload, eligibility: Sequence[Sequence[Eligibility]] | None = None
    ) -> Reason:
        """Return why *pending* is not admitted; *eligibility* is by pod set and resource group.

        What no eviction could change comes first. Quota is judged by as few pods as it may be
        admitted with. If nothing lacks, other heads merely had their turns before: then there are
        no numbers. Cost: that of an assignment of flavors; for each queue where quota ends, once,
        those below.
        """
        groups = self._snapshot.rules[pending.queue].resource_groups
        missing = {name for demand in pending.demands for name in uncovered(groups, demand)}
        if missing:
            names = tuple(sorted(missing))
            return Reason(code=RESOURCE_NOT_COVERED, queue=pending.queue, names=names)
        against = self._against_all_flavors(pending, eligibility)
        if against is not None:
            return Reason(code=NO_MATCHING_FLAVOR, queue=pending.queue, names=against)
        with_fewest_pods = self.nominator.with_fewest_pods(pending)
        request = "request" if with_fewest_pods.counts() == pending.counts() else "least request"
        lacking = self._lacking(with_fewest_pods)
        if any(trial.amount > trial.potential for trial in lacking):
            return self._exceeds(pending, request, lacking)
        return self._waits(pending, request, lacking)

    def fits(self, pending: PendingWorkload) -> bool:
        """Return whether nothing lacks for *pending*, which some flavor suits."""
        return not self._lacking(self.nominator.with_fewest_pods(pending))

    def _against_all_flavors(
        self, pending: PendingWorkload, eligibility: Sequence[Sequence[Eligibility]] | None
    ) -> tuple[str, ...] | None:
        """Return why each flavor does not suit, for the first group that has none for the pods."""
        groups = self._snapshot.rules[pending.queue].resource_groups
        for at, demand in enumerate(pending.demands):
            for number, _ in demand_by_group(groups, demand):
                eligible = (
                    groups[number].flavors if demand.flavors is None else demand.flavors[number]
                )
                if not eligible:
                    known = () if eligibility is None else eligibility[at][number].mismatches
                    return tuple(map(flavor_mismatch_text, known))
        return None

    def _lacking(self, pending: PendingWorkload) -> list[FlavorTrial]:
        """Return what lacks on the flavors that come nearest, one resource for each axis.

        Of each pod set and resource group, as far as flavors were tried: no further than to the
        first that no flavor can meet.
        """
        groups: dict[tuple[int, int], dict[str, list[FlavorTrial]]] = {}
        for trial in self.nominator.try_flavors(pending):
            by_flavor = groups.setdefault((trial.pod_set, trial.group), {})
            by_flavor.setdefault(trial.flavor, []).append(trial)
        nearest = [min(by_flavor.values(), key=_distance) for by_flavor in groups.values()]
        # A later pod set counts what earlier ones took, so the last of an axis has it all.
        lacking = {t.fit.axis: t for trials in nearest for t in trials if _lack(t) > 0}
        return list(lacking.values())

    def _exceeds(
        self, pending: PendingWorkload, request: str, lacking: Sequence[FlavorTrial]
    ) -> Reason:
        tree = self._snapshot.tree
        compared = [
            Comparison(
                queue=QueueName(tree.potential_ends_at(pending.queue, trial.fit.axis)),
                axis=self._axes.axes[trial.fit.axis],
                left=(Term(request, trial.amount),),
                relation=">",
                right=Term("potential", trial.potential),
            )
            for trial in lacking
            if trial.amount > trial.potential
        ]
        return Reason(code=EXCEEDS_MAX_QUOTA, queue=compared[0].queue, comparisons=tuple(compared))

    def _waits(
        self, pending: PendingWorkload, request: str, lacking: Sequence[FlavorTrial]
    ) -> Reason:
        tree = self._snapshot.tree
        compared: list[Comparison] = []
        held: list[Held] = []
        for trial in lacking:
            end = QueueName(tree.ends_at(pending.queue, trial.fit.axis))
            compared.append(
                Comparison(
                    queue=end,
                    axis=self._axes.axes[trial.fit.axis],
                    left=(Term(request, trial.amount),),
                    relation=">",
                    right=Term("available", trial.available),
                )
            )
            held += self._largest_users(end, trial.fit.axis, pending.queue)
        return Reason(
            code=WAITING_FOR_QUOTA,
            queue=compared[0].queue if compared else pending.queue,
            comparisons=tuple(compared),
            held=tuple(held),
        )

    def _largest_users(self, end: QueueName, axis: int, own: QueueName) -> tuple[Held, ...]:
        """Return the queues at or below *end* that use most of an axis, largest borrowers first.

        What a node retains is no loss to others, so a queue that uses no more is left out, but for
        the queue that is lacking itself.
        """
        users = self._held.get((end, axis))
        if users is None:
            felt_at = self._held_on.tree.felt_at
            leaves = [each for each in self._leaves(end) if felt_at(end, each, axis) > 0]
            users = sorted((self._usage(each, axis) for each in leaves), key=_by_size)
            users = self._held[end, axis] = users[:MOST_USERS]
        if self._held_on.tree.charged_on(own, axis) > 0 and own not in {u.queue for u in users}:
            users = sorted([*users, self._usage(own, axis)], key=_by_size)
        return tuple(users[:MOST_USERS])

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
    """Return what sorts users, the largest borrowers first."""
    return (-held.borrowed, -held.amount, held.queue)


def _distance(trials: Sequence[FlavorTrial]) -> tuple[int, Fraction, Fraction]:
    """Return how far a flavor is from meeting a request, the nearest one first.

    How its worst resource could be met; by what part of the request the worst lacks for good; by
    what part it lacks now.
    """
    request = [each.amount or 1 for each in trials]
    for_good = [max(0, each.amount - each.potential) for each in trials]
    return (
        -min(each.fit.mode for each in trials),
        max(map(Fraction, for_good, request)),
        max(map(Fraction, map(_lack, trials), request)),
    )


def _lack(trial: FlavorTrial) -> int:
    """Return by how much more is requested than is available."""
    return max(0, trial.amount - max(0, trial.available))


BEHIND_HEAD: Final = "BehindHead"
QUOTA_IS_KEPT: Final = "QuotaIsKept"
PREEMPTION: Final = "preemption"
_ABOUT_QUOTA: Final = (WAITING_FOR_QUOTA, QUOTA_IS_KEPT)


class WaitExplainer:
    """Explains the waits of one tree; workloads that ask for the same have the same reason."""

    def __init__(
        self,
        state: ClusterState,
        outcome: TreeOutcome,
        settings: KueueSettings,
        demands: DemandReader,
        now_ms: int,
    ) -> None:
        """Look at *outcome*, what the rounds left behind."""
        self._state = state
        self._outcome = outcome
        self._settings = settings
        self._demands = demands
        self._now_ms = now_ms
        self._promised = outcome.preempting()
        self._at_present = QuotaReasons(outcome.snapshot, state.axes, settings)
        self._as_reserved = QuotaReasons(
            outcome.as_reserved(), state.axes, settings, outcome.snapshot
        )
        self._once_evicted_left = self._without_promises()
        self._decided_on = outcome.decided_on
        self._nominator = self._at_present.nominator
        if self._decided_on is not outcome.snapshot:
            self._nominator = Nominator(self._decided_on, state.axes, settings, unchanged=True)
        self._known: dict[Hashable, tuple[Reason, tuple[FailedClaim, ...]]] = {}

    def of(self, queues: Iterable[PendingQueue]) -> Iterator[Wait]:
        """Yield the waits of all workloads that were neither admitted nor promised anything.

        Cost: that of one search for each queue and each scheduling hash in it.
        """
        promised = {turn.nomination.pending.name for turn in self._promised}
        for queue in queues:
            for pending, head in queue.not_admitted():
                if pending.name in promised:
                    continue
                if head is not None:
                    reason = Reason(code=BEHIND_HEAD, queue=pending.queue, names=(head.name,))
                    yield Wait(workload=pending.name, reason=reason)
                    continue
                reason, claims = self._explained(
                    pending, queue.class_of(pending.name).scheduling_hash
                )
                yield Wait(workload=pending.name, reason=reason, claims=claims)

    def _explained(
        self, pending: PendingWorkload, scheduling_hash: Hashable
    ) -> tuple[Reason, tuple[FailedClaim, ...]]:
        workload = self._state.workloads[pending.name]
        rules = self._outcome.snapshot.rules[pending.queue]
        eligibility = self._demands.eligibility(workload, rules)
        # Workloads with equal hashes may have lost the same flavors for different reasons, wait
        # for different times before they may preempt, or be older than others of their queue.
        admitted = self._outcome.snapshot.admitted(pending.queue).workloads
        newer = sum(each.queued_ms > pending.queued_ms for each in admitted)
        key = (
            pending.queue,
            scheduling_hash,
            eligibility,
            self._outcome.preemption_delay(pending),
            newer,
        )
        found = self._known.get(key)
        if found is None:
            reason = self._reason(pending, eligibility)
            found = self._known[key] = reason, self._claims(pending, reason)
        return found

    def _reason(self, pending: PendingWorkload, eligibility: Eligibilities | None) -> Reason:
        reason = self._at_present.of(pending, eligibility)
        if (reason.comparisons or reason.names) and not self._would_fit_then(pending, reason):
            return reason
        # It would fit, if other heads did not reserve quota.
        reserved = self._as_reserved.of(pending, eligibility)
        if not reserved.comparisons:
            return reason
        lacking = {
            self._state.axes.axes.index(each.axis) for each in reserved.comparisons if each.axis
        }
        reserving = [
            turn.nomination.pending.name
            for turn in self._outcome.reserving()
            if any(axis in lacking for axis, _ in turn.reserved)
        ]
        return replace(reserved, code=QUOTA_IS_KEPT, names=tuple(sorted(reserving)))

    def _without_promises(self) -> QuotaReasons | None:
        """Return the tree without evicted workloads, if what they free is promised."""
        if not (self._settings.keeps_promises and self._outcome.snapshot.evicted()):
            return None
        later = without_evicted(self._outcome.snapshot)
        return QuotaReasons(later, self._state.axes, self._settings)

    def _would_fit_then(self, pending: PendingWorkload, lacking: Reason) -> bool:
        """Return whether it could have what victims free, if that were promised to no workload."""
        if self._once_evicted_left is None or lacking.code != WAITING_FOR_QUOTA:
            return False
        return self._once_evicted_left.fits(pending)

    def _claims(self, pending: PendingWorkload, lacking: Reason) -> tuple[FailedClaim, ...]:
        """Return why preemption fails for what is *lacking*, as things stand at the end."""
        pending = self._nominator.with_fewest_pods(self._outcome.restrained(pending))
        nomination = self._nominator.nominate(pending)
        if nomination.mode() is AssignmentMode.FIT:
            return ()
        if nomination.assignment is None:
            beyond = self._beyond_quota(pending, lacking)
            return (FailedClaim(action=PREEMPTION, reason=beyond),) if beyond.comparisons else ()
        if (
            nomination.targets
        ):  # others were admitted after its turn, and it was not nominated again
            return (FailedClaim(action=PREEMPTION, reason=Reason(code=PENDING_EVALUATION)),)
        preemptor = pending.preemptor(nomination.assignment.usage, nomination.assignment.need)
        reason = diagnose_failed_preemption(
            self._decided_on,
            preemptor,
            self._settings,
            axes=self._state.axes,
            now_ms=self._now_ms,
            preemption_delay=self._outcome.preemption_delay(pending),
        )
        return (FailedClaim(action=PREEMPTION, reason=reason),)

    def _beyond_quota(self, pending: PendingWorkload, lacking: Reason) -> Reason:
        """Return by how much it would borrow, for which its queue may not preempt others."""
        tree, queue = self._decided_on.tree, pending.queue
        compared = []
        for each in lacking.comparisons if lacking.code in _ABOUT_QUOTA else ():
            number = self._state.axes.axes.index(each.axis) if each.axis else None
            if number is None:
                continue
            beyond = Comparison(
                queue=queue,
                axis=each.axis,
                left=(Term("allocated", tree.charged_on(queue, number)), *each.left),
                relation=">",
                right=Term("quota", tree.subtree_on(queue, number)),
            )
            compared += [beyond] if beyond.holds() else []
        return Reason(code=BORROWING_FORBIDDEN, queue=queue, comparisons=tuple(compared))
