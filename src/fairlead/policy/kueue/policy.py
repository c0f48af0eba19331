"""Kueue's rules as one function: from a state to what should be done about it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.execution.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.memory import Promise
from fairlead.model.plan import Decision, Plan, Start, Wait
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.placement.waiting_pods import WaitingPods
from fairlead.policy.kueue.admission_uses import admission_uses
from fairlead.policy.kueue.claim_restraints import ClaimRestraints
from fairlead.policy.kueue.demands import DemandReader
from fairlead.policy.kueue.door import Door, misconfigured
from fairlead.policy.kueue.drain import drained
from fairlead.policy.kueue.flavor_assignment import Waiting
from fairlead.policy.kueue.followed_state import FollowedState
from fairlead.policy.kueue.holder_line import HolderLine
from fairlead.policy.kueue.kept_lines import KeptLines
from fairlead.policy.kueue.may_be_cut import may_be_cut
from fairlead.policy.kueue.pending_line import PendingLine
from fairlead.policy.kueue.pending_order import pending_order
from fairlead.policy.kueue.plain_rounds import PlainRounds
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot import Snapshot
from fairlead.policy.kueue.snapshots import snapshots
from fairlead.policy.kueue.tree_decisions import TreeDecisions
from fairlead.policy.kueue.tree_rounds import TreeRounds
from fairlead.policy.kueue.tree_turns import TreeTurns
from fairlead.policy.kueue.use_ordered_line import UseOrderedLine
from fairlead.policy.kueue.waits import Waits
from fairlead.policy.kueue.workload_facts import is_preempting, promise_to


class KueuePolicy:
    """Plans under Kueue's rules with the settings of one administrator."""

    def __init__(self, settings: KueueSettings) -> None:
        """Make the policy once; it may plan for any number of states."""
        self.settings = settings
        self._waiting_pods: tuple[ClusterState, WaitingPods] | None = None
        self._last: _Planned | None = None
        self._followed: FollowedState | None = None
        self._kept: KeptLines | None = None

    def plan(
        self,
        state: ClusterState,
        now_ms: int,
        *,
        held: Holds = NOTHING_HELD,
        at_most_starts: int | None = None,
        explain: bool = True,
    ) -> Plan:
        """Return what to do about *state*, which is left as it is.

        All turns until those who are told to leave have left: who is admitted, who
        gives way to whom, and why each of the others waits. The same state gives the same plan,
        in whichever order things were listed. A state that has not changed since the last call
        costs nothing, unless the time matters; a tree in which nobody waits costs little.

        A workload that is *held* does not queue up, and keeps nothing that was promised to it. One
        of which any pod is held as a victim is not told to leave. Nodes that are held have no
        effect: Kueue grants quota, and places no pods.

        The plan stops after *at_most_starts* pods, but not within a workload, nor in faithful mode
        within a cycle, where it is plain that all who wait get quota (see `may_be_cut`). Law:
        slices in a row, each carried out, are the whole plan without its waits, in both modes; the
        last one has the waits.
        """
        if not explain:
            return self._changes(state, now_ms, held, at_most_starts)
        asked, last = _Asked(held, at_most_starts), self._last
        if last is None or not last.may_serve(state, now_ms, asked):
            plan = self._explained(state, now_ms, asked)
            last = self._last = _Planned(state=state, moment=state.moment, asked=asked, plan=plan)
        return replace(last.plan, taken_ms=now_ms)

    def _explained(self, state: ClusterState, now_ms: int, asked: "_Asked") -> Plan:
        with holding(state, _without_nodes(asked.held)):
            planning = _Planning(state, self.settings, now_ms, self._lines(state))
            starts = self._starts(state, asked.at_most_starts)
            changes = planning.changes(starts)
            is_cut = _is_cut(changes, starts)
            decisions = (*changes, *(() if is_cut else planning.waits()))
        return Plan(
            taken_ms=now_ms,
            decisions=decisions,
            is_cut=is_cut,
            time_dependent=planning.looked_at_the_clock(),
        )

    def _changes(
        self, state: ClusterState, now_ms: int, held: Holds, at_most_starts: int | None
    ) -> Plan:
        """Return the plan without its waits.

        Cost: where a state can be followed through its changes, what changed and whom it concerns;
        else about half of a plan.
        """
        followed = self._followed
        if followed is None or not followed.serves(state, now_ms):
            followed = self._followed = FollowedState(state, self.settings)
        with holding(state, _without_nodes(held)):
            starts = self._starts(state, at_most_starts)
            found = followed.changes(now_ms, starts) if followed.is_possible else None
            if found is not None:
                return Plan(
                    taken_ms=now_ms,
                    decisions=tuple(found),
                    is_cut=_is_cut(found, starts),
                    time_dependent=followed.looked_at_the_clock,
                    valid_until_ms=followed.holds_until_ms,
                )
            planning = _Planning(state, self.settings, now_ms, self._lines(state))
            changes = planning.changes(starts)
        return Plan(
            taken_ms=now_ms,
            decisions=tuple(changes),
            is_cut=_is_cut(changes, starts),
            time_dependent=planning.looked_at_the_clock(),
        )

    def _lines(self, state: ClusterState) -> Mapping[QueueName, HolderLine] | None:
        """Return the holders of each queue, if their lines can be kept."""
        if self._kept is None or not self._kept.serve(state):
            self._kept = KeptLines(state, self.settings)
        return self._kept.up_to_date()

    def _starts(self, state: ClusterState, at_most: int | None) -> int | None:
        """Return after how many starts to stop; None: not at all."""
        if at_most is None:
            return None
        if self._waiting_pods is None or self._waiting_pods[0] is not state:
            self._waiting_pods = state, WaitingPods(state, lambda _: False)
        return at_most if may_be_cut(state, self.settings, self._waiting_pods[1], at_most) else None

    def plan_with_rounds(
        self, state: ClusterState, now_ms: int
    ) -> tuple[Plan, tuple[PlainRounds, ...]]:
        """Return the plan, and of each tree in which somebody waits the turns that led to it.

        They are over, so that their snapshots stand as the plan leaves them.
        """
        planning = _Planning(state, self.settings, now_ms)
        plan = Plan(taken_ms=now_ms, decisions=(*planning.changes(), *planning.waits()))
        return plan, tuple(planning.rounds())


