"""Where the rounds of one cohort tree read their data, and where they put what they decide.

In Kueue a preemptor has no claim on what its victims free: another head may be faster, and then it
preempts again. In our own mode it has one. All decisions are made on the tree as it will be:
evicted workloads are gone, and the workloads that wait for them have their quota. The tree as it is
says only which workloads need not wait.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.model.plan import Evict
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.cycle.cycle import KueueCycle, Turn
from fairlead.policy.kueue.cycle.tree import CohortTree, WorkloadReader
from fairlead.policy.kueue.flavors.assignment import AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.pending.admissibility import drained
from fairlead.policy.kueue.pending.queue import PendingQueue
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.build import trees_of
from fairlead.policy.kueue.snapshot.size import WorkloadSizes
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload, Usage

NOT_YET: Final = 1 << 62
"""Since when a promised workload counts as admitted: later than all admitted ones."""


def promised_workload(turn: Turn, sizes: WorkloadSizes) -> AdmittedWorkload:
    """Return the workload of *turn* as if it had what it reserves, as the last one admitted.

    So a preemptor that would need it as a victim is noticed, and takes no other workload instead.
    """
    pending = turn.nomination.pending
    return AdmittedWorkload(
        name=pending.name,
        queue=pending.queue,
        priority=pending.priority,
        usage=turn.reserved,
        queued_ms=pending.queued_ms,
        reserved_ms=NOT_YET,
        size=sizes.of(pending.queue, turn.reserved),
    )


class Nominations(Protocol):
    """Says what the heads of one tree need, as the tree is when asked."""

    def nominate(self, head: PendingWorkload) -> Nomination:
        """Return what *head* needs to be admitted."""

    def promised(self, tree: CohortTree) -> list[Turn]:
        """Return the turns of heads that keep their promises, which count as used from now on."""

    def may_proceed(self, queue: PendingQueue) -> bool:
        """Return whether a workload of *queue* may proceed; if none does, all are set aside."""

    def is_at_rest(self, tree: CohortTree) -> bool:
        """Return whether it is known that no workload of *tree* can proceed, or has a promise."""


class PlainNominations:
    """Finds out what each head needs whenever it is asked."""

    def __init__(
        self, present: Snapshot, decided_on: Snapshot, axes: QuotaAxes, settings: KueueSettings
    ) -> None:
        """Look at no head yet; the snapshots are of one tree, maybe the same."""
        self._rules = decided_on.rules
        self._keeps_promises = settings.keeps_promises
        self._decided_on = decided_on
        self._now = Nominator(present, axes, settings)
        self._later = Nominator(decided_on, axes, settings)

    def nominate(self, head: PendingWorkload) -> Nomination:
        """Return what *head* needs; if it fits at once, maybe with other flavors or fewer pods."""
        if self._keeps_promises and self.has_choice(head):
            found = self._now.nominate(head)
            assignment = found.assignment if found.mode() is AssignmentMode.FIT else None
            if assignment is not None and self._decided_on.fits(head.queue, assignment.usage):
                return found
        return self._later.nominate(head)

    def may_proceed(self, queue: PendingQueue) -> bool:
        """Return True: nothing is known of any workload yet."""
        del queue
        return True

    def is_at_rest(self, tree: CohortTree) -> bool:
        """Return False: nothing is known of any workload yet."""
        del tree
        return False

    def has_choice(self, head: PendingWorkload) -> bool:
        """Return whether *head* may take different flavors, or fewer pods."""
        groups = self._rules[head.queue].resource_groups
        return head.may_shrink() or any(len(group.flavors) > 1 for group in groups)

    def promised(self, tree: CohortTree) -> list[Turn]:
        """Return the turns of heads that keep their promises, which count as used from now on.

        Promises of earlier queues are kept first; a workload whose promise does not fit any more
        loses it.
        """
        turns = []
        for queue in tree.preempting_queues():
            head = queue.head()
            assert head is not None, "it waits for evicted workloads"
            kept = self._kept(head, tree.promises.get(head.name))
            if kept is None:
                queue.preempting = None
                tree.promises.pop(head.name, None)
                continue
            turns.append(kept)
            tree.decided_on.admit(promised_workload(kept, tree.sizes))
        return turns

    def _kept(self, head: PendingWorkload, promise: Promise | None) -> Turn | None:
        """Return the turn of *head* with what it was promised, if that fits; None: it is void.

        A promise of unknown terms, because it was read from objects, is made anew.
        """
        later = self._later
        kept = later.nominate(head) if promise is None else later.as_promised(head, promise)
        if kept.mode() is not AssignmentMode.FIT or kept.assignment is None:
            return None
        return Turn(kept, "preempting", kept.assignment.usage)


class Source:
    """One tree, while its rounds decide."""

    def __init__(
        self,
        tree: CohortTree,
        nominations: Nominations,
        restraints: PreemptionRestraints,
        axes: QuotaAxes,
        settings: KueueSettings,
    ) -> None:
        """Begin with *tree*, which follows what is decided."""
        self.snapshot = tree.snapshot
        self.decided_on = tree.decided_on
        self.present = tree.snapshot.tree
        self.queues = tree.queues
        self.promises = tree.promises
        self.sizes = tree.sizes
        self._tree = tree
        self._nominations = nominations
        self._restraints = restraints
        self._axes = axes
        self._settings = settings
        self._nominated: dict[WorkloadName, Nomination] = {}  # as they would be now
        self._goes_on = True
        self._evicted: dict[WorkloadName, AdmittedWorkload] | None = None  # None: not asked yet

    def evicted(self) -> Mapping[WorkloadName, AdmittedWorkload]:
        """Return the workloads that were told to leave, in this plan or before, and are there."""
        if self._evicted is None:
            self._evicted = {evicted.name: evicted for evicted in self.snapshot.evicted()}
        return self._evicted

    def admit(self, admitted: AdmittedWorkload) -> None:
        """Let a pending workload have quota."""
        if self.decided_on is not self.snapshot:
            self.decided_on.admit(admitted)
        self.queues[admitted.queue].admit(admitted.name)
        self.snapshot.admit(admitted)
        if self.snapshot.local_usage is not None:
            self.snapshot.local_usage.admit(admitted.name, admitted.usage)

    def evict(self, admitted: AdmittedWorkload) -> None:
        """Tell an admitted workload to leave; it uses quota until it has left."""
        if self._evicted is not None:
            self._evicted[admitted.name] = admitted
        self.snapshot.mark_evicted(admitted)
        if self.decided_on is not self.snapshot:
            self.decided_on.remove(admitted)

    def hold_head(self, turn: Turn) -> None:
        """Let a workload that waits for evicted ones stay the head, with what it was promised."""
        pending = turn.nomination.pending
        self.queues[pending.queue].preempting = pending.name
        if self.decided_on is not self.snapshot:
            self.decided_on.admit(promised_workload(turn, self.sizes))

    def mark_inadmissible(self, pending: PendingWorkload) -> None:
        """Set a head aside; with BestEffortFIFO also those that ask for the same."""
        self.queues[pending.queue].mark_inadmissible(pending.name)

    # cycle after cycle, as Kueue does

    def next_cycle(self) -> list[Turn] | None:
        """Return the turns of all heads; None after a cycle that changed nothing.

        Only heads that are new are nominated, unless something changed.
        """
        if not self._goes_on:
            return None
        waited_for = self._tree.waited_for.values()
        heads = [head for queue in waited_for if (head := queue.head()) is not None]
        preempting = {queue.preempting for queue in waited_for if queue.preempting}
        for head in heads:
            if head.name not in self._nominated:
                self._nominated[head.name] = self._nominate(head)
        nominations = [self._nominated[head.name] for head in heads]
        cycle = KueueCycle(self.snapshot.copy(), self._axes, self._settings)
        return list(cycle.turns(nominations, preempting))

    def end_cycle(
        self,
        turns: Sequence[Turn],
        last: Mapping[WorkloadName, Turn],
        *,
        has_changed: bool,
        other_promises: bool,
    ) -> None:
        """Find out whether a cycle after one of these *turns* may change something.

        *last* are the turns of workloads that had one and wait. *has_changed*: a workload was
        admitted or evicted. *other_promises*: promises are others.
        """
        is_retried = self._goes_on = False
        for turn in turns:
            pending = turn.nomination.pending
            head = self.queues[pending.queue].head()
            self._goes_on |= head is not None and head.name not in last
            if turn.outcome == "nocandidates" and (head is None or head.name != pending.name):
                has_changed = True  # others can have what was reserved for it
            is_retried |= turn.outcome not in ("admitted", "preempting") and head is not None
        if has_changed or other_promises:
            # Those that wait for evicted workloads have chosen for good.
            self._nominated = {
                name: turn.nomination for name, turn in last.items() if turn.outcome == "preempting"
            }
        self._goes_on |= has_changed and is_retried

    # one turn after the other, with promises kept

    def promised(self) -> list[Turn]:
        """Return the turns of heads that keep a promise, which counts as used; others lose it."""
        return self._nominations.promised(self._tree)

    def open_queues(self) -> list[QueueName]:
        """Return the queues without a promise in which a workload may proceed."""
        opened = []
        for name, queue in self._tree.waited_for.items():
            if queue.preempting is None and self._nominations.may_proceed(queue):
                opened.append(name)
                if queue.is_set_aside:
                    queue.restart(None)
        return opened

    def nominate_next(self, queue: QueueName) -> Nomination | None:
        """Return the head of *queue*, nominated; None if every workload was looked at."""
        head = self.queues[queue].head()
        return None if head is None else self._nominate(head)

    def renominate(self, nomination: Nomination) -> Nomination:
        """Return what a head that was nominated needs now."""
        return self._nominate(nomination.pending)

    def _nominate(self, head: PendingWorkload) -> Nomination:
        return self._nominations.nominate(self._restraints.followed(head))

    def is_blocked_by_head(self, queue: QueueName) -> bool:
        """Return whether no workload passes a head of *queue* that cannot be admitted."""
        return self.queues[queue].is_strict_fifo

    def fits_now(self, queue: QueueName, usage: Usage) -> bool:
        """Return whether *usage* is available before any other workload has left."""
        return self.snapshot.fits(queue, usage)

    def release(self, turn: Turn) -> None:
        """Stop counting a promise, because it is used from now on."""
        self.decided_on.remove(promised_workload(turn, self.sizes))

    def restrained(self, pending: PendingWorkload) -> PendingWorkload:
        """Return *pending* with the workloads that it must not preempt now."""
        return replace(pending, restraint=self._restraints.of(pending))


class Trees(Protocol):
    """The trees of one state, at the moment of a plan."""

    reader: WorkloadReader

    def drained(self) -> list[Evict]:
        """Return the workloads that have to leave without being preempted."""

    def waited_for(self) -> Iterator[tuple[CohortTree, Nominations]]:
        """Yield each tree with pending workloads, by the name of its root."""

    def is_delayed(self) -> bool:
        """Return whether time alone may change something in the trees that a plan looked at."""

    def valid_until_ms(self) -> int | None:
        """Return when time alone may change something, if that is known."""


class PlainTrees:
    """Trees that are read anew for one plan."""

    def __init__(self, state: ClusterState, settings: KueueSettings, now_ms: int) -> None:
        """Read nothing yet."""
        self.reader = WorkloadReader(state, settings, now_ms)
        self._state = state
        self._settings = settings
        self._trees: list[CohortTree] = []

    def drained(self) -> list[Evict]:
        """Return the workloads that have to leave. Cost: a look at each admitted one."""
        return drained(self._state, self._state.runs)

    def waited_for(self) -> Iterator[tuple[CohortTree, Nominations]]:
        """Yield each tree with pending workloads. Cost: a look at each workload of it."""
        waited_for = set(self._state.waited_for())
        for names in trees_of(self._state):
            if not waited_for.isdisjoint(names):
                tree = CohortTree(self._state, names, self.reader, self._settings)
                self._trees.append(tree)
                axes, settings = self._state.axes, self._settings
                yield tree, PlainNominations(tree.snapshot, tree.decided_on, axes, settings)

    def is_delayed(self) -> bool:
        """Return whether time alone may change something in the trees that a plan looked at."""
        return any(tree.until_ms for tree in self._trees)

    def valid_until_ms(self) -> int | None:
        """Return None: what is read anew keeps no times."""
        return None
