"""One way in for all rule sets: the share report and the explanation of a queue."""

from fairlead.errors import FairleadError
from fairlead.explain.explain_elastic_job import explain_elastic_job
from fairlead.explain.explain_elastic_quota import explain_elastic_quota
from fairlead.explain.explain_job import explain_kai_job
from fairlead.explain.explain_kai import explain_kai_queue
from fairlead.explain.explain_kueue import explain_kueue_queue
from fairlead.explain.explain_kueue_job import explain_kueue_job
from fairlead.explain.explanation import Explanation
from fairlead.explain.printable import printable
from fairlead.explain.report_elastic_quota import elastic_quota_report
from fairlead.explain.report_kai import kai_report
from fairlead.explain.report_kueue import kueue_report
from fairlead.explain.share_report import ShareReport
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.queue import cohort_queue
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Settings
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.elastic_quota.shares import ElasticShares
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from fairlead.policy.kueue.api import KueueShares
from fairlead.policy.kueue.settings import KueueSettings


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


def queue_named(state: ClusterState, text: str) -> QueueName:
    """Return the queue that *text* names; a cohort may be named without its prefix."""
    known = set(state.tree_order())
    for name in (QueueName(text), cohort_queue(text)):
        if name in known:
            return name
    guess = printable(did_you_mean(text, known | set(state.workloads)))
    what = guess or "fairlead queues lists the queues, fairlead plan the jobs that wait"
    raise FairleadError(f"no queue or job is named {text!r}, or the job has finished. {what}")


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


def job_named(state: ClusterState, text: str) -> WorkloadName | None:
    """Return the job that *text* names; None if there is none.

    A whole name means that job only. The kind may be left out of it, such as in ``lab/train`` for
    ``lab/pod/train``, and the namespace too, where one job alone is called so.
    """
    if text in state.workloads:
        return WorkloadName(text)
    found = sorted(name for name in state.workloads if text in _short_names(name))
    if len(found) > 1:
        names = printable(", ".join(found))
        raise FairleadError(f"several jobs are named {text!r}: choose one of {names}")
    return found[0] if found else None


def _short_names(name: WorkloadName) -> tuple[str, str]:
    """Return what else a job may be called: by its name alone, and without its kind."""
    namespace, *_, own = name.split("/")
    return own, f"{namespace}/{own}"


def _kai_shares(state: ClusterState, settings: KaiSettings, capacity: Amounts | None) -> KaiShares:
    if capacity is None:
        if not state.nodes:
            raise FairleadError(
                "there is nothing to divide: the input has no Node. "
                "Add the nodes, or state the capacity: --capacity gpu=64,cpu=512,memory=4Ti"
            )
        capacity = state.total()
    return KaiShares(state, capacity, settings.k)
