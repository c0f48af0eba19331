"""Kueue's rules as one function: from a state to what should be done about it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName
from fairlead.model.collector import paused_collector
from fairlead.model.execution.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Decision, LeftPending, Plan, Start
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.placement.waiting_pods import WaitingPods
from fairlead.policy.kueue.cycle.rounds import TreeOutcome
from fairlead.policy.kueue.cycle.source import PlainTrees, Source, Trees
from fairlead.policy.kueue.cycle.tree import CohortTree
from fairlead.policy.kueue.cycle.turns import rounds_of
from fairlead.policy.kueue.incremental.state import KeptTrees
from fairlead.policy.kueue.pending.admissibility import misconfigured
from fairlead.policy.kueue.pending.local_queue_usage import local_queue_usage
from fairlead.policy.kueue.pending.queue import pending_order
from fairlead.policy.kueue.reasons.decisions import TreeDecisions
from fairlead.policy.kueue.reasons.wait import WaitExplainer
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.build import quota_tree, rules_of, trees_of
from fairlead.policy.kueue.workloads import Usage
from fairlead.policy.obstacles import left_pending


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
        self._kept: KeptTrees | None = None

    @paused_collector()
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
        way to which, and, if it is to *explain*, why each of the others waits. The same state gives
        the same plan, in whichever order things were listed. A state that has not changed since the
        last call costs nothing, unless the time matters; a tree without pending workloads costs
        little.

        A workload that is *held* does not queue, and loses what was promised to it. One of which
        any pod is held as a victim is not evicted. Nodes that are held have no effect: Kueue grants
        quota, and places no pods.

        The plan stops after *at_most_starts* pods, but not within a workload, nor in faithful mode
        within a cycle, where it is plain that all pending workloads get quota (`may_be_sliced`).
        Law: slices in a row, each carried out, are the whole plan without its waits, in both modes;
        the last one has the waits.
        """
        request, last = _Request(held, at_most_starts, explain), self._last
        if self._plain or last is None or not last.may_serve(state, now_ms, request):
            plan = self._new_plan(state, now_ms, request)
            last = self._last = _LastPlan(state, state.moment, request, plan)
        return replace(last.plan, taken_ms=now_ms)

    def _new_plan(self, state: ClusterState, now_ms: int, request: "_Request") -> Plan:
        held = replace(request.held, nodes=frozenset())  # no pod is placed
        try:
            with holding(state, held):
                starts = self._starts(state, request.at_most_starts)
                planning = _Planning(state, self.settings, self._trees(state, now_ms))
                return planning.plan(starts, explain=request.explain)
        except BaseException:
            self._kept = None  # it may have followed a change, or undone a trial, only in part
            raise

    def _trees(self, state: ClusterState, now_ms: int) -> Trees:
        """Return the trees of *state*: those of the last plan, brought up to date, if possible.

        Not where preemption loops are prevented: any eviction may restrain any workload.
        """
        if self._plain or self.settings.options.ends_loops:
            return PlainTrees(state, self.settings, now_ms)
        if self._kept is None or not self._kept.serve(state, now_ms):
            self._kept = KeptTrees(state, self.settings, now_ms)
        self._kept.bring_up_to(now_ms)
        return self._kept

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
        planning = _Planning(state, self.settings, PlainTrees(state, self.settings, now_ms))
        return planning.plan(None, explain=True), planning.outcomes()


class _Request(NamedTuple):
    """All that a caller says of a plan besides the state and the time."""

    held: Holds
    at_most_starts: int | None
    explain: bool


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


