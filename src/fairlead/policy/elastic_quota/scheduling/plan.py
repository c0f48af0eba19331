"""One plan: cycles are repeated until no workload starts and is evicted at once.

What a cycle works with comes from a `CycleSource`. The plain source, which is part of the rules,
computes everything now and attempts every pending workload. A policy may use another one that
keeps indexes, remembers results or skips workloads that cannot get anything; the decisions are the
same.
"""

from collections.abc import Mapping, Set
from typing import Final, NamedTuple, Protocol

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Plan, Start
from fairlead.model.state import ClusterState
from fairlead.placement.node_room import GpuResources, node_room
from fairlead.placement.room_for_all import is_room_for_all
from fairlead.policy.elastic_quota.planning_context import ClusterIndexes, PlanningContext
from fairlead.policy.elastic_quota.scheduling.cycle import AttemptOrder, Cycle, EveryWorkload
from fairlead.policy.elastic_quota.scheduling.immediate_eviction import ImmediateEvictions
from fairlead.policy.elastic_quota.scheduling.pods import KnownResults, NoKnownResults
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks


class CycleSource(Protocol):
    """What the cycles of one plan work with."""

    def context(self, now_ms: int, exempt: Set[WorkloadName]) -> PlanningContext:
        """Return the context of the next cycle, in which *exempt* are no candidates."""

    def known_results(self) -> KnownResults:
        """Return what is known about pods that were unschedulable before."""

    def attempt_order(
        self, context: PlanningContext, held_back: Mapping[WorkloadName, WorkloadName]
    ) -> AttemptOrder:
        """Return which workloads are attempted; those *held_back* wait."""


class PlainSource:
    """Everything is computed now, and every pending workload is attempted."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings) -> None:
        """Plan for *state*."""
        self._state: Final = state
        self._settings: Final = settings
        self._indexes: Final = ClusterIndexes(state, settings)

    def context(self, now_ms: int, exempt: Set[WorkloadName]) -> PlanningContext:
        """Return a new context."""
        return PlanningContext(self._state, self._settings, now_ms, self._indexes, exempt)

    def known_results(self) -> KnownResults:
        """Return that no result is known."""
        return NoKnownResults()

    def attempt_order(
        self,
        context: PlanningContext,
        held_back: Mapping[WorkloadName, WorkloadName],  # noqa: ARG002 - their attempts say why
    ) -> AttemptOrder:
        """Return every pending workload."""
        return EveryWorkload(context.state)


class SettledPlan(NamedTuple):
    """A plan, and the workloads that were exempt from preemption while it was made."""

    plan: Plan
    exempt: frozenset[WorkloadName]


def settled_plan(
    source: CycleSource, state: ClusterState, now_ms: int, at_most_starts: int | None = None
) -> SettledPlan:
    """Return the first plan that may stand; the state is left as it was.

    It stops after *at_most_starts* pods where `_may_be_cut` allows that.
    """
    evictions = ImmediateEvictions(state)
    while True:
        context = source.context(now_ms, frozenset(evictions.exempt))
        order = source.attempt_order(context, evictions.held_back)
        cycle = Cycle(context, source.known_results(), order, evictions.held_back)
        may_be_cut = at_most_starts is not None and _may_be_cut(context, at_most_starts)
        mark = context.mark()
        try:
            decisions, is_cut = _until_cut(cycle, at_most_starts if may_be_cut else None)
        finally:
            context.roll_back(mark)
        if context.settings.quirks.start_in_vain or evictions.is_settled(decisions):
            plan = Plan(
                taken_ms=now_ms,
                decisions=tuple(decisions),
                is_cut=is_cut,
                time_dependent=context.time_dependent,
            )
            return SettledPlan(plan, frozenset(evictions.exempt))


def _may_be_cut(context: PlanningContext, starts: int) -> bool:
    """Return whether more than *starts* pods are pending, and the plan may stop after so many.

    Plans in a row, each carried out, must come to the same as one plan. The plugin never revises a
    decision within a plan, so its plan may stop wherever only starts came before. In our own mode a
    workload may be held back for one that is attempted much later (see `ImmediateEvictions`), so a
    plan is cut only if it is plain that all pending pods can start. It is never cut while pods are
    nominated, because a plan that is cut says nothing about them.

    Cost: the workloads that changed; in our own mode also the quotas and the nodes (see
    `is_room_for_all`).
    """
    state, quirks, waiting = context.state, context.settings.quirks, context.waiting_pods
    if sum(waiting.by_shape().values()) <= starts or state.promised:
        return False
    if quirks.start_in_vain:
        return True
    if quirks != PluginQuirks() or waiting.marked_queues() or state.repelling:
        return False
    if not _are_quotas_enough(context):
        return False
    node_books = state.books
    gpus = GpuResources(kinds=(), shared=node_books.shared_gpu)
    idle = {
        name: node_room(
            node,
            node_books.offered(node),
            node_books.occupied(name).leaving,
            node_books.use(name),
            gpus,
        ).idle
        for name, node in state.nodes.items()
        if node.ready
    }
    return is_room_for_all(node_books, idle, waiting.by_shape())


def _until_cut(cycle: Cycle, at_most_starts: int | None) -> tuple[list[Decision], bool]:
    """Return the decisions of *cycle*, and whether they are cut after so many pods started.

    None: they are not cut, nor are they if anything but starts came before.
    """
    made: list[Decision] = []
    started = 0
    for each in cycle.decisions():
        made.append(each)
        if at_most_starts is None or not isinstance(each, Start):
            continue
        started += len(each.placements)
        if started >= at_most_starts and cycle.has_only_started and cycle.has_pending():
            return [each for each in made if isinstance(each, Start)], True
    return made, False


def _are_quotas_enough(context: PlanningContext) -> bool:
    """Return whether all pending pods together stay within every max and the pool."""
    state, quotas = context.state, context.quotas
    axes = range(len(quotas.pool))
    requested = list(quotas.now.pool)
    for name, used in quotas.now.used.items():
        waiting = state.axes.charge(state.resources, tuple(state.sums[name].pending))
        ceiling = quotas.ceiling[name]
        for at in axes:
            requested[at] += waiting[at]
            most = ceiling[at]
            if waiting[at] and most is not None and used[at] + waiting[at] > most:
                return False
    more = [requested[at] - quotas.now.pool[at] for at in axes]
    return all(requested[at] <= quotas.pool[at] for at in axes if more[at])
