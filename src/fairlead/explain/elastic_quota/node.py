"""What a node is to the workloads that wait under ElasticQuotas."""

from fairlead.explain.jobs.nodes import HAVE_ROOM
from fairlead.explain.node import WaitingJob, barred_text
from fairlead.policy.elastic_quota.api import PlanningContext, readiness


def waiting_for_node(context: PlanningContext, node: str) -> list[WaitingJob]:
    """Return what the next pod of each waiting workload finds on *node*."""
    state = context.state
    waiting = []
    for name, workload in sorted(state.workloads.items()):
        for pod in readiness(state, workload).pods[:1]:
            pending = context.pending_pod(workload, pod)
            what = barred_text(workload, [pod]) or context.fit.defect(pending, node) or HAVE_ROOM
            waiting.append(WaitingJob(workload=name, queue=workload.queue, what=what))
    return waiting
