"""The ElasticQuota rules, as the answers that people read need them."""

from typing import Final

import msgspec

from fairlead.errors import FairleadError
from fairlead.explain.elastic_quota.job import explain_elastic_job
from fairlead.explain.elastic_quota.node import waiting_for_node
from fairlead.explain.elastic_quota.queue import elastic_quota_report, explain_elastic_quota
from fairlead.explain.node import WaitingJob
from fairlead.explain.queues.report import ShareReport
from fairlead.explain.rule_set import RuleSet
from fairlead.explain.text.explanation import Explanation
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.api import ElasticShares, PlanningContext
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings


class ElasticQuotaRules(RuleSet[ElasticQuotaSettings]):
    """A min and a max per namespace, with borrowing from the pool of all mins."""

    name = "elastic-quota"
    peer = "the plugin"
    has_queue_per_namespace = True

    def share_report(
        self, state: ClusterState, settings: ElasticQuotaSettings, capacity: Amounts | None
    ) -> ShareReport:
        """Return min, max, use, borrowed and lent amounts of every namespace."""
        shares = ElasticShares(state, settings)
        return elastic_quota_report(state, shares, capacity or state.total())

    def explain_queue(
        self,
        state: ClusterState,
        settings: ElasticQuotaSettings,
        capacity: Amounts | None,
        queue: QueueName,
    ) -> Explanation:
        """Return how much *queue* may still take, which the mins bound, not the nodes."""
        return explain_elastic_quota(state, settings, queue)

    def explain_job(
        self, state: ClusterState, settings: ElasticQuotaSettings, job: WorkloadName, now_ms: int
    ) -> Explanation:
        """Return what a plan at *now_ms* decides about *job*, and why."""
        return explain_elastic_job(state, settings, job, now_ms)

    def waiting_for_node(
        self, state: ClusterState, settings: ElasticQuotaSettings, node: str, now_ms: int
    ) -> list[WaitingJob]:
        """Return what the next pod of each waiting workload finds on *node*, before the plan."""
        with state.trial():
            return waiting_for_node(PlanningContext(state, settings, now_ms), node)

    def with_faithfulness(
        self, settings: ElasticQuotaSettings, *, faithful: bool
    ) -> ElasticQuotaSettings:
        """Return all quirks of the original if asked for; else what the input itself says."""
        return msgspec.structs.replace(FAITHFUL, scoring=settings.scoring) if faithful else settings

    def check_plannable(self, state: ClusterState) -> None:
        """Refuse an input without nodes."""
        if not state.nodes:
            raise FairleadError("there is nowhere to run: the input has no Node. Add the nodes")


RULE_SET: Final = ElasticQuotaRules()
