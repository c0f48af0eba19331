"""Nominates workloads of queues in which every resource has one flavor, with one search at most.

Which flavors such a workload takes, and how much of them, does not depend on what others use. So it
is found out once for all with the same scheduling hash; and where there is no choice, no search is
needed for one resource alone. The height in the tree from which quota is borrowed is left out: with
fair sharing, and where all queues may reclaim, nothing depends on it.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes
from fairlead.model.memory import Promise
from fairlead.policy.kueue.flavors.assignment import Assignment, AssignmentMode, FlavorAssigner
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.preemption.fair import fair_targets, search_fairly
from fairlead.policy.kueue.preemption.targets import FailedSearch, Target
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import PendingWorkload, Preemptor

_MOST_KNOWN = 10_000  # scheduling hashes that are remembered at once


class IncrementalNomination(Struct, frozen=True, gc=False):
    """A nomination, and how the search for victims failed if it did."""

    nomination: Nomination
    failed: FailedSearch | None = None


class _FixedPart(NamedTuple):
    """The part of a nomination that does not depend on what others use."""

    may_shrink: bool
    counts: tuple[int, ...]
    assignment: Assignment | None  # as if it fit; None: it never does


class IncrementalNominator:
    """Nominates on one snapshot, as it is when asked, from plan to plan."""

    def __init__(self, snapshot: Snapshot, axes: QuotaAxes, settings: KueueSettings) -> None:
        """Know no workload yet."""
        self._snapshot = snapshot
        self._axes = axes
        self._settings = settings
        self._full = Nominator(snapshot, axes, settings)
        self._assigner = FlavorAssigner(snapshot, axes, _no_targets, fair_sharing=True)
        self._known: dict[tuple[QueueName, Hashable], _FixedPart] = {}

    def nominate(self, head: PendingWorkload, scheduling_hash: Hashable) -> IncrementalNomination:
        """Return what *head* needs, which has *scheduling_hash*.

        Law: but for the height from which it borrows, the nomination is that of `Nominator`.
        """
        may_shrink, counts, assignment = self._fixed_part(head, scheduling_hash)
        if may_shrink:
            return IncrementalNomination(self._full.nominate(head))
        if assignment is None:
            return IncrementalNomination(Nomination(head, counts, None))
        lacking = self._snapshot.lacking(head.queue, assignment.usage)
        if not lacking:
            return IncrementalNomination(Nomination(head, counts, assignment))
        assignment = replace(assignment, mode=AssignmentMode.NO_CANDIDATES, need=lacking)
        preemptor = head.preemptor(assignment.usage, lacking)
        targets, failed = search_fairly(self._snapshot, preemptor, self._settings)
        return IncrementalNomination(Nomination(head, counts, assignment, tuple(targets)), failed)

    def _fixed_part(self, head: PendingWorkload, scheduling_hash: Hashable) -> _FixedPart:
        """Return what all workloads with one scheduling hash have in common."""
        key = (head.queue, scheduling_hash)
        facts = self._known.get(key)
        if facts is None:
            found = self._assigner.assign(head)
            if found is not None:
                found = replace(found, mode=AssignmentMode.FIT, need=frozenset(), borrow=0)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            facts = self._known[key] = _FixedPart(head.may_shrink(), head.counts(), found)
        return facts

    def as_promised(
        self, head: PendingWorkload, scheduling_hash: Hashable, promise: Promise | None
    ) -> Nomination | None:
        """Return *head* as if what it was promised were available; None: it never is.

        Law: if it is, that is what `kept_promise` finds. No workload may have fewer pods.
        """
        _, counts, assignment = self._fixed_part(head, scheduling_hash)
        if assignment is None:
            return None
        if promise is not None:
            is_same = promise.counts == counts and len(promise.flavors) == len(counts)
            pairs = zip(assignment.flavors, promise.flavors, strict=False)
            if not is_same or not all(own.items() <= given.items() for own, given in pairs):
                return None  # its pods are others by now
        return Nomination(head, counts, assignment)

    def renominate(self, snapshot: Snapshot, nominated: Nomination) -> Nomination:
        """Return what a head needs in *snapshot*, a later one of the same tree.

        Law: but for the height from which it borrows, that is what `Nominator` finds there.
        """
        head, assignment = nominated.pending, nominated.assignment
        assert assignment is not None, "a preemptor has flavors"
        if head.may_shrink():
            again = Nominator(snapshot, self._axes, self._settings)
            return again.nominate(head, assignment.flavors)
        lacking = snapshot.lacking(head.queue, assignment.usage)
        mode = AssignmentMode.NO_CANDIDATES if lacking else AssignmentMode.FIT
        assignment = replace(assignment, mode=mode, need=lacking)
        targets: Sequence[Target] = ()
        if lacking:
            preemptor = head.preemptor(assignment.usage, lacking)
            targets = fair_targets(snapshot, preemptor, self._settings)
        return Nomination(head, nominated.counts, assignment, tuple(targets))


def _no_targets(_: Preemptor) -> list[Target]:
    """Find no victims: where there is one flavor to take, it is taken in any case."""
    return []
