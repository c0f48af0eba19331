"""What a pending workload would need to be admitted, looked at on its own, before its turn."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from fairlead.model.axes import QuotaAxes
from fairlead.model.memory import Promise
from fairlead.policy.kueue.flavors.assignment import (
    Assignment,
    AssignmentMode,
    FlavorAssigner,
    FlavorTrial,
)
from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.preemption.fair import SearchResult, search_fairly
from fairlead.policy.kueue.preemption.targets import FailedSearch, Target
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Demand, PendingWorkload, Preemptor

Counts: TypeAlias = tuple[int, ...]
"""How many pods of each set."""

Found = TypeVar("Found")


def admit_partially(
    demands: Sequence[Demand], attempt: Callable[[Counts], Found | None]
) -> Found | None:
    """Return what *attempt* found with the largest counts; None if it never found anything.

    Each pod set says how many of its pods it could do without. All sets are cut at once, each in
    proportion to that, and the smallest cut that helps is taken. Halves the range of cuts, as if
    more pods never did better than fewer. Where they do, because there are victims for a large
    demand and not for a small one, it may miss a smaller cut, as Kueue does. Cost: log2 of the pods
    that could be done without, in attempts.
    """
    spare = [demand.count - demand.fewest_pods() for demand in demands]
    found: dict[int, Found | None] = {}

    def helps(cut: int) -> bool:
        counts = tuple(
            demand.count - own * cut // sum(spare)
            for demand, own in zip(demands, spare, strict=True)
        )
        found[cut] = attempt(counts)
        return found[cut] is not None

    if not any(spare):
        return None
    # A cut of 0 is known not to help, but with it the same cuts are tried as in Kueue.
    return found.get(bisect_left(range(sum(spare) + 1), True, key=helps))


class Nomination(msgspec.Struct, frozen=True, gc=False):
    """A workload with its flavors and victims; without flavors it cannot be admitted.

    ``pending`` is the workload in full. With fewer pods than that it is admitted in part, and its
    flavors, usage and targets are those of as many pods as ``counts`` says of each set.
    """

    pending: PendingWorkload
    counts: tuple[int, ...]
    assignment: Assignment | None
    targets: tuple[Target, ...] = ()
    failed: FailedSearch | None = None  # if a fair search for targets found too few

    def can_proceed(self) -> bool:
        """Return whether it fits, or would once its targets have left."""
        return bool(self.targets) or self.mode() is AssignmentMode.FIT

    def mode(self) -> AssignmentMode:
        """Return how it could be met: not at all, by preemption, or right away."""
        if self.assignment is None:
            return AssignmentMode.NO_FIT
        return (
            AssignmentMode.FIT
            if self.assignment.mode is AssignmentMode.FIT
            else AssignmentMode.PREEMPT
        )


class Nominator:
    """Nominates on one snapshot, as it is when asked."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        settings: KueueSettings,
        *,
        unchanged: bool = False,
    ) -> None:
        """Search for victims in *snapshot*, with fair sharing or without, as *settings* say.

        If *snapshot* stays *unchanged*, what was found for one workload is not searched for again.
        """
        self._snapshot = snapshot
        self._unchanged = unchanged
        self._settings = settings
        self._admits_partially = dict(settings.feature_gates).get("PartialAdmission", True)
        self._found: dict[Preemptor, SearchResult] = {}  # while one workload is looked at
        self._assigner = FlavorAssigner(
            snapshot, axes, self._targets, fair_sharing=settings.fair_sharing
        )

    def nominate(
        self, pending: PendingWorkload, only: Sequence[Mapping[str, str]] | None = None
    ) -> Nomination:
        """Return what a workload needs; *only* are its flavors if they are given.

        If it can proceed neither at once nor by preemption, the same with fewer pods, as far as its
        pod sets allow that; and in full again if that does not help either.
        """

        def with_counts(counts: Counts) -> Nomination | None:
            part = self._with_counts(pending, counts, only)
            return part if part.can_proceed() else None

        whole = self._with_counts(pending, pending.counts(), only)
        if whole.can_proceed() or not self._admits_partially:
            return whole
        return admit_partially(pending.demands, with_counts) or whole

    def with_the_same_flavors(
        self, pending: PendingWorkload, assignment: Assignment | None
    ) -> Nomination:
        """Return what a workload needs now that has no choice but *assignment*.

        Law: but for the height from which it borrows, that is what `nominate` finds. Cost: a search
        at most.
        """
        counts = pending.counts()
        if assignment is None:
            return Nomination(pending, counts, None)
        lacking = self._snapshot.lacking(pending.queue, assignment.usage)
        mode = AssignmentMode.NO_CANDIDATES if lacking else AssignmentMode.FIT
        assignment = replace(assignment, mode=mode, need=lacking)
        if not lacking:
            return Nomination(pending, counts, assignment)
        self._forget()
        targets, failed = self._search(pending.preemptor(assignment.usage, lacking))
        return Nomination(pending, counts, assignment, tuple(targets), failed)

    def as_promised(self, pending: PendingWorkload, promise: Promise) -> Nomination:
        """Return a workload with the flavors and pods of *promise*; without, if it does not fit."""
        flavors, counts = promise.flavors, promise.counts
        is_same = len(flavors) == len(counts) == len(pending.demands) and all(
            demand.requests.keys() <= given.keys() and demand.fewest_pods() <= count <= demand.count
            for demand, given, count in zip(pending.demands, flavors, counts, strict=True)
        )
        if not is_same:  # its pods are others by now
            return Nomination(pending, pending.counts(), None)
        assignment = self._assigner.assign(pending.with_counts(counts), flavors)
        fits = assignment is not None and assignment.mode is AssignmentMode.FIT
        return Nomination(pending, counts, assignment if fits else None)

    def with_fewest_pods(self, pending: PendingWorkload) -> PendingWorkload:
        """Return a workload with as few pods of each set as it may be admitted with."""
        if not self._admits_partially:
            return pending
        return pending.with_counts([demand.fewest_pods() for demand in pending.demands])

    def try_flavors(self, pending: PendingWorkload) -> list[FlavorTrial]:
        """Return how the flavors of a workload are judged, with all its pods."""
        self._forget()
        trials: list[FlavorTrial] = []
        self._assigner.assign(pending, trials=trials)
        return trials

    def _with_counts(
        self, pending: PendingWorkload, counts: Counts, only: Sequence[Mapping[str, str]] | None
    ) -> Nomination:
        self._forget()
        assignment = self._assigner.assign(pending.with_counts(counts), only)
        if assignment is None or assignment.mode is AssignmentMode.FIT:
            return Nomination(pending, counts, assignment)
        preemptor = pending.preemptor(assignment.usage, assignment.need)
        targets, failed = self._search(preemptor)
        return Nomination(pending, counts, assignment, tuple(targets), failed)

    def _forget(self) -> None:
        """Forget what was found on a snapshot that may have changed since."""
        if not self._unchanged:
            self._found.clear()

    def _targets(self, preemptor: Preemptor) -> Sequence[Target]:
        return self._search(preemptor).targets

    def _search(self, preemptor: Preemptor) -> SearchResult:
        """Return the victims; known already if its one resource was tried alone before."""
        found = self._found.get(preemptor)
        if found is None:
            if self._settings.fair_sharing:
                found = search_fairly(self._snapshot, preemptor, self._settings)
            else:
                found = SearchResult(classical_targets(self._snapshot, preemptor), None)
            self._found[preemptor] = found
        return found
