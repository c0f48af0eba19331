"""The cycles of one tree without those in which nobody can be admitted.

Law: the turns that change anything are those of `TreeRounds` on the same tree. Of the heads of a
cycle only those are nominated of which it is not known that they are refused. The others count in
the order of turns alone, and not even there if nobody competes.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import assert_never

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.policy.kueue.cycle.cycle import KueueCycle, Turn, fits_after_preemption
from fairlead.policy.kueue.cycle.rounds import Rounds
from fairlead.policy.kueue.flavors.assignment import AssignmentMode
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.incremental.equivalence_classes import EquivalenceClass, LineInPlan
from fairlead.policy.kueue.incremental.tree_view import TrackedTree
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import PendingWorkload


class QuickRounds(Rounds):
    """The cycles of one tree that is remembered from plan to plan."""

    def __init__(
        self,
        view: TrackedTree,
        axes: QuotaAxes,
        settings: KueueSettings,
        restraints: PreemptionRestraints,
    ) -> None:
        """Begin with *view*, which follows what is decided."""
        super().__init__(view.snapshot, view.present, axes, settings, restraints, view.promises())
        self._view = view
        self._nominated: dict[WorkloadName, Nomination] = {}  # as they would be now
        self._in_plan = {name: LineInPlan(line) for name, line in view.preempting.items()}

    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict somebody, each before the snapshot follows it.

        Cost: the kinds that are awake or have room, and a tournament of all heads for each cycle
        in which more than one of them can proceed.
        """
        cycle = 0
        while not self.has_started_enough() and (found := self._next_cycle(cycle)) is not None:
            cycle, eq_classes = found
            has_changed, promises = False, self._promises.copy()
            turns = self._turns(cycle, eq_classes)
            for turn in turns:
                if turn.outcome == "admitted" or self.newly_evicted(turn):
                    has_changed = True
                    yield turn
                self._follow_in(cycle, turn)
            if has_changed or self._anybody_steps_aside(cycle, turns):
                self._nominated = self.chosen()
                for line in self._in_plan.values():
                    line.is_asked_again |= line.was_skipped
            elif self._promises != promises:
                self._nominated = self.chosen()
            cycle += 1

    def leaving(self) -> frozenset[WorkloadName]:
        """Return who was told to leave, in this plan or before."""
        return frozenset(self._view.leaving)

    def _next_cycle(self, cycle: int) -> tuple[int, list[EquivalenceClass]] | None:
        """Return the next cycle in which somebody is not known to be refused, and which kinds."""
        eq_classes = self._view.parked.hopeful()
        turns = [
            (turn, eq_class)
            for eq_class in eq_classes
            if (turn := self._turn_of(eq_class)) is not None
        ]
        turns = [each for each in turns if each[0] >= cycle]
        first = min([turn for turn, _ in turns], default=None)
        lines = self._in_plan.values()
        if any(line.preempting and line.is_asked_again for line in lines):
            first = cycle
        elif self._anybody_stays() and any(True for _ in self._heads(cycle, self._asked())):
            first = cycle  # who stays has a turn in every cycle, among others each time
        if first is None:
            return None
        return first, [eq_class for turn, eq_class in turns if turn == first]

    def _turn_of(self, eq_class: EquivalenceClass) -> int | None:
        line = self._in_plan.get(eq_class.queue)
        if line is None:
            return self._view.lines[eq_class.queue].order().index(eq_class)
        return line.turn_of(eq_class) if line.is_asked_again else None

    def _turns(self, cycle: int, eq_classes: Sequence[EquivalenceClass]) -> list[Turn]:
        """Return the turns in a cycle of the first of *kinds*, and of those who stay heads."""
        heads = {eq_class.queue: eq_class.first() for eq_class in eq_classes}
        for queue, line in self._in_plan.items():
            if line.preempting is not None:
                heads[queue] = self._view.pending(line.preempting)
            elif not line.is_asked_again and line.left:
                heads[queue] = line.left[0].first()
        nominations = [self._nominate(head) for head in heads.values()]
        able: list[Nomination] = []
        turns: list[Turn] = []
        for each in nominations:
            if each.can_proceed():
                able.append(each)
            else:
                turns.append(_refused(each))
        if len(able) == 1:
            return [*turns, self._alone(able[0])]
        if not able:
            return turns
        refused = [turn.nomination for turn in turns]
        refused += [eq_class.refused() for eq_class in self._heads(cycle, heads)]
        return [*turns, *self._compete([*able, *self._beside(able, refused)], able)]

    def _alone(self, able: Nomination) -> Turn:
        """Return the turn of the only one who can proceed: nobody takes anything before it."""
        assert able.assignment is not None, "who can proceed has flavors"
        if able.mode() is AssignmentMode.FIT:
            return Turn(able, "admitted", able.assignment.usage)
        if fits_after_preemption(self.decided_on, able):
            return Turn(able, "preempting", able.assignment.usage)
        return Turn(able, "skipped")  # others were admitted since it chose

    def _beside(
        self, able: Sequence[Nomination], refused: Iterable[Nomination]
    ) -> Iterator[Nomination]:
        """Yield those of the *refused* who can stand for a side of the root in place of one *able*.

        A turn of the others changes nothing, and comes between no two turns of one side.
        """
        tops = self._view.tops
        concerned = {tops[each.pending.queue] for each in able}
        for each in refused:
            top = tops[each.pending.queue]
            if top in concerned and top != each.pending.queue:
                yield each

    def _compete(self, nominations: Sequence[Nomination], able: Sequence[Nomination]) -> list[Turn]:
        """Return the turns of those *able* to proceed, among all who have been nominated.

        Once none of those who are left has room, the rest of the cycle changes nothing. What the
        turns keep is charged while they last: copying the snapshot would cost more than all that.
        """
        cycle = KueueCycle(
            self.decided_on, self._axes, self._settings, self._view.nominator.renominate
        )
        left = {each.pending.name: each for each in able}
        all_fit = all(each.mode() is AssignmentMode.FIT for each in able)
        turns = []
        for turn in cycle.turns(nominations):
            if left.pop(turn.nomination.pending.name, None) is None:
                assert not turn.kept, "who is refused keeps nothing where it may always reclaim"
                continue
            turns.append(turn)
            if not left or (
                turn.outcome == "admitted"
                and all_fit
                and not any(map(cycle.still_fits, left.values()))
            ):
                break
        for turn in turns:
            self.decided_on.discharge(turn.nomination.pending.queue, turn.kept)
        return [*turns, *[Turn(each, "skipped") for each in left.values()]]

    def _nominate(self, head: PendingWorkload) -> Nomination:
        """Nominate a head, unless that was done already and nothing has changed since."""
        found = self._nominated.get(head.name)
        if found is None:
            found = self._nominated[head.name] = self._view.nominate(head)
        return found

    def _anybody_stays(self) -> bool:
        """Return whether a queue has a head that had its turn and is still the head."""
        return any(line.preempting or line.was_skipped for line in self._in_plan.values())

    def _asked(self) -> set[QueueName]:
        """Return the queues whose heads were asked, and will not be again unless others are."""
        return {queue for queue, line in self._in_plan.items() if not line.is_asked_again}

    def _heads(self, cycle: int, besides: Container[QueueName]) -> Iterator[EquivalenceClass]:
        """Yield the kinds of those who are heads in a cycle, but for some queues."""
        for queue, line in self._view.waited_for.items():
            if queue not in besides:
                in_plan = self._in_plan.get(queue)
                eq_class = line.head_in(cycle) if in_plan is None else in_plan.head_in(cycle)
                if eq_class is not None:
                    yield eq_class

    def _anybody_steps_aside(self, cycle: int, turns: Sequence[Turn]) -> bool:
        """Return whether those who stay find others around them in the next cycle."""
        if not self._anybody_stays():
            return False
        heads = {turn.nomination.pending.queue for turn in turns}
        return any(turn.outcome == "nocandidates" for turn in turns) or any(
            eq_class.refused().assignment is not None for eq_class in self._heads(cycle, heads)
        )

    def _follow_in(self, cycle: int, turn: Turn) -> None:
        """Let snapshot, view and line follow a turn in a cycle."""
        pending, view = turn.nomination.pending, self._view
        line = self._in_plan.get(pending.queue)
        if line is None:
            line = self._in_plan[pending.queue] = LineInPlan(view.lines[pending.queue])
        line.come_to(cycle)
        self.last[pending.name] = turn
        line.was_skipped = turn.outcome in ("skipped", "deferred")
        line.is_asked_again = turn.outcome != "preempting" and not line.was_skipped
        match turn.outcome:
            case "admitted":
                del self.last[pending.name]
                self._promises.pop(pending.name, None)
                view.admit(self._holder(turn))
                line.preempting = None
            case "preempting":
                for admitted in self._evict_targets(turn):
                    view.tell_to_leave(admitted)
                line.preempting = pending.name
            case "nofit" | "nocandidates":
                self._promises.pop(pending.name, None)
                line.left.remove(view.kind_of(pending))
                line.preempting = None
            case "skipped" | "deferred":
                pass  # it stays the head, and is asked again if anything changed
            case _:
                assert_never(turn.outcome)
        line.goes_on(cycle, is_shorter=turn.outcome == "admitted")


def _refused(nomination: Nomination) -> Turn:
    return Turn(nomination, "nofit" if nomination.assignment is None else "nocandidates")
