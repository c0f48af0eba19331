"""What is promised in one tree, counted as used before those have left who make room for it."""

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.promises import promised_workload
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.equivalence_classes import EquivalenceClass, PendingClasses
from fairlead.policy.kueue.incremental.quick_nomination import IncrementalNominator
from fairlead.policy.kueue.incremental.sleepers import ParkedWorkloads
from fairlead.policy.kueue.pending.queue import scheduling_hash
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, PendingWorkload


class PromisedRoom:
    """The turns of those who wait for others to leave, at most one for each ClusterQueue."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Promise nothing yet; *snapshot* counts what is promised later."""
        self.turns: dict[QueueName, Turn] = {}
        self._snapshot = snapshot
        self._places = {name: at for at, name in enumerate(snapshot.rules)}

    def keep(self, turn: Turn) -> None:
        """Promise what *turn* keeps."""
        queue = turn.nomination.pending.queue
        assert queue not in self.turns, f"{queue} has promised something already"
        self.turns[queue] = turn
        self._snapshot.admit(promised_workload(turn))

    def drop(self, queue: QueueName) -> Turn:
        """Promise nothing in *queue* any more; return what was."""
        turn = self.turns.pop(queue)
        self._snapshot.remove(promised_workload(turn))
        return turn

    def in_order(self) -> list[Turn]:
        """Return what is promised, in the order of the queues."""
        return [self.turns[queue] for queue in sorted(self.turns, key=self._places.__getitem__)]

    def too_much(self) -> list[Turn]:
        """Give up what cannot be kept, and return it; who comes first keeps what it can.

        If nobody lacks anything with all of them, each had room when its turn came. Cost: the
        depth for each that is promised.
        """
        tree = self._snapshot.tree
        if not self.turns or all(
            tree.available_on(queue, axis) >= 0
            for queue, turn in self.turns.items()
            for axis, _ in turn.kept
        ):
            return []
        promised = self.in_order()
        for turn in promised:
            self.drop(turn.nomination.pending.queue)
        lost = []
        for turn in promised:
            if self._snapshot.fits(turn.nomination.pending.queue, turn.kept):
                self.keep(turn)
            else:
                lost.append(turn)
        return lost


class PendingEntry(Struct, frozen=True, gc=False):
    """One who waits; ``is_preempting``: others give way to it already, by *promise* if known."""

    pending: PendingWorkload
    is_preempting: bool
    promise: Promise | None = None

    def waits_like(self, other: "PendingEntry") -> bool:
        """Return whether *other* differs in what it was promised at most."""
        return self.is_preempting == other.is_preempting and self.pending == other.pending


Known: TypeAlias = AdmittedWorkload | PendingEntry


