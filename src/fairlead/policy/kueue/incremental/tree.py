"""One cohort tree as a policy remembers it from plan to plan.

What a plan decides is done here at once, as if it were carried out. If it was not, the next reading
of the state corrects it: every workload that was decided about is read again.

Where promises are kept, the snapshot is the tree as it will be: evicted workloads are gone, and the
workloads that wait for them have their quota. So it changes when a workload is evicted, and not
once more when it has left. A second tree counts what is in use at present.
"""

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.promises import promised_workload
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.equivalence_classes import EquivalenceClass, PendingClasses
from fairlead.policy.kueue.incremental.nomination import IncrementalNominator
from fairlead.policy.kueue.incremental.parked import ParkedWorkloads
from fairlead.policy.kueue.pending.queue import scheduling_hash
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload


class PromisedQuota:
    """The turns of workloads that wait for evicted ones, at most one for each ClusterQueue."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Promise nothing yet; *snapshot* counts what is promised later."""
        self.turns: dict[QueueName, Turn] = {}
        self._snapshot = snapshot
        self._places = {name: at for at, name in enumerate(snapshot.rules)}

    def keep(self, turn: Turn) -> None:
        """Promise what *turn* reserves."""
        queue = turn.nomination.pending.queue
        assert queue not in self.turns, f"{queue} has promised something already"
        self.turns[queue] = turn
        self._snapshot.admit(promised_workload(turn))

    def drop(self, queue: QueueName) -> Turn:
        """Promise nothing in *queue* any more; return what was promised."""
        turn = self.turns.pop(queue)
        self._snapshot.remove(promised_workload(turn))
        return turn

    def in_order(self) -> list[Turn]:
        """Return what is promised, in the order of the queues."""
        return [self.turns[queue] for queue in sorted(self.turns, key=self._places.__getitem__)]

    def too_much(self) -> list[Turn]:
        """Give up and return what cannot be kept; promises of earlier queues are kept first.

        If no axis is exceeded with all of them, each had enough when its turn came. Cost: the depth
        for each promise.
        """
        tree = self._snapshot.tree
        if not self.turns or all(
            tree.available_on(queue, axis) >= 0
            for queue, turn in self.turns.items()
            for axis, _ in turn.reserved
        ):
            return []
        promised = self.in_order()
        for turn in promised:
            self.drop(turn.nomination.pending.queue)
        lost = []
        for turn in promised:
            if self._snapshot.fits(turn.nomination.pending.queue, turn.reserved):
                self.keep(turn)
            else:
                lost.append(turn)
        return lost


class PendingEntry(Struct, frozen=True, gc=False):
    """A pending workload; ``is_preempting``: others were evicted for it, by *promise* if known."""

    pending: PendingWorkload
    is_preempting: bool
    promise: Promise | None = None

    def waits_like(self, other: "PendingEntry") -> bool:
        """Return whether *other* differs in its promise at most."""
        return self.is_preempting == other.is_preempting and self.pending == other.pending


Known: TypeAlias = AdmittedWorkload | PendingEntry