class _Asked(NamedTuple):
    """All that a caller says of a plan besides the state and the time."""

    held: Holds
    at_most_starts: int | None


class _Planned(NamedTuple):
    """The last state that was planned for, and what came of it."""

    state: ClusterState
    moment: int
    asked: _Asked
    plan: Plan

    def may_serve(self, state: ClusterState, now_ms: int, asked: _Asked) -> bool:
        """Return whether the same would be decided for *state*."""
        is_same = self.state is state and self.moment == state.moment and self.asked == asked
        taken_ms = self.plan.taken_ms
        return is_same and (now_ms == taken_ms if self.plan.time_dependent else now_ms >= taken_ms)


class _Planning:
    """One plan in the making."""

    def __init__(
        self,
        state: ClusterState,
        settings: KueueSettings,
        now_ms: int,
        lines: Mapping[QueueName, HolderLine] | None = None,
    ) -> None:
        self._state = state
        self._kept_lines = lines
        self._settings = settings
        self._now_ms = now_ms
        self._door = Door(state, now_ms)
        self._uses = admission_uses(state, settings, now_ms)
        self._demands = DemandReader(state, settings)
        self._restraints = ClaimRestraints(state, settings, now_ms)
        self._over: list[tuple[list[Wait], PlainRounds, dict[QueueName, PendingLine]]] = []

    def looked_at_the_clock(self) -> bool:
        """Return whether at another time something else might have been decided."""
        return (
            self._settings.options.min_run_time_ms > 0
            or self._uses is not None
            or self._door.looked_at_the_clock
            or self._restraints.looked_at_the_clock
        )

    def changes(self, at_most_starts: int | None = None) -> list[Decision]:
        """Return who is drained and what becomes of each tree; to be asked once.

        Where nobody is drained, it may stop after *at_most_starts* pods.
        """
        kept = self._kept_lines  # in which no workload is drained
        evictions = drained(self._state, self._door) if kept is None else []
        decisions: list[Decision] = [*evictions]
        starts_left = None if evictions else at_most_starts
        gone = {each.workload for each in evictions}
        seen = snapshots(self._state, self._settings, self._now_ms, gone, self._uses, kept)
        for snapshot in seen:
            refused: list[Wait] = []
            lines = self._lines(snapshot, refused)
            promises = self._promises(lines.values())
            rounds = (TreeTurns if self._settings.keeps_promises else TreeRounds)(
                snapshot, self._state.axes, self._settings, lines, self._restraints, promises
            )
            rounds.starts_left = starts_left
            decisions += TreeDecisions(self._state, rounds).decisions()
            self._over.append((refused, rounds, lines))
            starts_left = rounds.starts_left
            if rounds.has_started_enough():
                break
        return decisions

    def rounds(self) -> Iterator[PlainRounds]:
        """Yield the turns of each tree, once the changes are known."""
        for _, rounds, _ in self._over:
            yield rounds

    def waits(self) -> Iterator[Wait]:
        """Yield who waits, and why, once the changes are known."""
        for refused, rounds, lines in self._over:
            yield from refused
            explained = Waits(self._state, rounds, self._settings, self._demands, self._now_ms)
            yield from explained.of(lines.values())
        yield from self._nowhere()

    def _lines(self, snapshot: Snapshot, refused: list[Wait]) -> dict[QueueName, PendingLine]:
        """Return who waits in each ClusterQueue; who may not queue up goes to *refused*."""
        lines: dict[QueueName, PendingLine] = {}
        for queue, rules in snapshot.rules.items():
            admissible = []
            for name in self._pending(queue):
                workload = self._state.workloads[name]
                reason = self._door.refusal(workload)
                if reason is None:
                    admissible.append(workload)
                else:
                    refused.append(Wait(workload=name, reason=reason))
            line = [self._waiting(each, rules) for each in admissible]
            names = (each.name for each in admissible)
            preempting = next((name for name in names if is_preempting(self._state, name)), None)
            if self._uses is not None and self._uses.order(queue):
                lines[queue] = UseOrderedLine(line, rules, preempting, self._uses)
            else:
                lines[queue] = PendingLine(line, rules, preempting)
        return lines

    def _promises(self, lines: Iterable[PendingLine]) -> dict[WorkloadName, Promise]:
        """Return what earlier plans promised to those who preempt, as far as it is known."""
        promises = {}
        for line in lines:
            if line.preempting is not None:
                promise = promise_to(self._state, line.preempting)
                if promise is not None:
                    promises[line.preempting] = promise
        return promises

    def _waiting(self, workload: Workload, rules: ClusterQueue) -> Waiting:
        waiting = self._demands.waiting(workload, rules)
        return replace(waiting, restraint=self._restraints.of(waiting))

    def _pending(self, queue: QueueName) -> list[WorkloadName]:
        return pending_order(self._state, queue, self._settings, self._uses)

    def _nowhere(self) -> Iterator[Wait]:
        """Yield those that wait in queues that are not there, or hang on a cohort that is not."""
        known = set(self._state.tree_order())
        for queue in self._state.waited_for():
            if queue in known:
                continue
            for name in self._pending(queue):
                reason = self._door.refusal(self._state.workloads[name])
                missing = misconfigured(f"the cohort of ClusterQueue {queue} does not exist")
                yield Wait(workload=name, reason=reason or missing)


def _is_cut(changes: Sequence[Decision], starts: int | None) -> bool:
    """Return whether *changes* end after so many starts; maybe nobody is left who could start."""
    if starts is None or not all(isinstance(each, Start) for each in changes):
        return False
    return sum([len(each.placements) for each in changes if isinstance(each, Start)]) >= starts


def _without_nodes(held: Holds) -> Holds:
    """Return what of *held* matters where no pod is placed."""
    return replace(held, nodes=frozenset()) if held.nodes else held