class TrackedTree:
    """Who has quota in one tree, who waits, and of whom it is known that it waits on."""

    def __init__(self, snapshot: Snapshot, axes: QuotaAxes, settings: KueueSettings) -> None:
        """Begin with *snapshot*, in which nobody has quota."""
        self.snapshot = snapshot
        self.keeps_promises = settings.keeps_promises
        self.present = snapshot.tree.copy() if self.keeps_promises else snapshot.tree
        self.nominator = IncrementalNominator(snapshot, axes, settings)
        self.lines = {name: PendingClasses(name) for name in snapshot.rules}
        self.waited_for: dict[QueueName, PendingClasses] = {}  # those in which somebody waits
        self.preempting: dict[QueueName, PendingClasses] = {}  # in which somebody stays the head
        self.leaving: dict[WorkloadName, AdmittedWorkload] = {}
        self.promised = PromisedRoom(snapshot)
        self.tops = {name: snapshot.path(name)[-2:][0] for name in snapshot.rules}  # below the root
        self.parked = ParkedWorkloads(snapshot)
        self.decided: set[WorkloadName] = set()  # about whom a plan said something
        self._known: dict[WorkloadName, Known] = {}
        self._eq_classes: dict[WorkloadName, EquivalenceClass] = {}  # of those who wait
        self._unsettled: set[QueueName] = set()  # in which something else may be promised now

    def read(self, name: WorkloadName, now: Known | None) -> None:
        """Take in what *name* is now; None: of no matter here. Cost: what that changes."""
        before = self._known.get(name)
        if before == now:
            return
        if isinstance(before, AdmittedWorkload):
            if isinstance(now, AdmittedWorkload) and before.uses_the_same(now):
                self._see_anew(before, now)
                return
            self._take_out(before)
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
        """Let all that is promised count as used, and no more than there is room for.

        Law: who loses its right is who loses it in `TreeTurns`. To be called before a plan.
        """
        if self._unsettled:
            unsettled, self._unsettled = self._unsettled, set()
            for queue in sorted(unsettled) if self.keeps_promises else ():
                self._settle(queue)
        for turn in self.promised.too_much():
            self._unsettled.add(turn.nomination.pending.queue)  # to be tried again next time
            self._used_otherwise(turn.nomination.pending, is_less=True)

    def _settle(self, queue: QueueName) -> None:
        """Let what is promised to the first who preempts in *queue* count as used."""
        name = self.lines[queue].first_preempting()
        turn = None if name is None else self._kept_for(name)
        before = self.promised.turns.get(queue)
        if turn == before:
            return
        if before is not None:
            self.promised.drop(queue)
            self._used_otherwise(before.nomination.pending, is_less=True)
        if turn is not None:
            self.promised.keep(turn)
            self._used_otherwise(turn.nomination.pending, is_less=False)

    def _kept_for(self, name: WorkloadName) -> Turn | None:
        """Return the turn of one who waits for what it was promised; None: its pods are others."""
        known = self._known[name]
        assert isinstance(known, PendingEntry), name
        pending = known.pending
        found = self.nominator.as_promised(
            pending, self.kind_of(pending).scheduling_hash, known.promise
        )
        if found is None or found.assignment is None:
            return None
        return Turn(found, "preempting", found.assignment.usage)

    def is_at_rest(self) -> bool:
        """Return whether nobody can be admitted, or claim anything, as things stand."""
        stays = self.promised.turns if self.keeps_promises else self.preempting
        return not (stays or self.parked.hopeful())

    def promises(self) -> dict[WorkloadName, Promise]:
        """Return what earlier plans promised to those who preempt, as far as it is known."""
        if self.keeps_promises:
            names = [turn.nomination.pending.name for turn in self.promised.turns.values()]
        else:
            firsts = [line.first_preempting() for line in self.preempting.values()]
            names = [name for name in firsts if name is not None]
        promises = {}
        for name in names:
            known = self._known[name]
            if isinstance(known, PendingEntry) and known.promise is not None:
                promises[name] = known.promise
        return promises

    def kind_of(self, pending: PendingWorkload) -> EquivalenceClass:
        """Return the kind of one who waits."""
        return self._eq_classes[pending.name]

    def nominate(self, pending: PendingWorkload) -> Nomination:
        """Nominate one who waits, and let its kind sleep if it is refused."""
        eq_class = self.kind_of(pending)
        if self.parked.is_asleep(eq_class):
            return eq_class.nominated(pending, self.snapshot)
        quick = self.nominator.nominate(pending, eq_class.scheduling_hash)
        found = quick.nomination
        if not found.can_proceed():
            self.parked.refuse(eq_class, found, quick.failed)
        return found

    def pending(self, name: WorkloadName) -> PendingWorkload:
        """Return one who waits."""
        known = self._known[name]
        assert isinstance(known, PendingEntry), name
        return known.pending

    def admit(self, admitted: AdmittedWorkload) -> None:
        """Let one who waits have quota; where promises are kept, it is counted already."""
        self._drop(self.pending(admitted.name))
        self.decided.add(admitted.name)
        if not self.keeps_promises:
            self._put_in(admitted)
            return
        self._known[admitted.name] = admitted
        self.present.charge_axes(admitted.queue, admitted.usage)
        self._used_otherwise(admitted, is_less=False)

    def tell_to_leave(self, admitted: AdmittedWorkload) -> None:
        """Let one who has quota be told to leave."""
        self._see_anew(admitted, replace(admitted, is_evicted=True))
        self.decided.add(admitted.name)

    def promise(self, pending: PendingWorkload, promise: Promise) -> None:
        """Keep for one who preempts what others leave."""
        self._known[pending.name] = PendingEntry(pending, is_preempting=True, promise=promise)
        self._stays_first(pending)
        turn = self._kept_for(pending.name)
        assert turn is not None, "what is promised can be kept"
        self.promised.keep(turn)
        self._used_otherwise(pending, is_less=False)
        self.decided.add(pending.name)

    def _counts(self, admitted: AdmittedWorkload) -> bool:
        """Return whether one who has quota counts in the tree that is decided on."""
        return not (self.keeps_promises and admitted.is_evicted)

    def _see_anew(self, before: AdmittedWorkload, now: AdmittedWorkload) -> None:
        """Take in that one who has quota is asked otherwise, and uses what it did."""
        self._known[now.name] = now
        self.leaving.pop(now.name, None)
        if now.is_evicted:
            self.leaving[now.name] = now
        if not self._counts(now):
            if self._counts(before):
                self.snapshot.remove(before)
                self._used_otherwise(before, is_less=True)
        elif not self._counts(before):
            self.snapshot.admit(now)
            self._used_otherwise(now, is_less=False)
        else:
            self.snapshot.replace_admitted(before, now)
            self._used_otherwise(now, is_less=False)

    def _take_out(self, admitted: AdmittedWorkload) -> None:
        self.leaving.pop(admitted.name, None)
        if self.present is not self.snapshot.tree:
            self.present.discharge_axes(admitted.queue, admitted.usage)
        if self._counts(admitted):
            self.snapshot.remove(admitted)
            self._used_otherwise(admitted, is_less=True)

    def _put_in(self, admitted: AdmittedWorkload) -> None:
        self._known[admitted.name] = admitted
        if admitted.is_evicted:
            self.leaving[admitted.name] = admitted
        if self.present is not self.snapshot.tree:
            self.present.charge_axes(admitted.queue, admitted.usage)
        if self._counts(admitted):
            self.snapshot.admit(admitted)
            self._used_otherwise(admitted, is_less=False)

    def _used_otherwise(self, one: AdmittedWorkload | PendingWorkload, *, is_less: bool) -> None:
        self.parked.changed(one.queue, one.priority, is_less=is_less)

    def _add(self, now: PendingEntry) -> None:
        pending = now.pending
        line = self.lines[pending.queue]
        rules = self.snapshot.rules[pending.queue]
        eq_class = line.eq_class(scheduling_hash(pending, rules.preemption))
        self._known[pending.name] = now
        self._eq_classes[pending.name] = eq_class
        if not eq_class:
            self.parked.wake(eq_class)
        eq_class.add(pending)
        line.changed(eq_class)
        self.waited_for[pending.queue] = line
        if now.is_preempting:
            self._stays_first(pending)
            self._unsettled.add(pending.queue)

    def _stays_first(self, pending: PendingWorkload) -> None:
        line = self.preempting[pending.queue] = self.lines[pending.queue]
        line.preempting[pending.name] = pending

    def _drop(self, pending: PendingWorkload) -> None:
        line, eq_class = self.lines[pending.queue], self._eq_classes.pop(pending.name)
        eq_class.drop(pending)
        if not eq_class:
            self.parked.forget(eq_class)
        line.changed(eq_class)
        if not line:
            del self.waited_for[pending.queue]
        if line.preempting.pop(pending.name, None):
            self._unsettled.add(pending.queue)
            if not line.preempting:
                del self.preempting[pending.queue]
        del self._known[pending.name]
