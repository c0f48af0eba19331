"""One plan: cycles are repeated until no decision undoes another one.

What a cycle works with comes from a `CycleSource`. The plain source, which is part of the rules,
computes everything now and attempts every pending workload. A policy may use another one that
keeps indexes, remembers results or skips workloads that cannot get anything; the decisions are the
same.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Final, NamedTuple, Protocol

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Plan, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.placement.node_room import GpuResources, node_room
from fairlead.placement.room_for_all import is_room_for_all
from fairlead.policy.elastic_quota.planning_context import ClusterIndexes, PlanningContext
from fairlead.policy.elastic_quota.quota.pending_pod import scheduling_order
from fairlead.policy.elastic_quota.scheduling.cycle import (
    WOULD_BE_EVICTED,
    WOULD_PREEMPT_IN_VAIN,
    Cycle,
    EveryWorkload,
    HeldBack,
)
from fairlead.policy.elastic_quota.scheduling.in_vain import preemptions_in_vain
from fairlead.policy.elastic_quota.scheduling.pods import NoKnownResults
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks


class Restraints:
    """Workloads that are held back or exempt, so that no decision of a plan undoes another one.

    In order of priority a borrower is attempted before a pod within its min, which is attempted
    later and has the better claim. Two decisions may be undone by that. A borrower that *started*
    is evicted again. And a borrower *preempts* for capacity that the other then gets: it cannot
    start any more, and its victims were evicted in vain. So the borrower is held back, with
    similar workloads behind it, and the plan is made again.

    If holding back a start does not help the other workload, because that needs the capacity of
    more pods, the borrower starts after all, and is exempt from preemption until the next plan. A
    preemption in vain helps neither, so it is held back in any case.
    """

    def __init__(self, state: ClusterState) -> None:
        """Hold back no workload of *state* at first."""
        self._state = state
        self.held_back: dict[WorkloadName, HeldBack] = {}
        self.exempt: frozenset[WorkloadName] = frozenset()

    def are_settled(
        self, decisions: Sequence[Decision], in_vain: Mapping[WorkloadName, WorkloadName]
    ) -> bool:
        """Take in the decisions of one attempt; returns whether the plan is final.

        *in_vain* are workloads that preempt in vain, and which other one each gives way to. Each
        workload is held back at most once for each reason, and exempt at most once, so the attempts
        end. Waits may be left out: a workload that neither starts nor is nominated waits.
        """
        served = {each.workload for each in decisions if isinstance(each, Start | Reserve)}
        not_helped = {
            name
            for name, held_back in self.held_back.items()
            if held_back.code == WOULD_BE_EVICTED
            and held_back.beneficiary not in served
            and held_back.beneficiary not in self.held_back
        }
        for name in not_helped:
            del self.held_back[name]
        self.exempt |= not_helped
        evicted = _evicted_at_once(decisions)
        self._hold_back(WOULD_PREEMPT_IN_VAIN, in_vain, spared=frozenset())
        self._hold_back(WOULD_BE_EVICTED, evicted, spared=self.exempt)
        return not not_helped and not evicted and not in_vain

    def _hold_back(
        self,
        code: str,
        found: Mapping[WorkloadName, WorkloadName],
        spared: Set[WorkloadName],
    ) -> None:
        """Hold back the workloads in *found*, and similar ones, for the other one of each."""
        for name in sorted(found, key=lambda each: scheduling_order(self._state.workloads[each])):
            if name not in self.held_back:
                for each in self._similar_behind(name):
                    if each not in spared:
                        self.held_back.setdefault(each, HeldBack(code, found[name]))

    def _similar_behind(self, name: WorkloadName) -> list[WorkloadName]:
        """Return a workload, and those behind it that would take its node for the same reason."""
        workloads = self._state.workloads
        first = workloads[name]
        turn, kind = scheduling_order(first), _kind(first)
        return [
            each
            for each in self._state.waiting(first.queue)
            if each == name
            or (scheduling_order(workloads[each]) > turn and _kind(workloads[each]) == kind)
        ]


def _kind(workload: Workload) -> object:
    sets = [(each.count, each.requests, each.constraints) for each in workload.pod_sets]
    return (workload.priority, workload.min_count, sets)


def _evicted_at_once(decisions: Sequence[Decision]) -> dict[WorkloadName, WorkloadName]:
    """Return workloads that would start and be evicted in the same plan, and their preemptors."""
    started = {
        (each.workload, place.pod)
        for each in decisions
        if isinstance(each, Start)
        for place in each.placements
    }
    return {
        each.workload: each.beneficiary
        for each in decisions
        if isinstance(each, Evict) and each.beneficiary is not None
        if any((each.workload, pod) in started for pod in each.pods)
    }


class CycleSource(Protocol):
    """Makes the cycles of one plan."""

    def cycle(self, now_ms: int, restraints: Restraints) -> Cycle:
        """Return the next cycle, without what an earlier one has shown to be in vain."""


class PlainSource:
    """Everything is computed now, and every pending workload is attempted."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings) -> None:
        """Plan for *state*."""
        self._state: Final = state
        self._settings: Final = settings
        self._indexes: Final = ClusterIndexes(state, settings)

    def cycle(self, now_ms: int, restraints: Restraints) -> Cycle:
        """Return the next cycle."""
        exempt = restraints.exempt
        context = PlanningContext(self._state, self._settings, now_ms, self._indexes, exempt)
        return Cycle(context, NoKnownResults(), EveryWorkload(self._state), restraints.held_back)


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
    restraints = Restraints(state)
    while True:
        cycle = source.cycle(now_ms, restraints)
        context = cycle.context
        in_vain: Mapping[WorkloadName, WorkloadName] = {}
        may_be_cut = at_most_starts is not None and _may_be_cut(context, at_most_starts)
        mark = context.mark()
        try:
            decisions, is_cut = _until_cut(cycle, at_most_starts if may_be_cut else None)
            if not context.quirks.start_in_vain:
                in_vain = preemptions_in_vain(context, decisions)
        finally:
            context.roll_back(mark)
        if context.quirks.start_in_vain or restraints.are_settled(decisions, in_vain):
            plan = Plan(
                taken_ms=now_ms,
                decisions=tuple(decisions),
                is_cut=is_cut,
                time_dependent=context.time_dependent,
            )
            return SettledPlan(plan, restraints.exempt)


def _may_be_cut(context: PlanningContext, starts: int) -> bool:
    """Return whether more than *starts* pods are pending, and the plan may stop after so many.

    Plans in a row, each carried out, must come to the same as one plan. The plugin never revises a
    decision within a plan, so its plan may stop wherever only starts came before. In our own mode a
    workload may be held back for one that is attempted much later (see `Restraints`), so a
    plan is cut only if it is plain that all pending pods can start. It is never cut while pods are
    nominated, because a plan that is cut says nothing about them.

    Cost: the workloads that changed; in our own mode also the quotas and the nodes (see
    `is_room_for_all`).
    """
    state, quirks, waiting = context.state, context.quirks, context.waiting_pods
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
