"""What is known of pending workloads, and for how long it holds.

Kueue parks inadmissible workloads until something in their cohort changes. Here too what was found
out about an equivalence class holds as long as nothing changed in its tree. Where fair sharing
decides, and there is no choice of flavors, a change elsewhere in the tree mostly does not matter:

- with as much more available, be it beside the workloads that a search took but that were too few,
  the class would have been admitted: so it matters if enough is available now;
- only a side of the tree whose share reaches that of its own side loses workloads to it: so it
  matters when such a side changes, and when the share of its own side falls to that of another.

Sides are the two children of a cohort through which preemptor and candidate come. When in doubt, a
class is nominated again.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from fairlead.fairness.dominant_share import LEAST_RANK, Rank
from fairlead.model.axes import QueueName, QuotaAxes
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.source import NOT_YET, PlainNominations, promised_workload
from fairlead.policy.kueue.cycle.tree import CohortTree
from fairlead.policy.kueue.flavors.assignment import Assignment, sole_usage
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.snapshot import Change, LoggedSnapshot
from fairlead.policy.kueue.pending.queue import PendingQueue
from fairlead.policy.kueue.preemption.targets import FailedSearch
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload, Usage

_MOST_KNOWN: Final = 10_000  # scheduling hashes of which the flavors are remembered


class _Watch(Protocol):
    """Says whether an inadmissible class is still inadmissible."""

    def outlasts(self, changes: Sequence[Change], *, is_trial: bool) -> bool:
        """Return whether none of *changes* can matter to the class.

        If that is no *trial*, the same changes are not asked about again.
        """


class _Forever:
    """No change of usage matters: it requests more than there will ever be."""

    def outlasts(self, changes: Sequence[Change], *, is_trial: bool) -> bool:
        del changes, is_trial
        return True


class _UntilItFits:
    """The class never preempts, so all that matters is whether it fits."""

    def __init__(self, snapshot: LoggedSnapshot, queue: QueueName, usage: Usage) -> None:
        self._snapshot = snapshot
        self._queue = queue
        self._usage = usage

    def outlasts(self, changes: Sequence[Change], *, is_trial: bool) -> bool:
        del changes, is_trial
        return not self._snapshot.fits(self._queue, self._usage)


class _FairWatch:
    """The class would preempt by fair sharing, and its search found too few victims."""

    def __init__(
        self,
        snapshot: LoggedSnapshot,
        nomination: Nomination,
        failed: FailedSearch,
    ) -> None:
        assignment, pending = nomination.assignment, nomination.pending
        assert assignment is not None, "a preemptor has flavors"
        self._snapshot = snapshot
        self._queue = pending.queue
        self._usage = assignment.usage
        self._need = assignment.need
        self._ranks = list(failed.ranks) if pending.restraint.may_use_fair_sharing else []
        self._took_any = failed.took_any
        within = snapshot.rules[pending.queue].preemption.within_cluster_queue
        # Above this priority no workload of its own queue is a candidate; None: none at all.
        self._most_priority = None if within == "Never" else pending.priority
        if within == "LowerPriority":
            self._most_priority = pending.priority - 1
        axis, lacking = failed.lacking[0]
        self._axis = axis
        self._enough = lacking + snapshot.tree.available_on(pending.queue, axis)
        self._is_linear = all(snapshot.is_linear(pending.queue, axis) for axis, _ in self._usage)

    def outlasts(self, changes: Sequence[Change], *, is_trial: bool) -> bool:
        tree, queue, ranks = self._snapshot.tree, self._queue, self._ranks.copy()
        for change in changes:
            if self._is_concerned(change, ranks):
                return False
        if self._took_any and tree.available_on(queue, self._axis) >= self._enough:
            return False
        if self._lacks_otherwise():
            return False
        if not is_trial:
            self._ranks = ranks
        return True

    def _lacks_otherwise(self) -> bool:
        """Return whether other axes are lacking: which candidates there are depends on them."""
        if not self._is_linear:
            return self._snapshot.lacking(self._queue, self._usage) != self._need
        available, need = self._snapshot.available_at_root(), self._need
        return any((amount > available[axis]) != (axis in need) for axis, amount in self._usage)

    def _is_concerned(self, change: Change, ranks: list[Rank]) -> bool:
        """Return whether a change matters; *ranks* follow how its own sides fall."""
        if change.queue == self._queue:
            return self._is_concerned_by_own(change, ranks)
        if not ranks:
            return False
        own, theirs = _where_paths_meet(self._snapshot, self._queue, change.queue)
        if change.highest[theirs] >= ranks[own]:
            return True
        if own + 1 == len(ranks):
            return False  # below the root: the usage of no side of its own changed
        return self._took_any or (change.after is None and self._has_fallen(own + 1, ranks))

    def _is_concerned_by_own(self, change: Change, ranks: list[Rank]) -> bool:
        """Return whether a change in its own queue matters.

        It does if the workload is a candidate, be it by its priority, or if the class is within its
        nominal quota now.
        """
        own = [each.priority for each in (change.before, change.after) if each is not None]
        most = self._most_priority
        if self._took_any or (most is not None and min(own) <= most):
            return True
        if change.after is not None:
            return False
        is_within_quota = self._snapshot.covers(self._queue, self._usage, self._need)
        return is_within_quota or (bool(ranks) and self._has_fallen(0, ranks))

    def _has_fallen(self, first: int, ranks: list[Rank]) -> bool:
        """Return whether a side from level *first* on has fallen to the share of a sibling."""
        snapshot, usage = self._snapshot, self._usage
        path = snapshot.path(self._queue)
        for level, side in enumerate(path[:-1]):
            prospect = snapshot.tree.prospect(side, usage)
            usage = prospect.noticed
            if level >= first and prospect.rank < ranks[level]:
                ranks[level] = prospect.rank
                if _highest_beside(snapshot, side, path[level + 1]) >= prospect.rank:
                    return True
        return False


def _highest_beside(snapshot: LoggedSnapshot, side: QueueName, cohort: QueueName) -> Rank:
    """Return the highest rank of the siblings of *side*, which are below *cohort*."""
    rank = snapshot.tree.rank
    return max([rank(n) for n in snapshot.children[cohort] if n != side], default=LEAST_RANK)


def _where_paths_meet(
    snapshot: LoggedSnapshot, one: QueueName, other: QueueName
) -> tuple[int, int]:
    """Return the places, on the two paths, of the children of the lowest common cohort."""
    path, upward = snapshot.path(one), snapshot.path(other)
    at = next(at for at, name in enumerate(path) if name in upward)
    return at - 1, upward.index(path[at]) - 1


class _Known:
    """A nomination, and after which changes it was found."""

    __slots__ = ("at", "is_parked", "last", "last_present", "nomination", "watch")

    def __init__(self, nomination: Nomination, watch: _Watch | None, log: list[Change]) -> None:
        self.nomination = nomination
        self.is_parked = not nomination.can_proceed()
        self.watch = watch  # None: any change matters
        self.at = len(log)
        self.last = log[-1]
        self.last_present: Change | None = None  # only if what is used at present matters too


class RememberedNominations(PlainNominations):
    """Nominates heads of a tree that is kept, and remembers what they need from plan to plan."""

    def __init__(
        self,
        present: LoggedSnapshot,
        decided_on: LoggedSnapshot,
        queues: Mapping[QueueName, PendingQueue],
        axes: QuotaAxes,
        settings: KueueSettings,
    ) -> None:
        """Know nothing yet; the *queues*, which are followed, remember what is found out."""
        super().__init__(present, decided_on, axes, settings)
        self._queues = queues
        self._axes = axes
        self._settings = settings
        self._present, self._logged = present, decided_on
        self._flavors: dict[tuple[QueueName, Hashable], Assignment | None] = {}
        self._promised: list[AdmittedWorkload] = []  # that are counted as admitted
        self.begun_at = 0  # how long the log was then; a plan that begins may be taken back

    def promised(self, tree: CohortTree) -> list[Turn]:
        """Return the turns of heads that keep their promises, which count as used from now on."""
        logged, at = self._logged, len(self._logged.log)
        for workload in self._promised:
            logged.remove(workload)
        turns, before = super().promised(tree), self._promised
        self._promised = [promised_workload(turn, tree.sizes) for turn in turns]
        if before == self._promised:
            del logged.log[at:]  # nothing has changed
        self.begun_at = len(logged.log)
        return turns

    def keep_promises(self) -> None:
        """Count what the last plan promised from now on: it was carried out."""
        for change in self._logged.log[self.begun_at :]:
            if change.before is not None and change.before.reserved_ms == NOT_YET:
                self._promised.remove(change.before)
            if change.after is not None and change.after.reserved_ms == NOT_YET:
                self._promised.append(change.after)

    def is_at_rest(self, tree: CohortTree) -> bool:
        """Return whether it is known that no workload of *tree* can proceed, or has a promise."""
        if self._promised or tree.preempting_queues():
            return False
        return all(map(self._is_parked, tree.waited_for.values()))

    def may_proceed(self, queue: PendingQueue) -> bool:
        """Return whether a workload of *queue* may proceed; if none does, all are set aside."""
        if not self._is_parked(queue):
            return True
        queue.set_all_aside()
        return False

    def _is_parked(self, queue: PendingQueue) -> bool:
        """Return whether it is known that no workload of *queue* can proceed, as things stand."""
        if queue.is_strict_fifo:
            return False
        now = self._logged.log[-1], self._present.log[-1]
        if queue.parked_at == now:
            return True
        for _, each in queue.in_order():
            known = each.known
            if not (isinstance(known, _Known) and known.is_parked):
                return False
            if not self._serves(known, each.members[0][1]):
                return False
        queue.parked_at = now
        return True

    def nominate(self, head: PendingWorkload) -> Nomination:
        """Return what *head* needs, unless that is known."""
        eq_class = self._queues[head.queue].class_of(head.name)
        known = eq_class.known
        if isinstance(known, _Known) and self._serves(known, head):
            found = known.nomination
            return found if found.pending is head else replace(found, pending=head)
        has_choice = self.has_choice(head)
        if has_choice or not self._shares_decide(head.queue):
            found = super().nominate(head)
        else:
            found = self._without_choice(head, eq_class.scheduling_hash)
        known = _Known(found, None if has_choice else self._watch(head, found), self._logged.log)
        if has_choice:
            known.last_present = self._present.log[-1]
        eq_class.known = known
        return found

    def _shares_decide(self, queue: QueueName) -> bool:
        """Return whether nothing depends on the height from which a head borrows."""
        may_reclaim = self._rules[queue].preemption.reclaim_within_cohort
        return self._settings.fair_sharing and may_reclaim == "Any"

    def _without_choice(self, head: PendingWorkload, scheduling_hash: Hashable) -> Nomination:
        """Return what a head needs that has one flavor to take, with one search at most.

        Which flavors it takes does not depend on what others use, so they are found once for all
        with the same scheduling hash.
        """
        key = head.queue, scheduling_hash
        if key in self._flavors:
            return self._later.with_the_same_flavors(head, self._flavors[key])
        found = super().nominate(head)
        if len(self._flavors) >= _MOST_KNOWN:
            self._flavors.clear()
        self._flavors[key] = found.assignment
        return found

    def _serves(self, known: _Known, head: PendingWorkload) -> bool:
        """Return whether what is known of its class holds for *head*, as things stand."""
        before = known.nomination.pending
        if before is not head and not self._is_alike(before, head):
            return False
        if known.last_present is not None and self._present.log[-1] is not known.last_present:
            return False
        log, at = self._logged.log, known.at
        if log[-1] is known.last:
            return True
        if known.watch is None or at > len(log) or log[at - 1] is not known.last:
            return False
        is_trial = len(log) > self.begun_at
        if not known.watch.outlasts(log[at:], is_trial=is_trial):
            known.watch = None  # so that it is not asked again
            return False
        if not is_trial:
            known.at, known.last = len(log), log[-1]
        return True

    def _is_alike(self, before: PendingWorkload, head: PendingWorkload) -> bool:
        """Return whether two workloads of one class fare equally."""
        if before.restraint != head.restraint:
            return False
        is_same_age = before.name == head.name and before.queued_ms == head.queued_ms
        return is_same_age or not self._age_counts(head.queue)

    def _age_counts(self, queue: QueueName) -> bool:
        return self._rules[queue].preemption.within_cluster_queue == "LowerOrNewerEqualPriority"

    def _watch(self, head: PendingWorkload, found: Nomination) -> _Watch | None:
        """Return which changes may matter to a head that cannot proceed; None: any."""
        if found.can_proceed():
            return None
        settings, rules = self._settings, self._rules[head.queue]
        preemption = rules.preemption
        may_reclaim = preemption.reclaim_within_cohort != "Never"
        if preemption.reclaim_within_cohort != "Any" and (
            not settings.keeps_promises or rules.queueing_strategy == "StrictFIFO"
        ):
            return None  # how much it reserves depends on more than what it lacks
        if not may_reclaim and preemption.within_cluster_queue == "Never":
            usage = sole_usage(rules.resource_groups, head, self._axes)
            return _Forever() if usage is None else _UntilItFits(self._logged, head.queue, usage)
        if not settings.fair_sharing or settings.options.priority_override:
            return None
        if found.assignment is None:
            return _Forever() if may_reclaim else None
        failed = found.failed
        if failed is None or failed.within_nominal or not failed.lacking:
            return None
        if failed.took_any and not self._logged.is_linear(head.queue, failed.lacking[0][0]):
            return None
        return _FairWatch(self._logged, found, failed)
