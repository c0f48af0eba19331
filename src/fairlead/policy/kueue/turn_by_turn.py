"""The turns of one tree of quota where promises are kept: one after the other, each on what is.

Those have their turns first to whom something was promised. Then the first of each ClusterQueue who
can be met competes; the next one of the tree has its turn, and the first who is left of its queue
competes in its place. Who cannot be met steps aside before it competes, so it speaks for nobody.
Who must wait for others to leave keeps its queue waiting until the next plan.

Law: nobody is told to leave in the plan in which it starts. Who could take its place would have had
its turn before, or can be met otherwise, or is for the next plan to look at.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.classical_order import ClassicalOrder
from fairlead.policy.kueue.cycle import Order, Turn
from fairlead.policy.kueue.flavor_assignment import Waiting
from fairlead.policy.kueue.head import order_gates
from fairlead.policy.kueue.holder import Holder, Usage
from fairlead.policy.kueue.nomination import Nomination
from fairlead.policy.kueue.rounds import Rounds
from fairlead.policy.kueue.tournament import Tournament


class TurnByTurn(Rounds):
    """One turn after the other; who waits and who has quota is for others to know."""

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict somebody, each before the trees follow it.

        Ends, because every turn admits somebody, closes a queue, or sets somebody aside. Cost: a
        nomination for each that competes, one more if anything changed before its turn, and the
        depth of the tree for each change.
        """
        yield from self._keep_promises()
        self._changed_times = 0
        self._competing: dict[WorkloadName, tuple[Nomination, int]] = {}
        self._order: Order | None = None
        for queue in self._open():
            self._let_compete(queue)
        while (name := self._whose_turn()) is not None:
            nomination, changed_times = self._competing.pop(name)
            if changed_times != self._changed_times:
                nomination = self._nominate(nomination.waiting)
            if nomination.can_proceed():
                yield from self._take_turn(nomination)
            elif self._refuse(nomination):
                self._let_compete(nomination.waiting.queue)
        self._end()

    def _keep_promises(self) -> Iterator[Turn]:
        """Yield the turns of those who have what was promised to them; the others wait on.

        Law: who preempted has what it was promised as soon as those have left who were told to,
        unless something else changes; and nobody else is told to leave for it meanwhile. So those
        come first for whom nobody has to leave any more: others would take what was made for them.
        """
        kept = self._kept()
        if len(kept) > 1:
            leaving = self.leaving()
            kept.sort(key=lambda turn: self._waits_on(turn, leaving))
        for turn in kept:
            waiting = turn.nomination.waiting
            if self._fits_now(waiting.queue, turn.kept):
                admitted = turn._replace(outcome="admitted")
                yield admitted
                self._promises.pop(waiting.name, None)
                self._admit(self._holder(admitted))
            else:
                self.last[waiting.name] = turn

    def _waits_on(self, turn: Turn, leaving: frozenset[WorkloadName]) -> bool:
        """Return whether somebody of *leaving* leaves for the one whose turn it is."""
        promise = self._promises.get(turn.nomination.waiting.name)
        return promise is not None and not leaving.isdisjoint(promise.waits_for)

    def _take_turn(self, nomination: Nomination) -> Iterator[Turn]:
        assignment, queue = nomination.assignment, nomination.waiting.queue
        assert assignment is not None, "who can proceed has flavors"
        has_room = not nomination.targets and self._fits_now(queue, assignment.usage)
        turn = Turn(nomination, "admitted" if has_room else "preempting", assignment.usage)
        if has_room or turn.targets:
            yield turn
        self._use_changed(queue)
        if has_room:
            self.decided_on.charge(queue, turn.kept)
            self._admit(self._holder(turn))
            self._let_compete(queue)
            return
        self.last[nomination.waiting.name] = turn
        for holder in self._tell_targets(turn):
            self._use_changed(holder.queue)
            self._tell_to_leave(holder)
        self._promise(nomination)

    def _whose_turn(self) -> WorkloadName | None:
        """Return who is next; nobody is judged as long as there is only one."""
        if self._order is None:
            if len(self._competing) < 2:
                return next(iter(self._competing), None)
            self._order = self._new_order()
        return self._order.pop()

    def _new_order(self) -> Order:
        gates = order_gates(self._settings.feature_gates)
        heads = [found.head(is_preempting=False) for found, _ in self._competing.values()]
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
            self._competing[found.waiting.name] = found, self._changed_times
            if self._order is not None:
                self._order.enter(found.head(is_preempting=False))

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
    def _nominate(self, head: Waiting) -> Nomination:
        """Return what *head* needs now."""

    @abstractmethod
    def _fits_now(self, queue: QueueName, usage: Usage) -> bool:
        """Return whether *usage* is available before anybody else has left."""

    @abstractmethod
    def _refuse(self, nomination: Nomination) -> bool:
        """Set one aside who cannot be met; return whether the next of its queue may compete."""

    @abstractmethod
    def _admit(self, holder: Holder) -> None:
        """Let one who waits have quota, which counts as used already in what is decided on."""

    @abstractmethod
    def _tell_to_leave(self, holder: Holder) -> None:
        """Let one who has quota leave."""

    @abstractmethod
    def _promise(self, nomination: Nomination) -> None:
        """Keep for a head what others leave."""

    @abstractmethod
    def _end(self) -> None:
        """Let those be asked from now on who started."""
