"""What the status of an ElasticQuota says: use as the plugin's controller publishes it.

It is not the use that decisions rest on. The controller looks at pods that run, the scheduler at
pods that have a node; and the controller always adds up requests in the plugin's way, whatever
quirks are switched off here. Who compares with a cluster, or reads ``status.used`` today, needs it
as it is there.
"""

from fairlead.model.axes import QueueName
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods
from fairlead.policy.elastic_quota.quota.charges import Charges


def published_used(state: ClusterState) -> dict[QueueName, dict[str, int]]:
    """Return ``status.used`` of every quota, in base units by resource.

    Pods count whose phase is Running, also those that are being deleted. A resource that min or max
    has is there even if nobody uses it; so is one that a pod names. Cost: one look at each pod.
    """
    resources = [axis.resource for axis in state.axes.axes]
    used = {name: _nothing_used(state.queues[name], resources) for name in state.tree_order()}
    charges = Charges(state, as_plugin=True)
    for name, run in state.runs.items():
        workload = state.workloads[name]
        own = used.get(workload.queue)
        if own is None:
            continue
        extension = workload.extension
        starting = extension.not_running if isinstance(extension, ElasticPods) else frozenset()
        for pod, placed in run.pods.items():
            if pod not in starting and placed.phase != "reserved":
                charge = charges.of(workload, workload.pod_sets.set_index[pod])
                for at in charge.named:
                    own[resources[at]] = own.get(resources[at], 0) + charge.amounts[at]
    return {name: dict(sorted(own.items())) for name, own in used.items()}


def _nothing_used(queue: Queue, resources: list[str]) -> dict[str, int]:
    own = queue.extension
    listed = (own.max_listed if isinstance(own, ElasticQuota) else None) or frozenset()
    pairs = zip(resources, queue.guaranteed, strict=True)
    return {resource: 0 for resource, least in pairs if least or resource in listed}
