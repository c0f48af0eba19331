"""A state that a policy follows through its changes, so that a plan costs what changed.

Only in our own mode: with quirks of the plugin, too much may be why a pod waits. Every plan is made
anew there, and where quotas hang on one another.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.incremental.feasibility import Feasibility, FittingPods
from fairlead.policy.elastic_quota.incremental.pending_groups import (
    PendingGroups,
    SchedulingOrder,
    ShapeGroup,
    demands_of,
    shape_of,
)
from fairlead.policy.elastic_quota.planning_context import ClusterIndexes, PlanningContext
from fairlead.policy.elastic_quota.quota.pending_pod import readiness
from fairlead.policy.elastic_quota.quota.usage import QuotaUsage
from fairlead.policy.elastic_quota.scheduling.cycle import (
    Cycle,
    may_be_cut,
    not_attempted_reason,
    until_cut,
)
from fairlead.policy.elastic_quota.scheduling.immediate_eviction import ImmediateEvictions
from fairlead.policy.elastic_quota.scheduling.refusals import UnschedulableCache
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks


class QuickCycle:
    """Decides about those who wait in one state."""

    def __init__(
        self,
        context: PlanningContext,
        cycle: Cycle,
        group: PendingGroups,
        feasibility: Feasibility,
        held_back: Mapping[WorkloadName, WorkloadName],
    ) -> None:
        """Let *cycle* decide on *desk* about who is in *line*; who is *held_back* waits."""
        self._context: Final = context
        self._cycle: Final = cycle
        self._groups: Final = group
        self._feasibility: Final = feasibility
        self._held_back: Final = held_back
        self._open: list[ShapeGroup] = []
        self._left: dict[ShapeGroup, ShapeGroup] = {}  # lines without those who are held back

    def decisions(self) -> Iterator[Decision]:
        """Yield what a `Cycle` would but its waits, in the same order.

        Cost: each kind of wants, and a turn for each who may get something.
        """
        for order in self._groups.nominated:
            self._cycle.restore_nominations(self._workload(order))
        self._look_around()
        last: SchedulingOrder | None = None
        while (found := self._next(last)) is not None:
            last, group = found
            workload = self._workload(last)
            if workload.name in self._held_back:
                continue
            has_changed = False
            for each in self._cycle.attempt(workload):
                if not isinstance(each, Wait):
                    has_changed = True
                    yield each
            if has_changed or group is None:
                self._look_around()
            elif self._is_like_its_kind(workload):
                self._open.remove(group)

    def _workload(self, order: SchedulingOrder) -> Workload:
        return self._context.state.workloads[WorkloadName(order[-1])]

    def _look_around(self) -> None:
        """Find out who may get something, after something happened."""
        self._feasibility.update()
        groups = self._groups.by_demands.values()
        self._open = [
            found for group in groups for found in self._feasibility.feasible_groups(group)
        ]

    def _next(
        self, last: SchedulingOrder | None
    ) -> tuple[SchedulingOrder, ShapeGroup | None] | None:
        """Return who has its turn after *last*, and its line; None: nobody has."""
        nominated = self._groups.nominated
        at = 0 if last is None else bisect_right(nominated, last)
        best: tuple[SchedulingOrder, ShapeGroup | None] | None = None
        if at < len(nominated):
            best = (nominated[at], None)
        for group in self._open:
            order = self._without_held_back(group).after(last)
            if order is not None and (best is None or order < best[0]):
                best = (order, group)
        return best

    def _without_held_back(self, group: ShapeGroup) -> ShapeGroup:
        """Return a line in which nobody is held back: of thousands who are alike, many may be."""
        if not self._held_back:
            return group
        left = self._left.get(group)
        if left is None:
            left = self._left[group] = ShapeGroup(group.shape)
            left.orders.extend(
                [order for order in group.orders if order[-1] not in self._held_back]
            )
        return left

    def _is_like_its_kind(self, workload: Workload) -> bool:
        """Return whether nobody looks at more of its pods than their kind tells."""
        context = self._context
        firsts = [pods[0] for pods in workload.pod_sets.ids_by_set if pods]
        pending_pods = [context.pending_pod(workload, pod) for pod in firsts]
        return not any(map(context.fit.depends_on_other_pods, pending_pods))


class IncrementalState:
    """What a policy remembers of one state."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings) -> None:
        """Begin to follow *state*, if that is possible. Cost: all that there is, once."""
        self.is_possible: Final = settings.quirks == PluginQuirks() and all(
            each.parent is None for each in state.queues.values()
        )
        self.time_dependent = False
        self.is_cut = False
        self.exempt: frozenset[WorkloadName] = frozenset()
        self._state = state
        self._settings = settings
        self._layout = state.layout.moment
        self._moment: int | None = None  # up to which the changes were read
        self._queue_of: dict[WorkloadName, QueueName] = {}
        if self.is_possible:
            self._indexes = ClusterIndexes(state, settings)
            self._unschedulable_cache = UnschedulableCache()
            self._quotas = QuotaUsage(state, self._indexes.charges, settings.quirks)
            self._groups = PendingGroups()
            self._feasibility = Feasibility(
                self._groups, self._quotas, self._indexes.running, FittingPods(state)
            )

    def serves(self, state: ClusterState) -> bool:
        """Return whether it is this state that is followed, and all its changes are known."""
        if state is not self._state or state.layout.moment != self._layout:
            return False
        return self._moment is None or state.touched.remembers(self._moment)

    def changes(self, now_ms: int, at_most_starts: int | None = None) -> list[Decision]:
        """Return the decisions of a plan that are no waits; the state is left as it was."""
        self._catch_up()
        immediate_evictions = ImmediateEvictions(self._state)
        while True:
            decisions = self._try(now_ms, immediate_evictions, at_most_starts)
            if immediate_evictions.is_settled(decisions):
                break
        self.exempt = frozenset(immediate_evictions.exempt)
        return decisions

    def _try(
        self, now_ms: int, immediate_evictions: ImmediateEvictions, at_most_starts: int | None
    ) -> list[Decision]:
        self._unschedulable_cache.next_plan()
        context = PlanningContext(
            self._state,
            self._settings,
            now_ms,
            self._indexes,
            immediate_evictions.exempt,
            self._quotas,
        )
        cycle = Cycle(context, self._unschedulable_cache, immediate_evictions.held_back)
        quick = QuickCycle(
            context, cycle, self._groups, self._feasibility, immediate_evictions.held_back
        )
        if at_most_starts is not None and not may_be_cut(context, at_most_starts):
            at_most_starts = None
        mark = context.mark()
        try:
            decisions, self.is_cut = until_cut(cycle, quick.decisions(), at_most_starts)
            return decisions
        finally:
            context.roll_back(mark)
            self.time_dependent = context.time_dependent

    def _catch_up(self) -> None:
        state = self._state
        names: Sequence[WorkloadName]
        if self._moment is None:
            names = list(state.workloads)
        else:
            names = state.touched.since(self._moment)
        self._moment = state.touched.moment
        changed: dict[QueueName, None] = {}
        for name in names:
            queue = self._queue_of.pop(name, None)
            if queue is not None:
                changed[queue] = None
            self._groups.remove(name)
            workload = state.workloads.get(name)
            if workload is not None:
                self._queue_of[name] = workload.queue
                changed[workload.queue] = None
                self._read(workload)
        for queue in changed:
            if queue in state.queues:
                self._quotas.refresh(queue, state.sums[queue])

    def _read(self, workload: Workload) -> None:
        """Let a workload wait in line, if it does and may be tried."""
        state = self._state
        run = state.runs.get(workload.name)
        if run is not None and len(run.pods) == workload.pod_count():
            return
        if workload.name in state.holds.workloads:
            return
        ready = readiness(state, workload)
        queue = workload.queue if workload.queue in state.queues else None
        if not_attempted_reason(workload, ready, queue) is not None:
            return
        if workload.name in state.promised:
            self._groups.add(workload, None)
            return
        demands = demands_of(state, self._indexes.charges, workload, ready)
        self._groups.add(workload, shape_of(workload, queue, ready, demands))
