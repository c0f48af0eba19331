"""Finds who gives way to a claimant when fair sharing is off.

Those below the cohorts nearest to the claimant are asked with those further away, by importance and
age alone. Where the claimant's queue, or a cohort that contains it, has quota for the request, the
rest of the tree must give back what it borrows (a *hierarchical* claim); elsewhere importance must
justify it, and the claimant may have to stay within its own quota. Without the claimant's usage.
"""

from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from heapq import merge
from itertools import pairwise
from typing import NamedTuple

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.preemption.candidates import Candidates, cohort_filter, outranks
from fairlead.policy.kueue.preemption.targets import Target, TargetReason, fill_back
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Preemptor


class _Claim(IntEnum):
    """On what ground somebody is asked, in the order of asking."""

    HIERARCHICAL = 0
    PRIORITY = 1
    SAME_QUEUE = 2


class _Candidate(NamedTuple):
    workload: AdmittedWorkload
    claim: _Claim
    meeting: QueueName  # the lowest node above both, or the queue that both are of

    def key(self) -> tuple[bool, _Claim, int, int, str]:
        """Return what orders candidates: who is leaving already, the ground, importance, age."""
        is_staying, priority, newest, name = self.workload.key()
        return is_staying, self.claim, priority, newest, name


class _Line(NamedTuple):
    """The candidates of one queue, in the order of giving way."""

    workloads: list[AdmittedWorkload]
    claim: _Claim
    meeting: QueueName

    def candidates(self) -> Iterator[_Candidate]:
        return (_Candidate(admitted, self.claim, self.meeting) for admitted in self.workloads)


def classical_targets(snapshot: Snapshot, preemptor: Preemptor) -> list[Target]:
    """Return who gives way so that *claimant* fits, in the order of choosing; nobody if it cannot.

    No target can stay if those chosen after it go or stay as they do. *snapshot* is left as it was.
    Cost: the holders of all borrowing queues, and O(log queues) for each candidate looked at.
    """
    search = _ClassicalSearch(snapshot, preemptor)
    for borrow in search.attempts():
        targets = search.attempt(borrow=borrow)
        if targets:
            return targets
    return []


def classical_capacity(snapshot: Snapshot, preemptor: Preemptor) -> dict[int, int]:
    """Return what would be available on each axis if all who may be asked gave way.

    As long as their side borrows, and no longer than until *claimant* fits; whether it may borrow
    does not count. *snapshot* is left as it was. Cost: as for the targets.
    """
    return _ClassicalSearch(snapshot, preemptor).capacity_at_most()


