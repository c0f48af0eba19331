"""What is promised in one tree, counted as used before those have left who make room for it."""

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.promises import promised_holder
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.equivalence_classes import Kind, QueueLine
from fairlead.policy.kueue.incremental.quick_nomination import QuickNominator
from fairlead.policy.kueue.incremental.sleepers import Sleepers
from fairlead.policy.kueue.pending.queue import shape_of
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Holder, Waiting


class PromisedRoom:
    """The turns of those who wait for others to leave, at most one for each ClusterQueue."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Promise nothing yet; *snapshot* counts what is promised later."""
        self.turns: dict[QueueName, Turn] = {}
        self._snapshot = snapshot
        self._places = {name: at for at, name in enumerate(snapshot.rules)}

    def keep(self, turn: Turn) -> None:
        """Promise what *turn* keeps."""
        queue = turn.nomination.waiting.queue
        assert queue not in self.turns, f"{queue} has promised something already"
        self.turns[queue] = turn
        self._snapshot.admit(promised_holder(turn))

    def drop(self, queue: QueueName) -> Turn:
        """Promise nothing in *queue* any more; return what was."""
        turn = self.turns.pop(queue)
        self._snapshot.let_leave(promised_holder(turn))
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
            self.drop(turn.nomination.waiting.queue)
        lost = []
        for turn in promised:
            if self._snapshot.fits(turn.nomination.waiting.queue, turn.kept):
                self.keep(turn)
            else:
                lost.append(turn)
        return lost


class InLine(Struct, frozen=True, gc=False):
    """One who waits; ``is_preempting``: others give way to it already, by *promise* if known."""

    waiting: Waiting
    is_preempting: bool
    promise: Promise | None = None

    def waits_like(self, other: "InLine") -> bool:
        """Return whether *other* differs in what it was promised at most."""
        return self.is_preempting == other.is_preempting and self.waiting == other.waiting


Known: TypeAlias = Holder | InLine


