"""The surface through which other packages use the ElasticQuota rules, besides the settings.

Everything that reports, explains or tests from outside imports from here. What is not listed may
change at any time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.incremental.published_usage import PublishedUsage
from fairlead.policy.elastic_quota.incremental.state import IncrementalState
from fairlead.policy.elastic_quota.incremental.unschedulable import UnschedulableCache
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.preemption.node_search import PodPreemption, candidate_scope
from fairlead.policy.elastic_quota.preemption.victims import (
    CandidateScope,
    NodeOutcome,
    Outcome,
    keeps_min,
)
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod, readiness, whole_gang
from fairlead.policy.elastic_quota.quota.shares import (
    ElasticShare,
    ElasticShares,
    published_used,
)
from fairlead.policy.elastic_quota.reasons import node_defects
from fairlead.policy.elastic_quota.scheduling.cycle import (
    NOT_READY,
    SCHEDULING_GATED,
    WOULD_BE_EVICTED,
    WOULD_PREEMPT_IN_VAIN,
    Cycle,
    EveryWorkload,
    HeldBack,
)
from fairlead.policy.elastic_quota.scheduling.gangs import SCHEDULE_TIMED_OUT
from fairlead.policy.elastic_quota.scheduling.plan import settled_plan
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings

__all__ = [
    "NOT_READY",
    "SCHEDULE_TIMED_OUT",
    "SCHEDULING_GATED",
    "WOULD_BE_EVICTED",
    "WOULD_PREEMPT_IN_VAIN",
    "CandidateScope",
    "ElasticQuotaPolicy",
    "ElasticShare",
    "ElasticShares",
    "NodeOutcome",
    "Outcome",
    "PendingPod",
    "PlanReplay",
    "PlanningContext",
    "PodPreemption",
    "PublishedUsage",
    "candidate_scope",
    "keeps_min",
    "node_defects",
    "published_used",
    "readiness",
    "whole_gang",
]


class PlanReplay:
    """A plan that can be made again up to one of its decisions, to see what it was based on."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings, now_ms: int) -> None:
        """Plan for *state*, which is left as it is."""
        self._state: Final = state
        self._settings: Final = settings
        self._now_ms: Final = now_ms
        self.plan, self._exempt = settled_plan(IncrementalState(state, settings), state, now_ms)

    @contextmanager
    def context_before(self, decision: Decision) -> Iterator[PlanningContext]:
        """Give the planning context just before the attempt that led to *decision* of the plan.

        It may be changed: everything is undone at the end.
        """
        state = self._state
        with state.trial():
            context = PlanningContext(state, self._settings, self._now_ms, exempt=self._exempt)
            cycle = Cycle(context, UnschedulableCache(), EveryWorkload(state), self._held_back())
            decisions = cycle.decisions()
            for _ in range(self._first_of_attempt(decision)):
                next(decisions)
            # Nominations are restored by the first attempt: so one more is made, and undone.
            mark = context.mark()
            next(decisions)
            context.roll_back(mark)
            yield context

    def _held_back(self) -> dict[WorkloadName, HeldBack]:
        """Return the workloads that are not attempted in favour of others."""
        return {
            each.workload: HeldBack(each.reason.code, WorkloadName(each.reason.names[0]))
            for each in self.plan.decisions
            if isinstance(each, Wait)
            if each.reason.code in (WOULD_BE_EVICTED, WOULD_PREEMPT_IN_VAIN)
        }

    def _first_of_attempt(self, decision: Decision) -> int:
        """Return the index of the first decision of an attempt: its evictions come first."""
        decisions = self.plan.decisions
        at = max(at for at, each in enumerate(decisions) if each is decision)
        while at > 0:
            before = decisions[at - 1]
            if not (isinstance(before, Evict) and before.beneficiary == decision.workload):
                break
            at -= 1
        return at