class _ClassicalSearch:
    def __init__(self, snapshot: Snapshot, preemptor: Preemptor) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._claimant = preemptor
        self._borrowing = snapshot.rules[preemptor.queue].preemption.borrow_within_cohort
        self._is_forbidden = self._borrowing.policy == "Never"
        self._is_owed = self.is_within_quota()
        candidate_filter = cohort_filter(snapshot, preemptor, within_nominal=self._is_owed)
        self._allowed = Candidates(snapshot, preemptor, candidate_filter)
        # All lines are drawn up before anything is taken.
        lines = [*self._others(), self._own()]
        self._lines = [line for line in lines if line.workloads]

    def is_within_quota(self) -> bool:
        """Tell whether the claimant's queue has quota for it, on all axes that it asks for."""
        tree, queue = self._tree, self._claimant.queue
        return all(
            tree.charged_on(queue, axis) + amount <= tree.subtree_on(queue, axis)
            for axis, amount in self._claimant.usage
        )

    def attempts(self) -> tuple[bool, ...]:
        """Return whether the claimant borrows, for each attempt in turn."""
        tree, preemptor = self._tree, self._claimant
        claims = {line.claim for line in self._lines}
        is_under_quota = all(
            tree.charged_on(preemptor.queue, axis) < tree.subtree_on(preemptor.queue, axis)
            for axis in preemptor.need
        )
        if claims <= {_Claim.SAME_QUEUE} or (self._is_forbidden and not is_under_quota):
            return (True,)
        if self._is_forbidden and _Claim.HIERARCHICAL not in claims:
            return (False, True)
        return (True, False)

    def attempt(self, *, borrow: bool) -> list[Target]:
        """Take candidates until the claimant fits; put everybody back; return who must go."""
        snapshot = self._snapshot
        taken: list[_Candidate] = []
        must_go: list[bool] | None = None
        for candidate in self._in_order(borrow):
            if not self._is_valid(candidate, borrow):
                continue
            admitted = candidate.workload
            snapshot.discharge(admitted.queue, admitted.usage)
            taken.append(candidate)
            if self._fits(borrow):
                victims = [each.workload for each in taken]
                must_go = fill_back(snapshot, victims, lambda: self._fits(borrow))
                break
        targets = []
        for candidate, is_away in zip(taken, must_go or [True] * len(taken), strict=True):
            if is_away:
                snapshot.charge(candidate.workload.queue, candidate.workload.usage)
                targets.append(self._target(candidate))
        return targets if must_go else []

    def capacity_at_most(self) -> dict[int, int]:
        """Take all candidates in turn, whatever the claimant may borrow, and put them back."""
        snapshot, queue = self._snapshot, self._claimant.queue
        taken: list[AdmittedWorkload] = []
        for candidate in merge(*(line.candidates() for line in self._lines), key=_Candidate.key):
            if self._fits(borrow=True):
                break
            if self._still_borrows(candidate):
                taken.append(candidate.workload)
                snapshot.discharge(candidate.workload.queue, candidate.workload.usage)
        room = {axis: self._tree.available_on(queue, axis) for axis, _ in self._claimant.usage}
        for admitted in taken:
            snapshot.charge(admitted.queue, admitted.usage)
        return room

    def _in_order(self, borrow: bool) -> Iterator[_Candidate]:
        """Return the candidates of an attempt, without lines of which nobody could be taken.

        Nobody is left where the claimant must not borrow and would do so even without all its
        own candidates.
        """
        lines = self._lines
        if borrow and self._is_forbidden:
            lines = [line for line in lines if line.claim is not _Claim.PRIORITY]
        if not borrow and not self._may_come_within_quota():
            lines = []
        return merge(*(line.candidates() for line in lines), key=_Candidate.key)

    def _may_come_within_quota(self) -> bool:
        tree, queue = self._tree, self._claimant.queue
        gain: Counter[int] = Counter()
        for admitted in self._allowed.of(queue):
            gain.update(dict(admitted.usage))
        return all(
            tree.charged_on(queue, axis) - gain[axis] + amount <= tree.subtree_on(queue, axis)
            for axis, amount in self._claimant.usage
        )

    def _fits(self, borrow: bool) -> bool:
        tree, queue = self._tree, self._claimant.queue
        has_room = all(
            amount <= tree.available_on(queue, axis) for axis, amount in self._claimant.usage
        )
        return has_room and (borrow or self.is_within_quota())

    def _is_valid(self, candidate: _Candidate, borrow: bool) -> bool:
        if borrow and candidate.claim is _Claim.PRIORITY and not self._outranks(candidate.workload):
            return False
        return self._still_borrows(candidate)

    def _still_borrows(self, candidate: _Candidate) -> bool:
        """Tell whether the candidate's side still borrows, up to where it meets the claimant's."""
        if candidate.claim is _Claim.SAME_QUEUE:
            return True
        parents = self._snapshot.parents
        name: QueueName | None = candidate.workload.queue
        while name is not None and name != candidate.meeting:
            if not self._tree.borrows_any(name, self._claimant.need):
                return False
            name = parents[name]
        return True

    def _target(self, candidate: _Candidate) -> Target:
        reason = self._reason(candidate)
        by_own_quota = self._is_owed and reason != "InClusterQueue"
        return Target(workload=candidate.workload, reason=reason, by_own_quota=by_own_quota)

    def _reason(self, candidate: _Candidate) -> TargetReason:
        if candidate.claim is _Claim.SAME_QUEUE:
            return "InClusterQueue"
        if candidate.claim is _Claim.PRIORITY and self._outranks(candidate.workload):
            return "InCohortReclaimWhileBorrowing"
        return "InCohortReclamation"

    def _outranks(self, admitted: AdmittedWorkload) -> bool:
        """Tell whether the claimant may borrow at the expense of *holder*."""
        return outranks(self._borrowing, self._claimant, admitted)

    def _own(self) -> _Line:
        queue = self._claimant.queue
        return _Line(self._allowed.of(queue), _Claim.SAME_QUEUE, queue)

    def _others(self) -> Iterator[_Line]:
        """Climb from the claimant's queue, with those below each cohort that were not seen yet."""
        tree = self._tree
        path = self._snapshot.path(self._claimant.queue)
        has_quota = False
        rest = dict(self._claimant.usage)  # what the nodes passed did not retain for it
        for below, cohort in pairwise(path):
            has_quota = has_quota or all(
                tree.charged_on(below, axis) + amount <= tree.subtree_on(below, axis)
                for axis, amount in rest.items()
            )
            retained = tree.retained(below)
            for axis, amount in rest.items():
                unused = max(0, retained[axis] - tree.charged_on(below, axis))
                rest[axis] = max(0, amount - unused)
            claim = _Claim.HIERARCHICAL if has_quota else _Claim.PRIORITY
            for queue in self._borrowing_queues(cohort, below):
                yield _Line(self._allowed.of(queue), claim, cohort)

    def _borrowing_queues(self, cohort: QueueName, done: QueueName) -> Iterator[QueueName]:
        """Yield the queues below *cohort* that borrow what is needed, as all between do."""
        snapshot, need = self._snapshot, self._claimant.need
        open_cohorts = [cohort]
        while open_cohorts:
            for child in snapshot.children[open_cohorts.pop()]:
                if child == done or not self._tree.borrows_any(child, need):
                    continue
                if child in snapshot.rules:
                    yield child
                elif child in snapshot.children:
                    open_cohorts.append(child)