class TrackedTree:
    """The admitted and pending workloads of one tree, and which of the latter are parked."""

    def __init__(self, snapshot: Snapshot, axes: QuotaAxes, settings: KueueSettings) -> None:
        """Begin with *snapshot*, in which no workload is admitted."""
        self.snapshot = snapshot
        self.keeps_promises = settings.keeps_promises
        self.present = snapshot.tree.copy() if self.keeps_promises else snapshot.tree
        self.nominator = IncrementalNominator(snapshot, axes, settings)
        self.queues = {name: PendingClasses(name) for name in snapshot.rules}
        self.waited_for: dict[QueueName, PendingClasses] = {}  # with pending workloads
        self.preempting: dict[
            QueueName, PendingClasses
        ] = {}  # with a head that waits for evicted ones
        self.evicted: dict[WorkloadName, AdmittedWorkload] = {}
        self.promised = PromisedQuota(snapshot)
        self.tops = {name: snapshot.path(name)[-2:][0] for name in snapshot.rules}  # below the root
        self.parked = ParkedWorkloads(snapshot)
        self.decided: set[WorkloadName] = set()  # that a plan decided about
        self._known: dict[WorkloadName, Known] = {}
        self._classes: dict[WorkloadName, EquivalenceClass] = {}  # of pending workloads
        self._unsettled: set[QueueName] = set()  # where another promise may hold now

    def read(self, name: WorkloadName, now: Known | None) -> None:
        """Follow a change of *name*; None: it does not count here any more."""
        before = self._known.get(name)
        if before == now:
            return
        if isinstance(before, AdmittedWorkload):
            if isinstance(now, AdmittedWorkload) and before.uses_the_same(now):
                self._replace(before, now)
                return
            self._take_away(before)
        elif before is not None:
            if isinstance(now, PendingEntry) and before.waits_like(now):
                self._known[name] = now
                self._unsettled.add(now.pending.queue)
                return
            self._drop(before.pending)
        self._known.pop(name, None)
        if isinstance(now, AdmittedWorkload):
            self._put_in(now)
        elif now is not None:
            self._add(now)

    def settle_promises(self) -> None:
        """Let all promises that can be kept count as used; to be called before a plan.

        Law: a workload loses its promise where it loses it with a `PlainSource`.
        """
        if self._unsettled:
            unsettled, self._unsettled = self._unsettled, set()
            for queue in sorted(unsettled) if self.keeps_promises else ():
                self._settle(queue)
        for turn in self.promised.too_much():
            self._unsettled.add(turn.nomination.pending.queue)  # to be tried again next time
            self._usage_changed(turn.nomination.pending, is_less=True)

    def _settle(self, queue: QueueName) -> None:
        """Let what is promised to the first preempting workload of *queue* count as used."""
        name = self.queues[queue].first_preempting()
        turn = None if name is None else self._kept_for(name)
        before = self.promised.turns.get(queue)
        if turn == before:
            return
        if before is not None:
            self.promised.drop(queue)
            self._usage_changed(before.nomination.pending, is_less=True)
        if turn is not None:
            self.promised.keep(turn)
            self._usage_changed(turn.nomination.pending, is_less=False)

    def _kept_for(self, name: WorkloadName) -> Turn | None:
        """Return the turn of a workload with a promise; None: its pods are others by now."""
        known = self._known[name]
        assert isinstance(known, PendingEntry), name
        pending = known.pending
        found = self.nominator.as_promised(
            pending, self.class_of(pending).scheduling_hash, known.promise
        )
        if found is None or found.assignment is None:
            return None
        return Turn(found, "preempting", found.assignment.usage)

    def is_at_rest(self) -> bool:
        """Return whether no workload can be admitted or preempt, as things stand."""
        stays = self.promised.turns if self.keeps_promises else self.preempting
        return not (stays or self.parked.may_proceed())

    def promises(self) -> dict[WorkloadName, Promise]:
        """Return what earlier plans promised to preempting workloads, as far as it is known."""
        if self.keeps_promises:
            names = [turn.nomination.pending.name for turn in self.promised.turns.values()]
        else:
            firsts = [each.first_preempting() for each in self.preempting.values()]
            names = [name for name in firsts if name is not None]
        promises = {}
        for name in names:
            known = self._known[name]
            if isinstance(known, PendingEntry) and known.promise is not None:
                promises[name] = known.promise
        return promises

    def class_of(self, pending: PendingWorkload) -> EquivalenceClass:
        """Return the equivalence class of a pending workload."""
        return self._classes[pending.name]

    def nominate(self, pending: PendingWorkload) -> Nomination:
        """Nominate a pending workload, and park its class if it cannot proceed."""
        eq_class = self.class_of(pending)
        if self.parked.is_parked(eq_class):
            return eq_class.nominated(pending, self.snapshot)
        result = self.nominator.nominate(pending, eq_class.scheduling_hash)
        found = result.nomination
        if not found.can_proceed():
            self.parked.park(eq_class, found, result.failed)
        return found

    def pending(self, name: WorkloadName) -> PendingWorkload:
        """Return a pending workload by name."""
        known = self._known[name]
        assert isinstance(known, PendingEntry), name
        return known.pending

    def admit(self, admitted: AdmittedWorkload) -> None:
        """Let a pending workload have quota."""
        if self.keeps_promises:
            self.snapshot.admit(admitted)
        self._drop(self.pending(admitted.name))
        self.decided.add(admitted.name)
        if not self.keeps_promises:
            self._put_in(admitted)
            return
        self._known[admitted.name] = admitted
        self.present.charge_axes(admitted.queue, admitted.usage)
        self._usage_changed(admitted, is_less=False)

    def evict(self, admitted: AdmittedWorkload) -> None:
        """Tell an admitted workload to leave."""
        self._replace(admitted, replace(admitted, is_evicted=True))
        self.decided.add(admitted.name)

    def promise(self, pending: PendingWorkload, promise: Promise) -> None:
        """Keep for a preempting workload what its victims free."""
        self._known[pending.name] = PendingEntry(pending, is_preempting=True, promise=promise)
        self._hold_head(pending)
        turn = self._kept_for(pending.name)
        assert turn is not None, "what is promised can be kept"
        self.promised.keep(turn)
        self._usage_changed(pending, is_less=False)
        self.decided.add(pending.name)

    def _counts(self, admitted: AdmittedWorkload) -> bool:
        """Return whether an admitted workload counts in the tree that is decided on."""
        return not (self.keeps_promises and admitted.is_evicted)

    def _replace(self, before: AdmittedWorkload, now: AdmittedWorkload) -> None:
        """Follow a change of an admitted workload that uses as much as before."""
        self._known[now.name] = now
        self.evicted.pop(now.name, None)
        if now.is_evicted:
            self.evicted[now.name] = now
        if not self._counts(now):
            if self._counts(before):
                self.snapshot.remove(before)
                self._usage_changed(before, is_less=True)
        elif not self._counts(before):
            self.snapshot.admit(now)
            self._usage_changed(now, is_less=False)
        else:
            self.snapshot.replace_admitted(before, now)
            self._usage_changed(now, is_less=False)

    def _take_away(self, admitted: AdmittedWorkload) -> None:
        self.evicted.pop(admitted.name, None)
        if self.present is not self.snapshot.tree:
            self.present.discharge_axes(admitted.queue, admitted.usage)
        if self._counts(admitted):
            self.snapshot.remove(admitted)
            self._usage_changed(admitted, is_less=True)

    def _put_in(self, admitted: AdmittedWorkload) -> None:
        self._known[admitted.name] = admitted
        if admitted.is_evicted:
            self.evicted[admitted.name] = admitted
        if self.present is not self.snapshot.tree:
            self.present.charge_axes(admitted.queue, admitted.usage)
        if self._counts(admitted):
            self.snapshot.admit(admitted)
            self._usage_changed(admitted, is_less=False)

    def _usage_changed(self, one: AdmittedWorkload | PendingWorkload, *, is_less: bool) -> None:
        self.parked.changed(one.queue, one.priority, is_less=is_less)

    def _add(self, now: PendingEntry) -> None:
        pending = now.pending
        classes = self.queues[pending.queue]
        rules = self.snapshot.rules[pending.queue]
        eq_class = classes.of_hash(scheduling_hash(pending, rules.preemption))
        self._known[pending.name] = now
        self._classes[pending.name] = eq_class
        if not eq_class:
            self.parked.unpark(eq_class)
        eq_class.add(pending)
        classes.changed(eq_class)
        self.waited_for[pending.queue] = classes
        if now.is_preempting:
            self._hold_head(pending)
            self._unsettled.add(pending.queue)

    def _hold_head(self, pending: PendingWorkload) -> None:
        classes = self.preempting[pending.queue] = self.queues[pending.queue]
        classes.preempting[pending.name] = pending

    def _drop(self, pending: PendingWorkload) -> None:
        classes, eq_class = self.queues[pending.queue], self._classes.pop(pending.name)
        eq_class.drop(pending)
        if not eq_class:
            self.parked.forget(eq_class)
        classes.changed(eq_class)
        if not classes:
            del self.waited_for[pending.queue]
        if classes.preempting.pop(pending.name, None):
            self._unsettled.add(pending.queue)
            if not classes.preempting:
                del self.preempting[pending.queue]
        del self._known[pending.name]
