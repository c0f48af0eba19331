"""The share report, and the explanation of a queue or a job, under any rule set."""

from fairlead.errors import FairleadError
from fairlead.explain.elastic_quota.job import explain_elastic_job
from fairlead.explain.elastic_quota.queue import elastic_quota_report, explain_elastic_quota
from fairlead.explain.kai.job import explain_kai_job
from fairlead.explain.kai.queue import explain_kai_queue, kai_report
from fairlead.explain.kueue.job import explain_kueue_job
from fairlead.explain.kueue.queue import explain_kueue_queue, kueue_report
from fairlead.explain.queues.report import ShareReport
from fairlead.explain.text.explanation import Explanation
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Settings
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.elastic_quota.shares import ElasticShares
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.shares import KueueShares


def share_report(state: ClusterState, settings: Settings, capacity: Amounts | None) -> ShareReport:
    """Return the share tree; *capacity* (on the quota axes) stands in for the nodes'."""
    match settings:
        case KaiSettings():
            return kai_report(state, _kai_shares(state, settings, capacity))
        case KueueSettings():
            return kueue_report(state, KueueShares(state))
        case ElasticQuotaSettings():
            shares = ElasticShares(state, settings)
            return elastic_quota_report(state, shares, capacity or state.total())


def explain_queue(
    state: ClusterState, settings: Settings, capacity: Amounts | None, queue: QueueName
) -> Explanation:
    """Return the arithmetic behind the numbers of *queue*; *capacity* as for `share_report`."""
    match settings:
        case KaiSettings():
            return explain_kai_queue(state, _kai_shares(state, settings, capacity), queue)
        case KueueSettings():
            return explain_kueue_queue(state, KueueShares(state), queue)
        case ElasticQuotaSettings():
            return explain_elastic_quota(state, settings, queue)


def explain_job(
    state: ClusterState, settings: Settings, job: WorkloadName, now_ms: int
) -> Explanation:
    """Return what a cycle at *now_ms* weighs for *job*, and what comes of it."""
    match settings:
        case KaiSettings():
            return explain_kai_job(state, settings, job, now_ms)
        case KueueSettings():
            return explain_kueue_job(state, settings, job, now_ms)
        case ElasticQuotaSettings():
            return explain_elastic_job(state, settings, job, now_ms)


def _kai_shares(state: ClusterState, settings: KaiSettings, capacity: Amounts | None) -> KaiShares:
    if capacity is None:
        if not state.nodes:
            raise FairleadError(
                "there is nothing to divide: the input has no Node. "
                "Add the nodes, or state the capacity: --capacity gpu=64,cpu=512,memory=4Ti"
            )
        capacity = state.total()
    return KaiShares(state, capacity, settings.k)
