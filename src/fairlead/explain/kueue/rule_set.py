"""The Kueue rules, as the answers that people read need them."""

from typing import Final

import msgspec

from fairlead.explain.kueue.job import explain_kueue_job
from fairlead.explain.kueue.pending import pending_report
from fairlead.explain.kueue.queue import explain_kueue_queue, kueue_report
from fairlead.explain.named import Named
from fairlead.explain.queues.report import PendingReport, ShareReport
from fairlead.explain.rule_set import RuleSet
from fairlead.explain.text.explanation import Explanation
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.plan import Reason
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kueue.api import KueueShares, unsupported_topology
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings


class KueueRules(RuleSet[KueueSettings]):
    """Quota of flavors in ClusterQueues and cohorts, whatever the nodes have."""

    name = "kueue"
    peer = "Kueue"
    places_title = "FLAVORS"
    capacity_refusal = (
        "Kueue shares out the quotas in its objects, whatever the nodes have; leave it out"
    )

    def share_report(
        self,
        state: ClusterState,
        settings: KueueSettings,
        capacity: Amounts | None,
    ) -> ShareReport:
        """Return quota, use, borrowed and lent amounts of every queue and cohort."""
        return kueue_report(state, KueueShares(state))

    def explain_queue(
        self,
        state: ClusterState,
        settings: KueueSettings,
        capacity: Amounts | None,
        queue: QueueName,
    ) -> Explanation:
        """Return the quota, the free capacity and the weighted share of *queue*."""
        return explain_kueue_queue(state, KueueShares(state), queue)

    def explain_job(
        self, state: ClusterState, settings: KueueSettings, job: WorkloadName, now_ms: int
    ) -> Explanation:
        """Return what a plan at *now_ms* decides about *job*, and why."""
        return explain_kueue_job(state, settings, job, now_ms)

    def with_faithfulness(self, settings: KueueSettings, *, faithful: bool) -> KueueSettings:
        """Return the decisions of the original if asked for; else what the input itself says."""
        if not faithful:
            return settings
        return msgspec.structs.replace(settings, options=KueueOptions(), faithful=True)

    def check_plannable(self, state: ClusterState) -> None:
        """Accept every input: quota needs no nodes."""

    def unsupported(self, state: ClusterState, workload: Workload) -> Reason | None:
        """Return that *workload* requests a topology: the rest is for the scheduler of pods."""
        return unsupported_topology(workload)

    def pending(
        self, state: ClusterState, settings: KueueSettings, named: Named, now_ms: int
    ) -> PendingReport:
        """Return what waits of a queue, or which jobs wait, in the order of the ClusterQueue."""
        return pending_report(state, settings, named, now_ms)


RULE_SET: Final = KueueRules()
