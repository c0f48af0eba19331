"""Kueue's rules as one function: from a state to what should be done about it."""

from collections.abc import Iterator, Mapping, Sequence
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
from fairlead.policy.kueue.cycle.outcome import TreeOutcome
from fairlead.policy.kueue.cycle.slices import may_be_sliced
from fairlead.policy.kueue.cycle.source import PlainSource
from fairlead.policy.kueue.cycle.turns import rounds_of
from fairlead.policy.kueue.flavors.demands import DemandReader
from fairlead.policy.kueue.incremental.admitted import AdmittedCache
from fairlead.policy.kueue.incremental.state import IncrementalState
from fairlead.policy.kueue.pending.admissibility import Admissibility, drained, misconfigured
from fairlead.policy.kueue.pending.local_queue_usage import local_queue_usage
from fairlead.policy.kueue.pending.order import pending_order
from fairlead.policy.kueue.pending.queue import PendingQueue, UsageOrderedQueue
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.reasons.decisions import TreeDecisions
from fairlead.policy.kueue.reasons.wait import WaitExplainer
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.admitted import AdmittedWorkloads
from fairlead.policy.kueue.snapshot.build import snapshots
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import PendingWorkload, is_preempting, promise_to


class KueuePolicy:
    """Plans under Kueue's rules with the settings of one administrator."""

    def __init__(self, settings: KueueSettings, *, plain: bool = False) -> None:
        """Make the policy once; it may plan for any number of states.

        If it is *plain*, nothing is kept from plan to plan. It decides the same, only slower.
        """
        self.settings = settings
        self._plain = plain
        self._waiting_pods: tuple[ClusterState, WaitingPods] | None = None
        self._last: _LastPlan | None = None
        self._incremental: IncrementalState | None = None
        self._admitted: AdmittedCache | None = None

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

        All rounds until the evicted workloads have left: which workloads are admitted, which give
        way to which, and why each of the others waits. The same state gives the same plan, in
        whichever order things were listed. A state that has not changed since the last call costs
        nothing, unless the time matters; a tree without pending workloads costs little.

        A workload that is *held* does not queue, and loses what was promised to it. One of which
        any pod is held as a victim is not evicted. Nodes that are held have no effect: Kueue grants
        quota, and places no pods.

        The plan stops after *at_most_starts* pods, but not within a workload, nor in faithful mode
        within a cycle, where it is plain that all pending workloads get quota (`may_be_sliced`).
        Law: slices in a row, each carried out, are the whole plan without its waits, in both modes;
        the last one has the waits.
        """
        if not explain:
            return self._changes(state, now_ms, held, at_most_starts)
        request, last = _Request(held, at_most_starts), self._last
        if self._plain or last is None or not last.may_serve(state, now_ms, request):
            plan = self._explained(state, now_ms, request)
            last = self._last = _LastPlan(state, state.moment, request, plan)
        return replace(last.plan, taken_ms=now_ms)

    def _explained(self, state: ClusterState, now_ms: int, request: "_Request") -> Plan:
        with holding(state, _without_nodes(request.held)):
            planning = _Planning(state, self.settings, now_ms, self._admitted_workloads(state))
            starts = self._starts(state, request.at_most_starts)
            changes = planning.changes(starts)
            is_cut = _is_cut(changes, starts)
            decisions = (*changes, *(() if is_cut else planning.waits()))
        return Plan(
            taken_ms=now_ms,
            decisions=decisions,
            is_cut=is_cut,
            time_dependent=planning.time_dependent(),
        )

    def _changes(
        self, state: ClusterState, now_ms: int, held: Holds, at_most_starts: int | None
    ) -> Plan:
        """Return the plan without its waits.

        Cost: where a state can be followed through its changes, what changed and what it concerns;
        else about half of a plan.
        """
        incremental = self._incremental_state(state, now_ms)
        with holding(state, _without_nodes(held)):
            starts = self._starts(state, at_most_starts)
            found = None if incremental is None else incremental.changes(now_ms, starts)
            if incremental is not None and found is not None:
                return Plan(
                    taken_ms=now_ms,
                    decisions=tuple(found),
                    is_cut=_is_cut(found, starts),
                    time_dependent=incremental.time_dependent,
                    valid_until_ms=incremental.valid_until_ms,
                )
            planning = _Planning(state, self.settings, now_ms, self._admitted_workloads(state))
            changes = planning.changes(starts)
        return Plan(
            taken_ms=now_ms,
            decisions=tuple(changes),
            is_cut=_is_cut(changes, starts),
            time_dependent=planning.time_dependent(),
        )

    def _incremental_state(self, state: ClusterState, now_ms: int) -> IncrementalState | None:
        """Return what is remembered of *state*; None if it cannot be followed."""
        if self._plain:
            return None
        if self._incremental is None or not self._incremental.serves(state, now_ms):
            self._incremental = IncrementalState(state, self.settings)
        return self._incremental if self._incremental.is_possible else None

    def _admitted_workloads(
        self, state: ClusterState
    ) -> Mapping[QueueName, AdmittedWorkloads] | None:
        """Return the admitted workloads of each queue, if they can be kept from plan to plan."""
        if self._plain:
            return None
        if self._admitted is None or not self._admitted.serve(state):
            self._admitted = AdmittedCache(state, self.settings)
        return self._admitted.up_to_date()

    def _starts(self, state: ClusterState, at_most: int | None) -> int | None:
        """Return after how many starts to stop; None: not at all."""
        if at_most is None:
            return None
        if self._waiting_pods is None or self._waiting_pods[0] is not state:
            self._waiting_pods = state, WaitingPods(state, lambda _: False)
        may_stop = may_be_sliced(state, self.settings, self._waiting_pods[1], at_most)
        return at_most if may_stop else None

    def plan_with_outcomes(
        self, state: ClusterState, now_ms: int
    ) -> tuple[Plan, tuple[TreeOutcome, ...]]:
        """Return the plan, and what it left behind of each tree with pending workloads."""
        planning = _Planning(state, self.settings, now_ms)
        plan = Plan(taken_ms=now_ms, decisions=(*planning.changes(), *planning.waits()))
        return plan, planning.outcomes()


class _Request(NamedTuple):
    """All that a caller says of a plan besides the state and the time."""

    held: Holds
    at_most_starts: int | None


class _LastPlan(NamedTuple):
    """The last state that was planned for, and the plan."""

    state: ClusterState
    moment: int
    request: _Request
    plan: Plan

    def may_serve(self, state: ClusterState, now_ms: int, request: _Request) -> bool:
        """Return whether the same would be decided for *state*."""
        is_same = self.state is state and self.moment == state.moment and self.request == request
        taken_ms = self.plan.taken_ms
        return is_same and (now_ms == taken_ms if self.plan.time_dependent else now_ms >= taken_ms)


class _TreePlan(NamedTuple):
    """One tree after its rounds, and the workloads of it that may not queue."""

    inadmissible: list[Wait]
    outcome: TreeOutcome


class _Planning:
    """One plan in the making, tree by tree, with everything read anew."""

    def __init__(
        self,
        state: ClusterState,
        settings: KueueSettings,
        now_ms: int,
        admitted: Mapping[QueueName, AdmittedWorkloads] | None = None,
    ) -> None:
        """Decide nothing yet; *admitted* are the workloads of all queues, if they are known."""
        self._state = state
        self._known_admitted = admitted
        self._settings = settings
        self._now_ms = now_ms
        self._admissibility = Admissibility(state, now_ms)
        self._local_usage = local_queue_usage(state, settings, now_ms)
        self._demands = DemandReader(state, settings)
        self._restraints = PreemptionRestraints(state, settings, now_ms)
        self._trees: list[_TreePlan] = []

    def time_dependent(self) -> bool:
        """Return whether at another time something else might have been decided."""
        return (
            self._settings.options.min_run_time_ms > 0
            or self._local_usage is not None
            or self._admissibility.time_dependent
            or self._restraints.time_dependent
        )

    def changes(self, at_most_starts: int | None = None) -> list[Decision]:
        """Return which workloads are drained and what becomes of each tree; to be asked once.

        Where none is drained, it may stop after *at_most_starts* pods.
        """
        known = self._known_admitted  # of which none is drained
        evictions = drained(self._state, self._admissibility) if known is None else []
        decisions: list[Decision] = [*evictions]
        starts_left = None if evictions else at_most_starts
        gone = {each.workload for each in evictions}
        for snapshot in snapshots(
            self._state, self._settings, self._now_ms, gone, self._local_usage, known
        ):
            inadmissible: list[Wait] = []
            source = self._source(snapshot, inadmissible)
            rounds = rounds_of(source, self._settings, self._restraints)
            rounds.pods_left_to_start = starts_left
            decisions += TreeDecisions(self._state, rounds).decisions()
            outcome = TreeOutcome(source, rounds, self._restraints)
            self._trees.append(_TreePlan(inadmissible, outcome))
            starts_left = rounds.pods_left_to_start
            if rounds.has_started_enough():
                break
        return decisions

    def outcomes(self) -> tuple[TreeOutcome, ...]:
        """Return what the rounds of each tree left behind, once the changes are known."""
        return tuple(tree.outcome for tree in self._trees)

    def waits(self) -> Iterator[Wait]:
        """Yield which workloads wait, and why, once the changes are known."""
        for inadmissible, outcome in self._trees:
            yield from inadmissible
            explainer = WaitExplainer(
                self._state, outcome, self._settings, self._demands, self._now_ms
            )
            yield from explainer.of(outcome.queues.values())
        yield from self._outside_all_trees()

    def _source(self, snapshot: Snapshot, inadmissible: list[Wait]) -> PlainSource:
        """Return the data of one tree; workloads that may not queue go to *inadmissible*."""
        queues: dict[QueueName, PendingQueue] = {}
        promises: dict[WorkloadName, Promise] = {}
        for queue, rules in snapshot.rules.items():
            pending = []
            for name in self._pending(queue):
                workload = self._state.workloads[name]
                reason = self._admissibility.inadmissible_reason(workload)
                if reason is None:
                    pending.append(self._restrained(workload, rules))
                else:
                    inadmissible.append(Wait(workload=name, reason=reason))
            names = (each.name for each in pending)
            preempting = next((name for name in names if is_preempting(self._state, name)), None)
            queues[queue] = self._queue(queue, pending, rules, preempting)
            promise = None if preempting is None else promise_to(self._state, preempting)
            if preempting is not None and promise is not None:
                promises[preempting] = promise
        return PlainSource(
            snapshot, queues, promises, self._restraints, self._state.axes, self._settings
        )

    def _queue(
        self,
        name: QueueName,
        pending: list[PendingWorkload],
        rules: ClusterQueue,
        preempting: WorkloadName | None,
    ) -> PendingQueue:
        if self._local_usage is not None and self._local_usage.order(name):
            return UsageOrderedQueue(pending, rules, preempting, self._local_usage)
        return PendingQueue(pending, rules, preempting)

    def _restrained(self, workload: Workload, rules: ClusterQueue) -> PendingWorkload:
        pending = self._demands.pending(workload, rules)
        return replace(pending, restraint=self._restraints.of(pending))

    def _pending(self, queue: QueueName) -> list[WorkloadName]:
        return pending_order(self._state, queue, self._settings, self._local_usage)

    def _outside_all_trees(self) -> Iterator[Wait]:
        """Yield workloads of queues that do not exist, or whose cohort does not exist."""
        known = set(self._state.tree_order())
        for queue in self._state.waited_for():
            if queue in known:
                continue
            for name in self._pending(queue):
                reason = self._admissibility.inadmissible_reason(self._state.workloads[name])
                missing = misconfigured(f"the cohort of ClusterQueue {queue} does not exist")
                yield Wait(workload=name, reason=reason or missing)


def _is_cut(changes: Sequence[Decision], starts: int | None) -> bool:
    """Return whether *changes* end after so many starts; maybe none is left that could start."""
    if starts is None or not all(isinstance(each, Start) for each in changes):
        return False
    return sum([len(each.placements) for each in changes if isinstance(each, Start)]) >= starts


def _without_nodes(held: Holds) -> Holds:
    """Return what of *held* matters where no pod is placed."""
    return replace(held, nodes=frozenset()) if held.nodes else held
