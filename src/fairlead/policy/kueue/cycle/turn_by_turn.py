"""The turns of one tree of quota where promises are kept: one after the other, each on what is.

Those have their turns first to whom something was promised. Then the first of each ClusterQueue who
can be met competes; the next one of the tree has its turn, and the first who is left of its queue
competes in its place. Who cannot be met steps aside before it competes, so it speaks for nobody;
but the first of a StrictFIFO queue keeps in its turn what it could have. Who must wait for others
to leave keeps its queue waiting until the next plan.

Law: nobody is told to leave in the plan in which it starts, and nobody loses what it waits for.
Whose claim would take the place of such a one waits for the next plan: others, who come after it in
the order of giving way, must not leave in its place.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.order import ClassicalOrder, Order, head_of, order_gates
from fairlead.policy.kueue.cycle.rounds import Rounds
from fairlead.policy.kueue.cycle.tournament import Tournament
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.workloads import AdmittedWorkload, Usage


class TurnByTurn(Rounds):
    """One turn after the other; who waits and who has quota is for others to know."""

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict somebody, each before the trees follow it.

        Ends, because every turn admits somebody, closes a queue, or sets somebody aside. Cost: a
        nomination for each that competes, one more if anything changed before its turn, and the
        depth of the tree for each change.
        """
        self._started: set[WorkloadName] = set()  # in this plan
        self._promised: dict[WorkloadName, Turn] = {}  # who waits for what it was promised
        yield from self._keep_promises()
        self._changed_times = 0
        self._competing: dict[WorkloadName, tuple[Nomination, int]] = {}
        self._order: Order | None = None
        for queue in self._open():
            self._let_compete(queue)
        while not self._may_stop() and (name := self._whose_turn()) is not None:
            nomination, changed_times = self._competing.pop(name)
            if changed_times != self._changed_times:
                nomination = self._renominate(nomination)
            if self._can_proceed(nomination) and self._is_left_over(nomination):
                yield from self._take_turn(nomination)
            elif self._refuse(nomination):
                self._let_compete(nomination.pending.queue)

    def _keep_promises(self) -> Iterator[Turn]:
        """Yield the turns of those who have what was promised to them; the others wait on.

        Law: who preempted has what it was promised as soon as those have left who were told to,
        unless something else changes; and nobody else is told to leave for it meanwhile. So those
        come first for whom nobody has to leave any more: others would take what was made for them.
        """
        kept = self._kept()
        leaving = self.leaving() if kept else frozenset()
        kept.sort(key=lambda turn: self._waits_on(turn, leaving))
        self._promised = {turn.nomination.pending.name: turn for turn in kept}
        for turn in kept:
            pending = turn.nomination.pending
            if self._may_start_now(turn, spares_all=self._waits_on(turn, leaving)):
                admitted = replace(turn, outcome="admitted")
                yield admitted
                self._promises.pop(pending.name, None)
                del self._promised[pending.name]
                self._release(turn)
                self._let_start(self._holder(admitted))
            else:
                self.last[pending.name] = turn

    def _waits_on(self, turn: Turn, leaving: frozenset[WorkloadName]) -> bool:
        """Return whether somebody of *leaving* leaves for it, or may do so."""
        promise = self._promises.get(turn.nomination.pending.name)
        return bool(leaving) if promise is None else not leaving.isdisjoint(promise.waits_for)

    def _take_turn(self, nomination: Nomination) -> Iterator[Turn]:
        assignment, queue = nomination.assignment, nomination.pending.queue
        assert assignment is not None, "who can proceed has flavors"
        turn = Turn(nomination, "preempting", assignment.usage)
        has_room = not nomination.targets and self._may_start_now(turn, spares_all=True)
        if has_room:
            turn = Turn(nomination, "admitted", assignment.usage)
        if has_room or turn.targets:
            yield turn
        self._use_changed(queue)
        if has_room:
            self._let_start(self._holder(turn))
            self._let_compete(queue)
            return
        self.last[nomination.pending.name] = self._promised[nomination.pending.name] = turn
        for admitted in self._evict_targets(turn):
            self._use_changed(admitted.queue)
            self._tell_to_leave(admitted)
        self._promise(turn)

    def _may_stop(self) -> bool:
        """Return whether enough have started, and whoever is left would go on as it would here."""
        is_between = self._order is None or self._order.is_between_rounds()
        return self.has_started_enough() and is_between

    def _whose_turn(self) -> WorkloadName | None:
        """Return who is next; nobody is judged as long as there is only one."""
        if self._order is None:
            if len(self._competing) < 2:
                return next(iter(self._competing), None)
            self._order = self._new_order()
        return self._order.pop()

    def _let_start(self, admitted: AdmittedWorkload) -> None:
        self._started.add(admitted.name)
        self.decided_on.admit(admitted)
        self._admit(admitted)

    def _can_proceed(self, nomination: Nomination) -> bool:
        """Return whether it fits, or would once others have left who may be told to."""
        if not nomination.targets:
            return nomination.can_proceed()
        names = [target.workload.name for target in nomination.targets]
        return self._started.isdisjoint(names) and self._promised.keys().isdisjoint(names)

    def _may_start_now(self, turn: Turn, *, spares_all: bool) -> bool:
        """Return whether it fits before anybody has left.

        If it *spares_all*, what others are promised must be left as well: what they have room for
        once those have left who leave for them. Cost: the depth for each that is promised
        something, and for each that leaves.
        """
        pending = turn.nomination.pending
        if not self._fits_now(pending.queue, turn.kept):
            return False
        if not spares_all:
            return True
        others = [each for name, each in self._promised.items() if name != pending.name]
        before = [each for each in others if self._has_room_once_left(each)]
        if not before:
            return True
        self.present.charge_axes(pending.queue, turn.kept)
        is_left = all(map(self._has_room_once_left, before))
        self.present.discharge_axes(pending.queue, turn.kept)
        return is_left

    def _has_room_once_left(self, turn: Turn) -> bool:
        """Return whether one fits as soon as those have left who leave for it."""
        present, pending = self.present, turn.nomination.pending
        promise, leaving = self._promises.get(pending.name), self._leaving_holders()
        names = () if promise is None else promise.waits_for
        gone = [leaving[name] for name in names if name in leaving]
        for admitted in gone:
            present.discharge_axes(admitted.queue, admitted.usage)
        fits = not present.lacking(pending.queue, turn.kept)
        for admitted in reversed(gone):
            present.charge_axes(admitted.queue, admitted.usage)
        return fits

    def _new_order(self) -> Order:
        gates = order_gates(self._settings.feature_gates)
        heads = [head_of(found, is_preempting=False) for found, _ in self._competing.values()]
        if self._settings.fair_sharing:
            return Tournament(self.decided_on, heads, gates)
        return ClassicalOrder(heads, gates)

    def _use_changed(self, queue: QueueName) -> None:
        """Take in that the use of *queue* is another."""
        self._changed_times += 1
        if self._order is not None:
            self._order.changed(queue)

    def _let_compete(self, queue: QueueName) -> None:
        """Let the first who can be met of those left in *queue* compete, if there is one."""
        found = self._next_in(queue)
        if found is not None:
            self._competing[found.pending.name] = found, self._changed_times
            if self._order is not None:
                self._order.enter(head_of(found, is_preempting=False))

    @abstractmethod
    def _kept(self) -> list[Turn]:
        """Return who keeps what was promised to it, which counts as used; others lose it."""

    @abstractmethod
    def _open(self) -> Iterable[QueueName]:
        """Return the queues in which nobody is promised anything, and somebody may be met."""

    @abstractmethod
    def _next_in(self, queue: QueueName) -> Nomination | None:
        """Return the first in *queue* who competes; who comes before it steps aside."""

    @abstractmethod
    def _renominate(self, nomination: Nomination) -> Nomination:
        """Return what a head that was nominated needs now."""

    @abstractmethod
    def _fits_now(self, queue: QueueName, usage: Usage) -> bool:
        """Return whether *usage* is available before anybody else has left."""

    @abstractmethod
    def _leaving_holders(self) -> Mapping[WorkloadName, AdmittedWorkload]:
        """Return who was told to leave and is still there."""

    @abstractmethod
    def _is_left_over(self, nomination: Nomination) -> bool:
        """Return whether one who can be met takes nothing that heads before it set aside."""

    @abstractmethod
    def _refuse(self, nomination: Nomination) -> bool:
        """Set one aside who cannot be met; return whether the next of its queue may compete."""

    @abstractmethod
    def _admit(self, admitted: AdmittedWorkload) -> None:
        """Let one who waits have quota, as it has already in what is decided on."""

    @abstractmethod
    def _tell_to_leave(self, admitted: AdmittedWorkload) -> None:
        """Let one who has quota leave."""

    @abstractmethod
    def _promise(self, turn: Turn) -> None:
        """Keep for a head what others leave."""

    @abstractmethod
    def _release(self, turn: Turn) -> None:
        """Let what is promised be kept no more, because it is used from now on."""
