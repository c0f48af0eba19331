"""What of an answer is about one namespace.

Shares need the whole cluster, so a namespace limits what is shown and never what is counted.
"""

from collections.abc import Iterable, Set

import msgspec

from fairlead.explain.queues.report import PendingReport, ShareReport
from fairlead.explain.rule_set import rule_set_of
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Plan
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Settings


def namespace_of(job: WorkloadName) -> str:
    """Return the namespace of a job, with which its name begins."""
    return job.partition("/")[0]


def queues_of_namespace(state: ClusterState, settings: Settings, namespace: str) -> Set[QueueName]:
    """Return the queues that a namespace submits to, and all queues above them.

    These are the queues of its jobs, those to which its LocalQueues lead, and its own one where
    namespaces have such. Cost: one look at each job.
    """
    own = {job.queue for name, job in state.workloads.items() if namespace_of(name) == namespace}
    local_queues = state.catalogue.local_queues.values()
    own |= {each.cluster_queue for each in local_queues if each.namespace == namespace}
    if rule_set_of(settings).has_queue_per_namespace:
        own.add(QueueName(namespace))
    return frozenset(each for name in own for each in state.path(name))


def report_of(report: ShareReport, queues: Set[QueueName]) -> ShareReport:
    """Return *report* with the entries of *queues* only."""
    entries = tuple(each for each in report.queues if each.name in queues)
    return msgspec.structs.replace(report, queues=entries)


def plan_of(plan: Plan, namespace: str) -> Plan:
    """Return *plan* with the decisions about jobs of *namespace* only."""
    decisions = [each for each in plan.decisions if namespace_of(each.workload) == namespace]
    return msgspec.structs.replace(plan, decisions=tuple(decisions))


def pending_of(report: PendingReport, namespace: str) -> PendingReport:
    """Return *report* with the workloads of *namespace* only; their positions stay."""
    shown = [at for at, name in enumerate(report.workloads) if namespace_of(name) == namespace]
    return msgspec.structs.replace(
        report,
        rows=tuple(report.rows[at] for at in shown),
        items=tuple(report.items[at] for at in shown),
        workloads=tuple(report.workloads[at] for at in shown),
    )


def jobs_of(names: Iterable[WorkloadName], namespace: str) -> list[WorkloadName]:
    """Return those of *names* that are in *namespace*."""
    return [name for name in names if namespace_of(name) == namespace]
