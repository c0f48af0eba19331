"""What a policy keeps of one state from plan to plan, so that a plan costs what changed.

Indexes and results of earlier attempts serve every plan. A plan without explanations also skips
the workloads that cannot get anything; that needs our own mode, because the plugin's quirks make
too much a possible reason to wait, and quotas that do not depend on one another.

With nothing kept the simulated month takes more than three times as long, with only usage and
groups made anew as well.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.incremental.feasibility import (
    Feasibility,
    FittingPods,
    PendingGroup,
    SchedulingOrder,
    group_key,
)
from fairlead.policy.elastic_quota.incremental.unschedulable import UnschedulableCache
from fairlead.policy.elastic_quota.planning_context import ClusterIndexes, PlanningContext
from fairlead.policy.elastic_quota.quota.pending_pod import readiness
from fairlead.policy.elastic_quota.quota.usage import QuotaUsage
from fairlead.policy.elastic_quota.scheduling.cycle import (
    Cycle,
    EveryWorkload,
    HeldBack,
    not_attempted_reason,
)
from fairlead.policy.elastic_quota.scheduling.plan import CycleSource, Restraints
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks


class IncrementalState:
    """What is kept of one state. As a source, it attempts every pending workload."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings) -> None:
        """Keep up with *state*. Cost: all pods with a node, at the first plan."""
        self._state: Final = state
        self._settings: Final = settings
        self._indexes: Final = ClusterIndexes(state, settings)
        self._results: Final = UnschedulableCache()
        self._feasible: FeasibleSource | None = None

    def serves(self, state: ClusterState) -> bool:
        """Return whether it is this state that is kept, with the same queues."""
        return state is self._state and self._indexes.serves(state)

    def cycle(self, now_ms: int, restraints: Restraints) -> Cycle:
        """Return the next cycle, which knows the results of the one before."""
        self._results.next_cycle()
        exempt = restraints.exempt
        context = PlanningContext(self._state, self._settings, now_ms, self._indexes, exempt)
        return Cycle(context, self._results, EveryWorkload(self._state), restraints.held_back)

    def can_skip(self) -> bool:
        """Return whether workloads that cannot get anything can be told and skipped."""
        return self._feasible_source().is_possible

    def feasible_workloads(self) -> CycleSource:
        """Return a source that skips workloads; its decisions are the same without waits.

        Cost: what changed since the last such plan; all pending workloads at the first one.
        """
        source = self._feasible_source()
        source.update()
        return source

    def _feasible_source(self) -> "FeasibleSource":
        if self._feasible is None or not self._feasible.is_current():
            self._feasible = FeasibleSource(
                self._state, self._settings, self._indexes, self._results
            )
        return self._feasible


class FeasibleSource:
    """Attempts only workloads that may get something; usage and groups are kept as well."""

    def __init__(
        self,
        state: ClusterState,
        settings: ElasticQuotaSettings,
        indexes: ClusterIndexes,
        results: UnschedulableCache,
    ) -> None:
        """Keep up with *state*, if that is possible."""
        self._state: Final = state
        self._settings: Final = settings
        self._indexes: Final = indexes
        self._results: Final = results
        self.is_possible: Final = settings.quirks == PluginQuirks() and all(
            each.parent is None for each in state.queues.values()
        )
        self._layout: Final = state.layout.moment
        self._moment: int | None = None  # up to which changes were read
        self._queue_of: dict[WorkloadName, QueueName] = {}
        self._quotas: Final = QuotaUsage(state, indexes.charges, settings.quirks)
        self._pending: Final = Feasibility(self._quotas, indexes.running, FittingPods(state))

    def is_current(self) -> bool:
        """Return whether the queues are unchanged, and all other changes are known."""
        if self._state.layout.moment != self._layout:
            return False
        return self._moment is None or self._state.touched.remembers(self._moment)

    def cycle(self, now_ms: int, restraints: Restraints) -> Cycle:
        """Return the next cycle, in which only workloads are attempted that may get something."""
        self._results.next_cycle()
        context = PlanningContext(
            self._state, self._settings, now_ms, self._indexes, restraints.exempt, self._quotas
        )
        order = FeasibleWorkloads(self._state, self._pending, restraints.held_back)
        return Cycle(context, self._results, order, restraints.held_back)

    def update(self) -> None:
        """Bring usage and groups up to date."""
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
            self._pending.remove(name)
            workload = state.workloads.get(name)
            if workload is not None:
                self._queue_of[name] = workload.queue
                changed[workload.queue] = None
                self._group(workload)
        for queue in changed:
            if queue in state.queues:
                self._quotas.refresh(queue, state.sums[queue])

    def _group(self, workload: Workload) -> None:
        """Add a workload to its group, if it is pending and may be attempted."""
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
        is_nominated = workload.name in state.promised
        key = None if is_nominated else group_key(state, self._indexes.charges, workload, ready)
        self._pending.add(workload, key)


class FeasibleWorkloads:
    """The pending workloads that may get something, in scheduling order.

    A skipped workload would wait, and its attempt would change nothing for the next ones.
    """

    def __init__(
        self,
        state: ClusterState,
        pending: Feasibility,
        held_back: Mapping[WorkloadName, HeldBack],
    ) -> None:
        """Attempt workloads of *pending*, without those *held_back*."""
        self._state: Final = state
        self._pending: Final = pending
        self._held_back: Final = held_back
        self._nominated: Final = [each for each in pending.nominated if each[-1] not in held_back]
        self._last: SchedulingOrder | None = None
        self._feasible: list[PendingGroup] | None = None  # None: to be found again
        self._not_held_back: dict[PendingGroup, list[SchedulingOrder]] = {}

    def possibly_nominated(self) -> Iterable[Workload]:
        """Return the workloads that are nominated."""
        return [self._workload(each) for each in self._pending.nominated]

    def next_workload(self) -> Workload | None:
        """Return the next workload that may get something. Cost: each group."""
        if self._feasible is None:
            self._feasible = self._pending.feasible_groups()
        best = self._after_last(self._nominated)
        for group in self._feasible:
            order = self._after_last(self._without_held_back(group))
            if order is not None and (best is None or order < best):
                best = order
        self._last = best
        return None if best is None else self._workload(best)

    def attempted(self, workload: Workload, *, has_changed: bool) -> None:
        """Look again at what is feasible after a change, and after a nominated workload."""
        if has_changed or workload.name in self._state.promised:
            self._feasible = None

    def _workload(self, order: SchedulingOrder) -> Workload:
        return self._state.workloads[WorkloadName(order[-1])]

    def _after_last(self, orders: Sequence[SchedulingOrder]) -> SchedulingOrder | None:
        at = 0 if self._last is None else bisect_right(orders, self._last)
        return orders[at] if at < len(orders) else None

    def _without_held_back(self, group: PendingGroup) -> Sequence[SchedulingOrder]:
        """Return a group without workloads that are held back: there may be thousands."""
        if not self._held_back:
            return group.orders
        found = self._not_held_back.get(group)
        if found is None:
            found = [each for each in group.orders if each[-1] not in self._held_back]
            self._not_held_back[group] = found
        return found
