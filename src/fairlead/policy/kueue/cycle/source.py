"""Where the rounds of one cohort tree read their data, and where they put what they decide.

The rounds ask a `Source`. The plain one here looks at everything anew for each plan. A policy may
put in another one that remembers what did not change, and decides the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import KueueCycle, Turn
from fairlead.policy.kueue.cycle.promises import kept_promise, promised_workload, without_evicted
from fairlead.policy.kueue.flavors.assignment import AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.pending.queue import PendingQueue
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload, Usage


class Source(Protocol):
    """One cohort tree: its quota, its admitted workloads, and its pending ones."""

    decided_on: Snapshot
    """On which heads are nominated: where promises are kept, evicted workloads are gone from it."""
    present: QuotaTree
    """What is in use now."""
    promises: dict[WorkloadName, Promise]
    """What is promised to which workload; the rounds keep it up to date."""

    def evicted(self) -> Mapping[WorkloadName, AdmittedWorkload]:
        """Return the workloads that were told to leave, in this plan or before, and are there."""

    def admit(self, admitted: AdmittedWorkload) -> None:
        """Let a pending workload have quota."""

    def evict(self, admitted: AdmittedWorkload) -> None:
        """Tell an admitted workload to leave; it uses quota until it has left."""

    def hold_head(self, turn: Turn) -> None:
        """Let a workload that waits for evicted ones stay the head, with what it was promised."""

    def mark_inadmissible(self, pending: PendingWorkload) -> None:
        """Set a head aside that cannot be admitted, and those that ask for the same."""

    # cycle after cycle, as Kueue does

    def next_cycle(self) -> list[Turn] | None:
        """Return the turns of the next cycle, in order; None if no cycle would change anything."""

    def retry_head(self, pending: PendingWorkload) -> None:
        """Let a head stay that was skipped in this cycle."""

    def end_cycle(
        self,
        turns: Sequence[Turn],
        last: Mapping[WorkloadName, Turn],
        *,
        has_changed: bool,
        other_promises: bool,
    ) -> None:
        """End a cycle of these *turns*; *last* are those of workloads that had one and wait.

        *has_changed*: a workload was admitted or evicted. *other_promises*: promises are others.
        """

    # one turn after the other, with promises kept

    def promised(self) -> list[Turn]:
        """Return the turns of heads that keep a promise, which counts as used; others lose it."""

    def open_queues(self) -> Iterable[QueueName]:
        """Return the queues without a promise in which a workload may be admitted."""

    def nominate_next(self, queue: QueueName) -> Nomination | None:
        """Return the next workload of *queue* that may proceed, None if none is left."""

    def renominate(self, nomination: Nomination) -> Nomination:
        """Return what a head that was nominated needs now."""

    def is_blocked_by_head(self, queue: QueueName) -> bool:
        """Return whether no workload passes a head of *queue* that cannot be admitted."""

    def fits_now(self, queue: QueueName, usage: Usage) -> bool:
        """Return whether *usage* is available before any other workload has left."""

    def release(self, turn: Turn) -> None:
        """Stop counting a promise, because it is used from now on."""


class PlainSource:
    """A tree of which all admitted and all pending workloads are read for one plan."""

    def __init__(
        self,
        snapshot: Snapshot,
        queues: Mapping[QueueName, PendingQueue],
        promises: Mapping[WorkloadName, Promise],
        restraints: PreemptionRestraints,
        axes: QuotaAxes,
        settings: KueueSettings,
    ) -> None:
        """Begin with *snapshot*, which follows what is decided, and its pending *queues*.

        *promises* are what earlier plans promised to workloads that preempt.
        """
        self.snapshot = snapshot
        self.queues = queues
        self.decided_on = without_evicted(snapshot) if settings.keeps_promises else snapshot
        self.present = snapshot.tree
        self.promises = dict(promises)
        self._restraints = restraints
        self._axes = axes
        self._settings = settings
        self._now = Nominator(snapshot, axes, settings)
        self._later = Nominator(self.decided_on, axes, settings)
        self._nominated: dict[WorkloadName, Nomination] = {}  # as they would be now
        self._goes_on = True

    def evicted(self) -> Mapping[WorkloadName, AdmittedWorkload]:
        """Return the workloads that were told to leave, in this plan or before, and are there."""
        return {evicted.name: evicted for evicted in self.snapshot.evicted()}

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
        self.snapshot.mark_evicted(admitted)
        if self.decided_on is not self.snapshot:
            self.decided_on.remove(admitted)

    def hold_head(self, turn: Turn) -> None:
        """Let a workload that waits for evicted ones stay the head, with what it was promised."""
        pending = turn.nomination.pending
        self.queues[pending.queue].preempting = pending.name
        if self.decided_on is not self.snapshot:
            self.decided_on.admit(promised_workload(turn))

    def mark_inadmissible(self, pending: PendingWorkload) -> None:
        """Set a head aside; with BestEffortFIFO also those that ask for the same."""
        self.queues[pending.queue].mark_inadmissible(pending.name)

    def next_cycle(self) -> list[Turn] | None:
        """Return the turns of all heads; None after a cycle that changed nothing.

        Only heads that are new are nominated, unless something changed.
        """
        if not self._goes_on:
            return None
        queues = self.queues.values()
        heads = [self.restrained(head) for queue in queues if (head := queue.head()) is not None]
        preempting = {queue.preempting for queue in queues if queue.preempting}
        cycle = KueueCycle(self.snapshot.copy(), self._axes, self._settings)
        return list(cycle.run(heads, preempting, self._nominated))

    def retry_head(self, pending: PendingWorkload) -> None:
        """Let a head stay that was skipped: it is the head as long as it is not set aside."""

    def end_cycle(
        self,
        turns: Sequence[Turn],
        last: Mapping[WorkloadName, Turn],
        *,
        has_changed: bool,
        other_promises: bool,
    ) -> None:
        """Find out whether another cycle may change something."""
        is_retried = self._goes_on = False
        for turn in turns:
            pending = turn.nomination.pending
            head = self.queues[pending.queue].head()
            self._goes_on |= head is not None and head.name not in last
            if turn.outcome == "nocandidates" and (head is None or head.name != pending.name):
                has_changed = True  # others can have what was reserved for it
            is_retried |= turn.outcome not in ("admitted", "preempting") and head is not None
        if has_changed or other_promises:
            self._nominated = preempting_nominations(last)
        self._goes_on |= has_changed and is_retried

    def promised(self) -> list[Turn]:
        """Return the turns of heads that keep a promise, which counts as used; others lose it."""
        turns = []
        for queue in self.queues.values():
            head = queue.head()
            if head is None or queue.preempting is None:
                continue
            kept = kept_promise(self._later, self.restrained(head), self.promises.get(head.name))
            if kept is None or kept.assignment is None:
                queue.preempting = None
                self.promises.pop(head.name, None)
                continue
            turn = Turn(kept, "preempting", kept.assignment.usage)
            self.decided_on.admit(promised_workload(turn))
            turns.append(turn)
        return turns

    def open_queues(self) -> Iterable[QueueName]:
        """Return the queues without a promise."""
        return [name for name, queue in self.queues.items() if queue.preempting is None]

    def nominate_next(self, queue: QueueName) -> Nomination | None:
        """Return the head of *queue*, nominated; None if every workload was looked at."""
        head = self.queues[queue].head()
        return None if head is None else self._nominate(head)

    def renominate(self, nomination: Nomination) -> Nomination:
        """Return what a head that was nominated needs now."""
        return self._nominate(nomination.pending)

    def _nominate(self, head: PendingWorkload) -> Nomination:
        """Return what *head* needs; if it fits at once, maybe with other flavors or fewer pods."""
        head = self.restrained(head)
        groups = self.snapshot.rules[head.queue].resource_groups
        if head.may_shrink() or any(len(group.flavors) > 1 for group in groups):
            found = self._now.nominate(head)
            assignment = found.assignment if found.mode() is AssignmentMode.FIT else None
            if assignment is not None and self.decided_on.fits(head.queue, assignment.usage):
                return found
        return self._later.nominate(head)

    def is_blocked_by_head(self, queue: QueueName) -> bool:
        """Return whether *queue* has the strategy StrictFIFO."""
        return self.queues[queue].is_strict_fifo

    def fits_now(self, queue: QueueName, usage: Usage) -> bool:
        """Return whether *usage* is available before any other workload has left."""
        return self.snapshot.fits(queue, usage)

    def release(self, turn: Turn) -> None:
        """Stop counting a promise, because it is used from now on."""
        self.decided_on.remove(promised_workload(turn))

    def restrained(self, pending: PendingWorkload) -> PendingWorkload:
        """Return *pending* with the workloads that it must not preempt now."""
        return replace(pending, restraint=self._restraints.of(pending))


def preempting_nominations(last: Mapping[WorkloadName, Turn]) -> dict[WorkloadName, Nomination]:
    """Return the workloads that wait for evicted ones as nominated: they have chosen for good."""
    return {name: turn.nomination for name, turn in last.items() if turn.outcome == "preempting"}
