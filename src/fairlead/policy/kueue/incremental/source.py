"""The data of one cohort tree that is remembered from plan to plan.

Law: the turns that change anything are those on a `PlainSource` of the same tree. Only workloads
are nominated of which it is not known that they cannot proceed. In a cycle the others count in the
order of turns alone, and not even there if no two workloads compete.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.policy.kueue.cycle.cycle import KueueCycle, Turn, fits_after_preemption
from fairlead.policy.kueue.cycle.source import preempting_nominations
from fairlead.policy.kueue.flavors.assignment import AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.equivalence_classes import EquivalenceClass, QueueProgress
from fairlead.policy.kueue.incremental.tree import TrackedTree
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload, Usage


class IncrementalSource:
    """A tree that follows the changes of a state, for one plan."""

    def __init__(self, tree: TrackedTree, axes: QuotaAxes, settings: KueueSettings) -> None:
        """Begin with *tree*, which follows what is decided; its promises are settled."""
        self.decided_on = tree.snapshot
        self.present = tree.present
        self.promises = tree.promises()
        self._tree = tree
        self._axes = axes
        self._settings = settings
        self._cycle = 0  # which one is next, counted as Kueue would go through them
        self._nominated: dict[WorkloadName, Nomination] = {}  # as they would be now
        self._progress: dict[QueueName, QueueProgress] = {}
        if not tree.keeps_promises:
            self._progress = {name: QueueProgress(each) for name, each in tree.preempting.items()}

    def evicted(self) -> Mapping[WorkloadName, AdmittedWorkload]:
        """Return the workloads that were told to leave, in this plan or before, and are there."""
        return self._tree.evicted

    def admit(self, admitted: AdmittedWorkload) -> None:
        """Let a pending workload have quota."""
        self._tree.admit(admitted)
        progress = self._progress.get(admitted.queue)
        if progress is not None:
            progress.preempting = None
            progress.go_on(self._cycle, is_shorter=True)

    def evict(self, admitted: AdmittedWorkload) -> None:
        """Tell an admitted workload to leave; it uses quota until it has left."""
        self._tree.evict(admitted)

    def hold_head(self, turn: Turn) -> None:
        """Let a workload that waits for evicted ones stay the head, with what it was promised."""
        pending = turn.nomination.pending
        if self._tree.keeps_promises:
            self._tree.promise(pending, self.promises[pending.name])
            return
        progress = self._progress[pending.queue]
        progress.preempting = pending.name
        progress.go_on(self._cycle, is_retried=False)

    def mark_inadmissible(self, pending: PendingWorkload) -> None:
        """Set a head aside with all workloads of its class."""
        progress = self._progress[pending.queue]
        progress.left.remove(self._tree.class_of(pending))
        progress.preempting = None
        progress.go_on(self._cycle)

    # cycle after cycle

    def next_cycle(self) -> list[Turn] | None:
        """Return the turns of the next cycle in which a workload may proceed; None if none may.

        Cost: the classes that are not parked or fit, and a tournament of all heads for each cycle
        in which more than one of them can proceed.
        """
        found = self._find_cycle()
        if found is None:
            return None
        self._cycle, classes = found
        turns = self._turns(classes)
        for turn in turns:
            queue = turn.nomination.pending.queue
            if queue not in self._progress:
                self._progress[queue] = QueueProgress(self._tree.queues[queue])
            self._progress[queue].come_to(self._cycle)
        return turns

    def retry_head(self, pending: PendingWorkload) -> None:
        """Let a head stay that was skipped; it is nominated again if anything changed."""
        self._progress[pending.queue].go_on(self._cycle, is_retried=False, was_skipped=True)

    def end_cycle(
        self,
        turns: Sequence[Turn],
        last: Mapping[WorkloadName, Turn],
        *,
        has_changed: bool,
        other_promises: bool,
    ) -> None:
        """End a cycle; heads that were skipped are tried again if anything changed."""
        if has_changed or self._reserved_quota_is_free(turns):
            self._nominated = preempting_nominations(last)
            for progress in self._progress.values():
                progress.is_retried |= progress.was_skipped
        elif other_promises:
            self._nominated = preempting_nominations(last)
        self._cycle += 1

    def _find_cycle(self) -> tuple[int, list[EquivalenceClass]] | None:
        """Return the next cycle with a workload that may proceed, and the classes of these."""
        classes = self._tree.parked.may_proceed()
        at = [(cycle, each) for each in classes if (cycle := self._cycle_of(each)) is not None]
        at = [each for each in at if each[0] >= self._cycle]
        first = min([cycle for cycle, _ in at], default=None)
        if any(each.preempting and each.is_retried for each in self._progress.values()):
            first = self._cycle
        elif self._any_head_stays() and any(True for _ in self._heads(self._not_retried())):
            first = self._cycle  # a head that stays has a turn in every cycle, among others
        if first is None:
            return None
        return first, [eq_class for cycle, eq_class in at if cycle == first]

    def _cycle_of(self, eq_class: EquivalenceClass) -> int | None:
        progress = self._progress.get(eq_class.queue)
        if progress is None:
            return self._tree.queues[eq_class.queue].order().index(eq_class)
        return progress.cycle_of(eq_class) if progress.is_retried else None

    def _turns(self, classes: Sequence[EquivalenceClass]) -> list[Turn]:
        """Return the turns of the first workloads of *classes*, and of heads that stay."""
        heads = {eq_class.queue: eq_class.first() for eq_class in classes}
        for queue, progress in self._progress.items():
            if progress.preempting is not None:
                heads[queue] = self._tree.pending(progress.preempting)
            elif not progress.is_retried and progress.left:
                heads[queue] = progress.left[0].first()
        able: list[Nomination] = []
        turns: list[Turn] = []
        for each in map(self._nominate, heads.values()):
            if each.can_proceed():
                able.append(each)
            else:
                turns.append(_inadmissible(each))
        if len(able) == 1:
            return [*turns, self._alone(able[0])]
        if not able:
            return turns
        others = [turn.nomination for turn in turns]
        others += [eq_class.inadmissible() for eq_class in self._heads(heads)]
        return [*turns, *self._compete([*able, *self._represent(able, others)], able)]

    def _alone(self, able: Nomination) -> Turn:
        """Return the turn of the only workload that can proceed: none takes anything before it."""
        assert able.assignment is not None, "a workload that can proceed has flavors"
        if able.mode() is AssignmentMode.FIT:
            return Turn(able, "admitted", able.assignment.usage)
        if fits_after_preemption(self.decided_on, able):
            return Turn(able, "preempting", able.assignment.usage)
        return Turn(able, "skipped")  # others were admitted since it chose

    def _represent(
        self, able: Sequence[Nomination], others: Iterable[Nomination]
    ) -> Iterator[Nomination]:
        """Yield those of *others* that may represent a child of the root in place of one *able*.

        A turn of the rest changes nothing, and comes between no two turns of one child.
        """
        tops = self._tree.tops
        concerned = {tops[each.pending.queue] for each in able}
        for each in others:
            top = tops[each.pending.queue]
            if top in concerned and top != each.pending.queue:
                yield each

    def _compete(self, nominations: Sequence[Nomination], able: Sequence[Nomination]) -> list[Turn]:
        """Return the turns of workloads *able* to proceed, among all that have been nominated.

        Once none of those left fits, the rest of the cycle changes nothing. What the turns reserve
        is charged while they last: copying the snapshot would cost more than all that.
        """
        cycle = KueueCycle(
            self.decided_on, self._axes, self._settings, self._tree.nominator.renominate
        )
        left = {each.pending.name: each for each in able}
        all_fit = all(each.mode() is AssignmentMode.FIT for each in able)
        turns = []
        for turn in cycle.turns(nominations):
            if left.pop(turn.nomination.pending.name, None) is None:
                assert not turn.reserved, "where all may reclaim, only able heads reserve quota"
                continue
            turns.append(turn)
            if not left or (
                turn.outcome == "admitted"
                and all_fit
                and not any(map(cycle.still_fits, left.values()))
            ):
                break
        for turn in turns:
            self.decided_on.discharge(turn.nomination.pending.queue, turn.reserved)
        return [*turns, *[Turn(each, "skipped") for each in left.values()]]

    def _nominate(self, head: PendingWorkload) -> Nomination:
        """Nominate a head, unless that was done already and nothing has changed since."""
        found = self._nominated.get(head.name)
        if found is None:
            found = self._nominated[head.name] = self._tree.nominate(head)
        return found

    def _any_head_stays(self) -> bool:
        """Return whether a queue has a head that had its turn and is still the head."""
        return any(each.preempting or each.was_skipped for each in self._progress.values())

    def _not_retried(self) -> set[QueueName]:
        """Return the queues whose heads are not nominated again unless something changes."""
        return {queue for queue, each in self._progress.items() if not each.is_retried}

    def _heads(self, besides: Container[QueueName]) -> Iterator[EquivalenceClass]:
        """Yield the classes of the heads of this cycle, but for the queues *besides*."""
        for queue, classes in self._tree.waited_for.items():
            if queue not in besides:
                progress = self._progress.get(queue)
                head = (classes if progress is None else progress).head_in(self._cycle)
                if head is not None:
                    yield head

    def _reserved_quota_is_free(self, turns: Sequence[Turn]) -> bool:
        """Return whether heads that stay find other heads beside them in the next cycle."""
        if not self._any_head_stays():
            return False
        heads = {turn.nomination.pending.queue for turn in turns}
        return any(turn.outcome == "nocandidates" for turn in turns) or any(
            eq_class.inadmissible().assignment is not None for eq_class in self._heads(heads)
        )

    # one turn after the other

    def promised(self) -> list[Turn]:
        """Return the turns of heads that keep a promise, which counts as used already."""
        return self._tree.promised.in_order()

    def open_queues(self) -> Iterable[QueueName]:
        """Return the queues without a promise in which a workload may proceed."""
        tree = self._tree
        for eq_class in tree.parked.may_proceed():
            queue = eq_class.queue
            if queue not in self._progress and queue not in tree.promised.turns:
                self._progress[queue] = QueueProgress(tree.queues[queue])
        return list(self._progress)

    def nominate_next(self, queue: QueueName) -> Nomination | None:
        """Return the next workload of *queue* that is not parked, or fits; None: none is left."""
        left, tree = self._progress[queue].left, self._tree
        while left:
            if not tree.parked.is_inadmissible(left[0]):
                return tree.nominate(left[0].first())
            del left[0]
        return None

    def renominate(self, nomination: Nomination) -> Nomination:
        """Return what a head needs now: nothing else as long as it fits."""
        assignment, head = nomination.assignment, nomination.pending
        assert assignment is not None, "a workload that competes has flavors"
        if not nomination.targets and self.decided_on.fits(head.queue, assignment.usage):
            return nomination
        return self._tree.nominate(head)

    def is_blocked_by_head(self, queue: QueueName) -> bool:
        """Return False: all queues that are remembered have the strategy BestEffortFIFO."""
        del queue
        return False

    def fits_now(self, queue: QueueName, usage: Usage) -> bool:
        """Return whether *usage* is available before any other workload has left."""
        return not self.present.lacking(queue, usage)

    def release(self, turn: Turn) -> None:
        """Stop counting a promise, because it is used from now on."""
        self._tree.promised.drop(turn.nomination.pending.queue)


def _inadmissible(nomination: Nomination) -> Turn:
    return Turn(nomination, "nofit" if nomination.assignment is None else "nocandidates")
