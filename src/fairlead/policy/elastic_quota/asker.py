"""A pod that wants a place, with all that the rules look at."""

from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey, PodSet, Workload
from fairlead.policy.elastic_quota.charges import Charges


class Asker(NamedTuple):
    """One pod that waits; ``queue`` is None in a namespace without a quota."""

    workload: Workload
    pod: PodId
    queue: QueueName | None
    priority: int
    requests: Amounts  # at its node
    charge: Amounts  # to its quota
    named: frozenset[int]  # the axes that it names

    @property
    def key(self) -> PodKey:
        """How the books of nodes know it."""
        return (self.workload.name, self.pod)

    @property
    def turn(self) -> tuple[int, int, str, int]:
        """When it has its turn: by priority, then by age, then by name."""
        return (*turn_of(self.workload), self.workload.pod_sets.position[self.pod])

    @property
    def set_index(self) -> int:
        """Which set of its workload it belongs to."""
        return self.workload.pod_sets.set_index[self.pod]

    @property
    def pod_set(self) -> PodSet:
        """The set that it belongs to."""
        return self.workload.pod_sets.of(self.pod)


def asker_of(state: ClusterState, charges: Charges, workload: Workload, pod: PodId) -> Asker:
    """Return what *pod* asks for."""
    at = workload.pod_sets.set_index[pod]
    charge = charges.of(workload, at)
    return Asker(
        workload=workload,
        pod=pod,
        queue=workload.queue if workload.queue in state.queues else None,
        priority=workload.priority,
        requests=workload.pod_sets[at].requests,
        charge=charge.amounts,
        named=charge.named,
    )


def turn_of(workload: Workload) -> tuple[int, int, str]:
    """Return when a workload has its turn, as in Kubernetes' default scheduler."""
    return (-workload.priority, workload.created_ms, workload.name)


def pod_title(workload: Workload, pod: PodId) -> str:
    """Return what people call a pod: ``namespace/name``."""
    return f"{workload.namespace}/{workload.pod_name(pod)}"
