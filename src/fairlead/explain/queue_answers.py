"""One way in for all rule sets: the share report and the explanation of a queue."""

from fairlead.errors import FairleadError
from fairlead.explain.explain_elastic_quota import explain_elastic_quota
from fairlead.explain.explain_kai import explain_kai_queue
from fairlead.explain.explain_kueue import explain_kueue_queue
from fairlead.explain.explanation import Explanation
from fairlead.explain.report_elastic_quota import elastic_quota_report
from fairlead.explain.report_kai import kai_report
from fairlead.explain.report_kueue import kueue_report
from fairlead.explain.share_report import ShareReport
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.queue import cohort_queue
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.elastic_quota.shares import ElasticShares
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.shares import KueueShares
from fairlead.policy.names import Settings


def share_report(state: ClusterState, settings: Settings, capacity: Amounts | None) -> ShareReport:
    """Return the share tree; *capacity* (on the quota axes) stands in for the nodes'."""
    match settings:
        case KaiSettings():
            return kai_report(state, _kai_shares(state, settings, capacity))
        case KueueSettings():
            return kueue_report(state, KueueShares(state))
        case ElasticQuotaSettings():
            return elastic_quota_report(state, ElasticShares(state), capacity or state.total())


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
            return explain_elastic_quota(state, ElasticShares(state), queue)


def queue_named(state: ClusterState, text: str) -> QueueName:
    """Return the queue that *text* names; a cohort may be named without its prefix."""
    known = set(state.tree_order())
    for name in (QueueName(text), cohort_queue(text)):
        if name in known:
            return name
    guess = did_you_mean(text, known)
    raise FairleadError(f"no queue is named {text!r}. {guess or 'fairlead queues lists them'}")


def _kai_shares(state: ClusterState, settings: KaiSettings, capacity: Amounts | None) -> KaiShares:
    if capacity is None:
        if not state.nodes:
            raise FairleadError(
                "there is nothing to divide: the input has no Node. "
                "Add the nodes, or state the capacity: --capacity gpu=64,cpu=512,memory=4Ti"
            )
        capacity = state.total()
    return KaiShares(state, capacity, settings.k)