class _Planning:
    """One plan in the making, tree by tree."""

    def __init__(self, state: ClusterState, settings: KueueSettings, trees: Trees) -> None:
        """Decide nothing yet."""
        self._state = state
        self._trees = trees
        self._settings = settings
        self._now_ms = trees.reader.now_ms
        self._local_usage = local_queue_usage(state, settings, self._now_ms)
        self._planned: list[tuple[CohortTree, TreeOutcome]] = []

    def plan(self, at_most_starts: int | None, *, explain: bool) -> Plan:
        """Return the plan, with the reasons of the waits if it is to *explain*."""
        changes = self._changes(at_most_starts, explain=explain)
        is_cut = _is_cut(changes, at_most_starts)
        waits = list(self._waits()) if explain and not is_cut else []
        return Plan(
            taken_ms=self._now_ms,
            decisions=(*changes, *waits),
            is_cut=is_cut,
            time_dependent=bool(
                self._trees.is_delayed()
                or self._settings.options.min_run_time_ms
                or self._local_usage is not None
                or any(each.reason.remaining_ms is not None for each in waits)
            ),
            valid_until_ms=None if explain else self._trees.valid_until_ms(),
        )

    def _changes(self, at_most_starts: int | None, *, explain: bool) -> list[Decision]:
        """Return which workloads are drained and what becomes of each tree.

        Where none is drained, it may stop after *at_most_starts* pods.
        """
        evictions = self._trees.drained()
        decisions: list[Decision] = [*evictions]
        starts_left = None if evictions else at_most_starts
        restraints = self._trees.reader.restraints
        for tree, nominations in self._trees.waited_for():
            tree.begin(self._local_usage)
            if not explain and nominations.is_at_rest(tree):
                continue
            source = Source(tree, nominations, restraints, self._state.axes, self._settings)
            rounds = rounds_of(source, self._settings, restraints)
            rounds.pods_left_to_start = starts_left
            decisions += TreeDecisions(self._state, rounds).decisions()
            self._planned.append((tree, TreeOutcome(source, rounds, restraints)))
            starts_left = rounds.pods_left_to_start
            if rounds.has_started_enough():
                break
        return decisions

    def outcomes(self) -> tuple[TreeOutcome, ...]:
        """Return what the rounds of each tree left behind, once the changes are known."""
        return tuple(outcome for _, outcome in self._planned)

    def _waits(self) -> Iterator[LeftPending]:
        """Yield which workloads wait, and why, once the changes are known."""
        for tree, outcome in self._planned:
            yield from tree.inadmissible()
            explainer = WaitExplainer(
                self._state, outcome, self._settings, self._trees.reader.demands, self._now_ms
            )
            yield from explainer.of(outcome.queues.values())
        yield from self._outside_all_trees()

    def _outside_all_trees(self) -> Iterator[LeftPending]:
        """Yield workloads of queues that do not exist, or whose cohort does not exist."""
        known, admissibility = set(self._state.tree_order()), self._trees.reader.admissibility
        for queue in self._state.waited_for():
            if queue in known:
                continue
            for name in pending_order(self._state, queue, self._settings, self._local_usage):
                workload = self._state.workloads[name]
                reason = admissibility.inadmissible_reason(workload)
                missing = misconfigured(f"the cohort of ClusterQueue {queue} does not exist")
                yield left_pending(workload, reason or missing)


def _is_cut(changes: Sequence[Decision], starts: int | None) -> bool:
    """Return whether *changes* end after so many starts; maybe none is left that could start."""
    if starts is None or not all(isinstance(each, Start) for each in changes):
        return False
    return sum([len(each.placements) for each in changes if isinstance(each, Start)]) >= starts


def may_be_sliced(
    state: ClusterState, settings: KueueSettings, pending: WaitingPods, starts: int
) -> bool:
    """Return whether more than *starts* pods wait, and all of them plainly get quota in one plan.

    A plan that stops before every head has had its turn must come to the same as one plan. A head
    that was inadmissible would be a head again, and shift the cycles of its tree; a later preemptor
    must not evict a workload that started in the same plan. So it stops only where none is
    inadmissible, and none preempts.

    Not so where a workload has to choose between flavors, may find none that suits its pods, or has
    a promise from an earlier plan; nor where past usage counts, which a plan adds to. Cost: the
    workloads that changed, and the queues.
    """
    if sum(pending.by_shape().values()) <= starts:
        return False
    if settings.admission_fair_sharing is not None or state.promised:
        return False
    wheres = [shape.constraints for shape in pending.by_shape()]
    if any(each.node_selector or each.node_terms or each.unsupported for each in wheres):
        return False
    if any(each.node_taints for each in state.catalogue.flavors.values()):
        return False
    # Turn by turn, heads stand in the classical order by what they borrowed when they entered it.
    may_borrow = settings.fair_sharing or not settings.keeps_promises
    return all(_is_quota_enough(state, names, may_borrow=may_borrow) for names in trees_of(state))


def _is_quota_enough(state: ClusterState, names: list[QueueName], *, may_borrow: bool) -> bool:
    """Return whether a tree has quota for all its pending workloads together."""
    rules = rules_of(state, names)
    waited_for = [name for name in rules if any(state.sums[name].pending)]
    if not waited_for:
        return True
    tree = quota_tree(state, names, rules)
    for name in waited_for:
        usage = _usage(state, name, rules[name])
        if usage is None:
            return False
        tree.charge_axes(name, usage)
    if not may_borrow and any(map(tree.is_borrowing, rules)):
        return False
    return all(_has_enough(tree, name, len(state.axes)) for name in rules)


def _usage(state: ClusterState, name: QueueName, rules: ClusterQueue) -> Usage | None:
    """Return what all pending workloads of a queue use; None: its quota does not say."""
    flavor_of = dict(_flavors(rules))
    usage = []
    for resource, amount in zip(state.resources, state.sums[name].pending, strict=True):
        if not amount or (resource == "pods" and resource not in flavor_of):
            continue
        flavor = flavor_of.get(resource)
        axis = None if flavor is None else state.axes.index(resource, flavor)
        if axis is None:
            return None
        usage.append((axis, amount))
    return tuple(usage)


def _flavors(rules: ClusterQueue) -> Iterator[tuple[str, str | None]]:
    """Yield which flavor each resource takes; None: there are several."""
    for group in rules.resource_groups:
        only = group.flavors[0] if len(group.flavors) == 1 else None
        for resource in group.resources:
            yield resource, only


def _has_enough(tree: QuotaTree, name: QueueName, axes: int) -> bool:
    return all(tree.available_on(name, axis) >= 0 for axis in range(axes))