class TreeView:
    """Who has quota in one tree, who waits, and of whom it is known that it waits on."""

    def __init__(self, snapshot: Snapshot, axes: QuotaAxes, settings: KueueSettings) -> None:
        """Begin with *snapshot*, in which nobody has quota."""
        self.snapshot = snapshot
        self.keeps_promises = settings.keeps_promises
        self.present = snapshot.tree.copy() if self.keeps_promises else snapshot.tree
        self.nominator = QuickNominator(snapshot, axes, settings)
        self.lines = {name: QueueLine(name) for name in snapshot.rules}
        self.waited_for: dict[QueueName, QueueLine] = {}  # those in which somebody waits
        self.preempting: dict[QueueName, QueueLine] = {}  # in which somebody stays the head
        self.leaving: dict[WorkloadName, Holder] = {}
        self.promised = PromisedRoom(snapshot)
        self.tops = {name: snapshot.path(name)[-2:][0] for name in snapshot.rules}  # below the root
        self.sleepers = Sleepers(snapshot)
        self.decided: set[WorkloadName] = set()  # about whom a plan said something
        self._known: dict[WorkloadName, Known] = {}
        self._kinds: dict[WorkloadName, Kind] = {}  # of those who wait
        self._unsettled: set[QueueName] = set()  # in which something else may be promised now

    def read(self, name: WorkloadName, now: Known | None) -> None:
        """Take in what *name* is now; None: of no matter here. Cost: what that changes."""
        before = self._known.get(name)
        if before == now:
            return
        if isinstance(before, Holder):
            if isinstance(now, Holder) and before.uses_the_same(now):
                self._see_anew(before, now)
                return
            self._take_out(before)
        elif before is not None:
            if isinstance(now, InLine) and before.waits_like(now):
                self._known[name] = now
                self._unsettled.add(now.waiting.queue)
                return
            self._drop(before.waiting)
        self._known.pop(name, None)
        if isinstance(now, Holder):
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
            self._unsettled.add(turn.nomination.waiting.queue)  # to be tried again next time
            self._used_otherwise(turn.nomination.waiting, is_less=True)

    def _settle(self, queue: QueueName) -> None:
        """Let what is promised to the first who preempts in *queue* count as used."""
        name = self.lines[queue].first_preempting()
        turn = None if name is None else self._kept_for(name)
        before = self.promised.turns.get(queue)
        if turn == before:
            return
        if before is not None:
            self.promised.drop(queue)
            self._used_otherwise(before.nomination.waiting, is_less=True)
        if turn is not None:
            self.promised.keep(turn)
            self._used_otherwise(turn.nomination.waiting, is_less=False)

    def _kept_for(self, name: WorkloadName) -> Turn | None:
        """Return the turn of one who waits for what it was promised; None: its pods are others."""
        known = self._known[name]
        assert isinstance(known, InLine), name
        waiting = known.waiting
        found = self.nominator.as_promised(waiting, self.kind_of(waiting).shape, known.promise)
        if found is None or found.assignment is None:
            return None
        return Turn(found, "preempting", found.assignment.usage)

    def is_at_rest(self) -> bool:
        """Return whether nobody can be admitted, or claim anything, as things stand."""
        stays = self.promised.turns if self.keeps_promises else self.preempting
        return not (stays or self.sleepers.hopeful())

    def promises(self) -> dict[WorkloadName, Promise]:
        """Return what earlier plans promised to those who preempt, as far as it is known."""
        if self.keeps_promises:
            names = [turn.nomination.waiting.name for turn in self.promised.turns.values()]
        else:
            firsts = [line.first_preempting() for line in self.preempting.values()]
            names = [name for name in firsts if name is not None]
        promises = {}
        for name in names:
            known = self._known[name]
            if isinstance(known, InLine) and known.promise is not None:
                promises[name] = known.promise
        return promises

    def kind_of(self, waiting: Waiting) -> Kind:
        """Return the kind of one who waits."""
        return self._kinds[waiting.name]

    def nominate(self, waiting: Waiting) -> Nomination:
        """Nominate one who waits, and let its kind sleep if it is refused."""
        kind = self.kind_of(waiting)
        if self.sleepers.is_asleep(kind):
            return kind.nominated(waiting, self.snapshot)
        quick = self.nominator.nominate(waiting, kind.shape)
        found = quick.nomination
        if not found.can_proceed():
            self.sleepers.refuse(kind, found, quick.failed)
        return found

    def waiting(self, name: WorkloadName) -> Waiting:
        """Return one who waits."""
        known = self._known[name]
        assert isinstance(known, InLine), name
        return known.waiting

    def admit(self, holder: Holder) -> None:
        """Let one who waits have quota; where promises are kept, it is counted already."""
        self._drop(self.waiting(holder.name))
        self.decided.add(holder.name)
        if not self.keeps_promises:
            self._put_in(holder)
            return
        self._known[holder.name] = holder
        self.present.charge_axes(holder.queue, holder.usage)
        self._used_otherwise(holder, is_less=False)

    def tell_to_leave(self, holder: Holder) -> None:
        """Let one who has quota be told to leave."""
        self._see_anew(holder, replace(holder, is_evicted=True))
        self.decided.add(holder.name)

    def promise(self, waiting: Waiting, promise: Promise) -> None:
        """Keep for one who preempts what others leave."""
        self._known[waiting.name] = InLine(waiting, is_preempting=True, promise=promise)
        self._stays_first(waiting)
        turn = self._kept_for(waiting.name)
        assert turn is not None, "what is promised can be kept"
        self.promised.keep(turn)
        self._used_otherwise(waiting, is_less=False)
        self.decided.add(waiting.name)

    def _counts(self, holder: Holder) -> bool:
        """Return whether one who has quota counts in the tree that is decided on."""
        return not (self.keeps_promises and holder.is_evicted)

    def _see_anew(self, before: Holder, now: Holder) -> None:
        """Take in that one who has quota is asked otherwise, and uses what it did."""
        self._known[now.name] = now
        self.leaving.pop(now.name, None)
        if now.is_evicted:
            self.leaving[now.name] = now
        if not self._counts(now):
            if self._counts(before):
                self.snapshot.let_leave(before)
                self._used_otherwise(before, is_less=True)
        elif not self._counts(before):
            self.snapshot.admit(now)
            self._used_otherwise(now, is_less=False)
        else:
            self.snapshot.see_anew(before, now)
            self._used_otherwise(now, is_less=False)

    def _take_out(self, holder: Holder) -> None:
        self.leaving.pop(holder.name, None)
        if self.present is not self.snapshot.tree:
            self.present.discharge_axes(holder.queue, holder.usage)
        if self._counts(holder):
            self.snapshot.let_leave(holder)
            self._used_otherwise(holder, is_less=True)

    def _put_in(self, holder: Holder) -> None:
        self._known[holder.name] = holder
        if holder.is_evicted:
            self.leaving[holder.name] = holder
        if self.present is not self.snapshot.tree:
            self.present.charge_axes(holder.queue, holder.usage)
        if self._counts(holder):
            self.snapshot.admit(holder)
            self._used_otherwise(holder, is_less=False)

    def _used_otherwise(self, one: Holder | Waiting, *, is_less: bool) -> None:
        self.sleepers.changed(one.queue, one.priority, is_less=is_less)

    def _add(self, now: InLine) -> None:
        waiting = now.waiting
        line = self.lines[waiting.queue]
        shape = shape_of(waiting, self.snapshot.rules[waiting.queue].preemption)
        kind = line.kind(shape)
        self._known[waiting.name] = now
        self._kinds[waiting.name] = kind
        if not kind:
            self.sleepers.wake(kind)
        kind.add(waiting)
        line.changed(kind)
        self.waited_for[waiting.queue] = line
        if now.is_preempting:
            self._stays_first(waiting)
            self._unsettled.add(waiting.queue)

    def _stays_first(self, waiting: Waiting) -> None:
        line = self.preempting[waiting.queue] = self.lines[waiting.queue]
        line.preempting[waiting.name] = waiting

    def _drop(self, waiting: Waiting) -> None:
        line, kind = self.lines[waiting.queue], self._kinds.pop(waiting.name)
        kind.drop(waiting)
        if not kind:
            self.sleepers.forget(kind)
        line.changed(kind)
        if not line:
            del self.waited_for[waiting.queue]
        if line.preempting.pop(waiting.name, None):
            self._unsettled.add(waiting.queue)
            if not line.preempting:
                del self.preempting[waiting.queue]
        del self._known[waiting.name]
