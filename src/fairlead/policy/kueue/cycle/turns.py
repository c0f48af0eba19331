"""The turns of one cohort tree where promises are kept: one after the other, each on what is.

Workloads with a promise have their turns first. Then the first workload of each ClusterQueue that
can proceed competes; the winner has its turn, and the next one of its queue competes in its place.
A workload that cannot proceed is set aside before it competes, so it represents no queue; but the
head of a StrictFIFO queue reserves in its turn what it could have. A workload that must wait for
evicted ones closes its queue until the next plan.

Law: no workload is evicted in the plan in which it starts, and none loses what it was promised. A
preemptor that would need such a victim waits for the next plan: later candidates must not leave in
its place.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.cycle.cycle import Turn, capacity_to_reserve, fits_after_preemption
from fairlead.policy.kueue.cycle.order import ClassicalOrder, Order, head_of, order_gates
from fairlead.policy.kueue.cycle.rounds import CycleRounds, Rounds
from fairlead.policy.kueue.cycle.source import Source
from fairlead.policy.kueue.cycle.tournament import Tournament
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import AdmittedWorkload


def rounds_of(source: Source, settings: KueueSettings, restraints: PreemptionRestraints) -> Rounds:
    """Return the rounds of one tree by the strategy that *settings* ask for."""
    strategy = TurnRounds if settings.keeps_promises else CycleRounds
    return strategy(source, settings, restraints)


class TurnRounds(Rounds):
    """One turn after the other, on the tree as it will be once evicted workloads have left."""

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict a workload, each before the source follows it.

        Ends, because every turn admits a workload, closes a queue, or sets a workload aside. Cost:
        a nomination for each workload that competes, one more if anything changed before its turn,
        and the depth of the tree for each change.
        """
        self._started: set[WorkloadName] = set()  # in this plan
        self._promised: dict[WorkloadName, Turn] = {}  # waits for what it was promised
        self._blocking: list[Turn] = []  # of StrictFIFO heads that reserve something
        yield from self._keep_promises()
        self._changed_times = 0
        self._competing: dict[WorkloadName, tuple[Nomination, int]] = {}
        self._order: Order | None = None
        for queue in self._source.open_queues():
            self._let_compete(queue)
        while not self._may_stop() and (name := self._next_turn()) is not None:
            nomination, changed_times = self._competing.pop(name)
            if changed_times != self._changed_times:
                nomination = self._source.renominate(nomination)
            if self._can_proceed(nomination) and self._spares_reserved(nomination):
                yield from self._take_turn(nomination)
            elif self._mark_inadmissible(nomination):
                self._let_compete(nomination.pending.queue)

    def _keep_promises(self) -> Iterator[Turn]:
        """Yield the turns of workloads whose promise is kept; the others wait on.

        Law: a preemptor has what it was promised as soon as its victims have left, unless something
        else changes; and no other workload is evicted for it meanwhile. So workloads whose victims
        are all gone come first: others would take what was freed for them.
        """
        kept = self._source.promised()
        evicted = self.evicted() if kept else frozenset()
        kept.sort(key=lambda turn: self._awaits_any(turn, evicted))
        self._promised = {turn.nomination.pending.name: turn for turn in kept}
        for turn in kept:
            pending = turn.nomination.pending
            if self._may_start_now(turn, spares_promises=self._awaits_any(turn, evicted)):
                admitted = replace(turn, outcome="admitted")
                yield admitted
                self._source.promises.pop(pending.name, None)
                del self._promised[pending.name]
                self._source.release(turn)
                self._start(self._admitted(admitted))
            else:
                self.last[pending.name] = turn

    def _awaits_any(self, turn: Turn, evicted: frozenset[WorkloadName]) -> bool:
        """Return whether one of *evicted* leaves for this workload, or may do so."""
        promise = self._source.promises.get(turn.nomination.pending.name)
        return bool(evicted) if promise is None else not evicted.isdisjoint(promise.waits_for)

    def _take_turn(self, nomination: Nomination) -> Iterator[Turn]:
        assignment, queue = nomination.assignment, nomination.pending.queue
        assert assignment is not None, "a workload that can proceed has flavors"
        turn = Turn(nomination, "preempting", assignment.usage)
        fits = not nomination.targets and self._may_start_now(turn, spares_promises=True)
        if fits:
            turn = Turn(nomination, "admitted", assignment.usage)
        if fits or turn.targets:
            yield turn
        self._usage_changed(queue)
        if fits:
            self._start(self._admitted(turn))
            self._let_compete(queue)
            return
        self.last[nomination.pending.name] = self._promised[nomination.pending.name] = turn
        for admitted in self._evict_targets(turn):
            self._usage_changed(admitted.queue)
            self._source.evict(admitted)
        self._source.hold_head(turn)

    def _may_stop(self) -> bool:
        """Return whether enough pods started, and a new plan would go on as this one would."""
        is_between = self._order is None or self._order.is_between_rounds()
        return self.has_started_enough() and is_between

    def _next_turn(self) -> WorkloadName | None:
        """Return the next workload; a single one needs no order."""
        if self._order is None:
            if len(self._competing) < 2:
                return next(iter(self._competing), None)
            self._order = self._new_order()
        return self._order.pop()

    def _start(self, admitted: AdmittedWorkload) -> None:
        self._started.add(admitted.name)
        self._source.admit(admitted)

    def _can_proceed(self, nomination: Nomination) -> bool:
        """Return whether it fits, or would once victims have left that may be evicted."""
        if not nomination.targets:
            return nomination.can_proceed()
        names = [target.workload.name for target in nomination.targets]
        return self._started.isdisjoint(names) and self._promised.keys().isdisjoint(names)

    def _spares_reserved(self, nomination: Nomination) -> bool:
        """Return whether it takes nothing that StrictFIFO heads before it reserved."""
        if not self._blocking:
            return True
        for turn in self._blocking:
            self.decided_on.charge(turn.nomination.pending.queue, turn.reserved)
        is_spared = fits_after_preemption(self.decided_on, nomination)
        for turn in self._blocking:
            self.decided_on.discharge(turn.nomination.pending.queue, turn.reserved)
        return is_spared

    def _mark_inadmissible(self, nomination: Nomination) -> bool:
        """Set a workload aside; return whether the next one of its queue may compete.

        With StrictFIFO it stays the head, and reserves what it could have.
        """
        pending, assignment = nomination.pending, nomination.assignment
        is_blocking = self._source.is_blocked_by_head(pending.queue)
        turn = Turn(nomination, "nofit" if assignment is None else "nocandidates")
        if is_blocking and assignment is not None:
            usage = capacity_to_reserve(self.decided_on, pending.queue, assignment)
            turn = replace(turn, reserved=tuple([(axis, max(0, most)) for axis, most in usage]))
            self._blocking.append(turn)
        self.last[pending.name] = turn
        self._source.mark_inadmissible(pending)
        return not is_blocking

    def _may_start_now(self, turn: Turn, *, spares_promises: bool) -> bool:
        """Return whether it fits before any victim has left.

        If it *spares_promises*, those of other workloads must still fit: all that fit once their
        victims have left. Cost: the depth for each promise and each evicted workload.
        """
        pending = turn.nomination.pending
        if not self._source.fits_now(pending.queue, turn.reserved):
            return False
        if not spares_promises:
            return True
        others = [each for name, each in self._promised.items() if name != pending.name]
        before = [each for each in others if self._fits_once_evicted_left(each)]
        if not before:
            return True
        self.present.charge_axes(pending.queue, turn.reserved)
        is_spared = all(map(self._fits_once_evicted_left, before))
        self.present.discharge_axes(pending.queue, turn.reserved)
        return is_spared

    def _fits_once_evicted_left(self, turn: Turn) -> bool:
        """Return whether a promise fits as soon as the workloads evicted for it have left."""
        present, pending = self.present, turn.nomination.pending
        promise, evicted = self._source.promises.get(pending.name), self._source.evicted()
        names = () if promise is None else promise.waits_for
        gone = [evicted[name] for name in names if name in evicted]
        for admitted in gone:
            present.discharge_axes(admitted.queue, admitted.usage)
        fits = not present.lacking(pending.queue, turn.reserved)
        for admitted in reversed(gone):
            present.charge_axes(admitted.queue, admitted.usage)
        return fits

    def _new_order(self) -> Order:
        gates = order_gates(self._settings.feature_gates)
        heads = [head_of(found, is_preempting=False) for found, _ in self._competing.values()]
        if self._settings.fair_sharing:
            return Tournament(self.decided_on, heads, gates)
        return ClassicalOrder(heads, gates)

    def _usage_changed(self, queue: QueueName) -> None:
        self._changed_times += 1
        if self._order is not None:
            self._order.changed(queue)

    def _let_compete(self, queue: QueueName) -> None:
        """Let the first workload left in *queue* that can proceed compete, if there is one."""
        found = self._source.nominate_next(queue)
        while not (
            found is None or self._can_proceed(found) or self._source.is_blocked_by_head(queue)
        ):
            self._mark_inadmissible(found)
            found = self._source.nominate_next(queue)
        if found is not None:
            self._competing[found.pending.name] = found, self._changed_times
            if self._order is not None:
                self._order.enter(head_of(found, is_preempting=False))
