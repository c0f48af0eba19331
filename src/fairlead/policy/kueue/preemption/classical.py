"""Finds the workloads that give way to a preemptor when fair sharing is off.

Candidates below the nearest cohorts and those further away are taken together, by priority and age
alone. Where the preemptor's queue, or a cohort that contains it, has quota for the request, the
rest of the tree must give back what it borrows (a *hierarchical* reclaim); elsewhere priority must
justify it, and the preemptor may have to stay within its nominal quota. The preemptor is not
charged.
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


class _Ground(IntEnum):
    """On what ground a workload is a candidate, in the order of choosing."""

    HIERARCHICAL = 0
    PRIORITY = 1
    SAME_QUEUE = 2


class _Candidate(NamedTuple):
    workload: AdmittedWorkload
    ground: _Ground
    cohort_of_both: QueueName  # or the queue of both

    def key(self) -> tuple[bool, _Ground, int, float, int, str]:
        """Return what orders candidates: evicted already, the ground, priority, size, age."""
        is_staying, priority, size, newest, name = self.workload.key()
        return is_staying, self.ground, priority, size, newest, name


class _QueueCandidates(NamedTuple):
    """The candidates of one queue, in the order of eviction."""

    workloads: list[AdmittedWorkload]
    ground: _Ground
    cohort_of_both: QueueName

    def in_order(self) -> Iterator[_Candidate]:
        return (
            _Candidate(admitted, self.ground, self.cohort_of_both) for admitted in self.workloads
        )


def classical_targets(snapshot: Snapshot, preemptor: Preemptor) -> list[Target]:
    """Return which workloads give way so that *preemptor* fits; none if it cannot fit.

    In the order of choosing. No target can stay if those chosen after it go or stay as they do.
    *snapshot* is left as it was. Cost: the workloads of all borrowing queues, and O(log queues) for
    each candidate looked at.
    """
    search = _ClassicalSearch(snapshot, preemptor)
    for borrow in search.attempts():
        targets = search.attempt(borrow=borrow)
        if targets:
            return targets
    return []


def classical_capacity(snapshot: Snapshot, preemptor: Preemptor) -> dict[int, int]:
    """Return what would be available on each axis if all candidates gave way.

    As long as their side borrows, and no longer than until *preemptor* fits; whether it may borrow
    does not count. *snapshot* is left as it was. Cost: as for the targets.
    """
    return _ClassicalSearch(snapshot, preemptor).capacity_at_most()


class _ClassicalSearch:
    def __init__(self, snapshot: Snapshot, preemptor: Preemptor) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._preemptor = preemptor
        self._borrowing = snapshot.rules[preemptor.queue].preemption.borrow_within_cohort
        self._borrowing_forbidden = self._borrowing.policy == "Never"
        self._within_nominal = self.is_within_quota()
        candidate_filter = cohort_filter(snapshot, preemptor, within_nominal=self._within_nominal)
        self._candidates_of = Candidates(snapshot, preemptor, candidate_filter)
        # All candidates are found before a workload is taken.
        candidates = [*self._others(), self._own()]
        self._candidates = [each for each in candidates if each.workloads]

    def is_within_quota(self) -> bool:
        """Return whether the preemptor's queue has quota for it, on all axes that it requests."""
        tree, queue = self._tree, self._preemptor.queue
        return all(
            tree.charged_on(queue, axis) + amount <= tree.subtree_on(queue, axis)
            for axis, amount in self._preemptor.usage
        )

    def attempts(self) -> tuple[bool, ...]:
        """Return whether the preemptor borrows, for each attempt in turn."""
        tree, preemptor = self._tree, self._preemptor
        grounds = {each.ground for each in self._candidates}
        is_under_quota = all(
            tree.charged_on(preemptor.queue, axis) < tree.subtree_on(preemptor.queue, axis)
            for axis in preemptor.need
        )
        if grounds <= {_Ground.SAME_QUEUE} or (self._borrowing_forbidden and not is_under_quota):
            return (True,)
        if self._borrowing_forbidden and _Ground.HIERARCHICAL not in grounds:
            return (False, True)
        return (True, False)

    def attempt(self, *, borrow: bool) -> list[Target]:
        """Take candidates until the preemptor fits; put all back; return those that must go."""
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
        """Take all candidates in turn, whatever the preemptor may borrow, and put them back."""
        snapshot, queue = self._snapshot, self._preemptor.queue
        taken: list[AdmittedWorkload] = []
        for candidate in merge(*(each.in_order() for each in self._candidates), key=_Candidate.key):
            if self._fits(borrow=True):
                break
            if self._still_borrows(candidate):
                taken.append(candidate.workload)
                snapshot.discharge(candidate.workload.queue, candidate.workload.usage)
        capacity = {axis: self._tree.available_on(queue, axis) for axis, _ in self._preemptor.usage}
        for admitted in taken:
            snapshot.charge(admitted.queue, admitted.usage)
        return capacity

    def _in_order(self, borrow: bool) -> Iterator[_Candidate]:
        """Return the candidates of an attempt, without queues of which none could be taken.

        None is left where the preemptor must not borrow and would do so even without all candidates
        of its own queue.
        """
        candidates = self._candidates
        if borrow and self._borrowing_forbidden:
            candidates = [each for each in candidates if each.ground is not _Ground.PRIORITY]
        if not borrow and not self._may_come_within_quota():
            candidates = []
        return merge(*(each.in_order() for each in candidates), key=_Candidate.key)

    def _may_come_within_quota(self) -> bool:
        tree, queue = self._tree, self._preemptor.queue
        gain: Counter[int] = Counter()
        for admitted in self._candidates_of.of(queue):
            gain.update(dict(admitted.usage))
        return all(
            tree.charged_on(queue, axis) - gain[axis] + amount <= tree.subtree_on(queue, axis)
            for axis, amount in self._preemptor.usage
        )

    def _fits(self, borrow: bool) -> bool:
        tree, queue = self._tree, self._preemptor.queue
        has_room = all(
            amount <= tree.available_on(queue, axis) for axis, amount in self._preemptor.usage
        )
        return has_room and (borrow or self.is_within_quota())

    def _is_valid(self, candidate: _Candidate, borrow: bool) -> bool:
        if (
            borrow
            and candidate.ground is _Ground.PRIORITY
            and not self._outranks(candidate.workload)
        ):
            return False
        return self._still_borrows(candidate)

    def _still_borrows(self, candidate: _Candidate) -> bool:
        """Return whether the candidate's side still borrows, up to the cohort of both."""
        if candidate.ground is _Ground.SAME_QUEUE:
            return True
        parents = self._snapshot.parents
        name: QueueName | None = candidate.workload.queue
        while name is not None and name != candidate.cohort_of_both:
            if not self._tree.borrows_any(name, self._preemptor.need):
                return False
            name = parents[name]
        return True

    def _target(self, candidate: _Candidate) -> Target:
        reason = self._reason(candidate)
        by_own_quota = self._within_nominal and reason != "InClusterQueue"
        return Target(workload=candidate.workload, reason=reason, by_own_quota=by_own_quota)

    def _reason(self, candidate: _Candidate) -> TargetReason:
        if candidate.ground is _Ground.SAME_QUEUE:
            return "InClusterQueue"
        if candidate.ground is _Ground.PRIORITY and self._outranks(candidate.workload):
            return "InCohortReclaimWhileBorrowing"
        return "InCohortReclamation"

    def _outranks(self, admitted: AdmittedWorkload) -> bool:
        """Return whether the preemptor may borrow at the expense of *admitted*."""
        return outranks(self._borrowing, self._preemptor, admitted)

    def _own(self) -> _QueueCandidates:
        queue = self._preemptor.queue
        return _QueueCandidates(self._candidates_of.of(queue), _Ground.SAME_QUEUE, queue)

    def _others(self) -> Iterator[_QueueCandidates]:
        """Climb from the preemptor's queue, with new queues below each cohort."""
        tree = self._tree
        path = self._snapshot.path(self._preemptor.queue)
        has_quota = False
        rest = dict(self._preemptor.usage)  # what the nodes passed did not retain for it
        for below, cohort in pairwise(path):
            has_quota = has_quota or all(
                tree.charged_on(below, axis) + amount <= tree.subtree_on(below, axis)
                for axis, amount in rest.items()
            )
            retained = tree.retained(below)
            for axis, amount in rest.items():
                unused = max(0, retained[axis] - tree.charged_on(below, axis))
                rest[axis] = max(0, amount - unused)
            ground = _Ground.HIERARCHICAL if has_quota else _Ground.PRIORITY
            for queue in self._borrowing_queues(cohort, below):
                yield _QueueCandidates(self._candidates_of.of(queue), ground, cohort)

    def _borrowing_queues(self, cohort: QueueName, done: QueueName) -> Iterator[QueueName]:
        """Yield the queues below *cohort* that borrow what is needed, as all between do."""
        snapshot, need = self._snapshot, self._preemptor.need
        open_cohorts = [cohort]
        while open_cohorts:
            for child in snapshot.children[open_cohorts.pop()]:
                if child == done or not self._tree.borrows_any(child, need):
                    continue
                if child in snapshot.rules:
                    yield child
                elif child in snapshot.children:
                    open_cohorts.append(child)
