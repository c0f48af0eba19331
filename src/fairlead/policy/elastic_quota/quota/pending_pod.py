"""A pending pod with everything that the rules read, and which pods of a workload to attempt."""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId, PodKey, PodSet, Workload
from fairlead.policy.elastic_quota.quota.usage import Charges


class PendingPod(NamedTuple):
    """One pending pod; ``queue`` is None in a namespace without a quota."""

    workload: Workload
    pod: PodId
    queue: QueueName | None
    priority: int
    requests: Amounts  # of its node
    charge: Amounts  # to its quota
    named: frozenset[int]  # axes that the pod names, even with 0

    @property
    def key(self) -> PodKey:
        """The pod's identity in the node quotas."""
        return (self.workload.name, self.pod)

    @property
    def order(self) -> tuple[int, int, str, int]:
        """Its place in scheduling order: by priority, then by age, then by name."""
        return (*scheduling_order(self.workload), self.workload.pod_sets.position[self.pod])

    @property
    def set_index(self) -> int:
        """The index of its pod set."""
        return self.workload.pod_sets.set_index[self.pod]

    @property
    def pod_set(self) -> PodSet:
        """Its pod set."""
        return self.workload.pod_sets.of(self.pod)


def pending_pod_of(
    state: ClusterState, charges: Charges, workload: Workload, pod: PodId
) -> PendingPod:
    """Return *pod* of *workload* with its requests and its charge."""
    at = workload.pod_sets.set_index[pod]
    charge = charges.of(workload, at)
    return PendingPod(
        workload=workload,
        pod=pod,
        queue=workload.queue if workload.queue in state.queues else None,
        priority=workload.priority,
        requests=workload.pod_sets[at].requests,
        charge=charge.amounts,
        named=charge.named,
    )


def scheduling_order(workload: Workload) -> tuple[int, int, str]:
    """Return the sort key of a workload in scheduling order, as in the default scheduler."""
    return (-workload.priority, workload.created_ms, workload.name)


def pod_title(workload: Workload, pod: PodId) -> str:
    """Return a pod's name for people: ``namespace/name``."""
    return f"{workload.namespace}/{workload.pod_name(pod)}"


def whole_gang(
    state: ClusterState, charges: Charges, pending_pods: Sequence[PendingPod]
) -> PendingPod:
    """Return the first of *pending_pods*, all of one workload, with the charge of all of them.

    The charge is at least the minResources of their group, less what the group already holds.
    """
    named = frozenset([at for each in pending_pods for at in each.named])
    return pending_pods[0]._replace(charge=_charge(state, charges, pending_pods), named=named)


def _charge(state: ClusterState, charges: Charges, pending_pods: Sequence[PendingPod]) -> Amounts:
    workload = pending_pods[0].workload
    total = [sum(amounts) for amounts in zip(*[each.charge for each in pending_pods], strict=True)]
    own = workload.extension
    if isinstance(own, ElasticPods) and own.min_resources is not None:
        least = list(state.axes.charge(state.resources, own.min_resources))
        run = state.runs.get(workload.name)
        for pod in run.pods if run else ():
            held = charges.of(workload, workload.pod_sets.set_index[pod]).amounts
            least = [a - b for a, b in zip(least, held, strict=True)]
        total = list(map(max, total, least))
    return tuple(total)


class Readiness(NamedTuple):
    """The pods of a workload that have no node and may be scheduled."""

    pods: tuple[PodId, ...]  # in the order of attempts
    staying: int  # pods that have a node and keep it
    needed: int  # how many of the pods must start together; 0: each on its own
    there: int  # running and pending pods, gated ones included


def readiness(state: ClusterState, workload: Workload) -> Readiness:
    """Return which pods of *workload* to attempt. Cost: its pods."""
    run = state.runs.get(workload.name)
    placed = run.pods if run else {}
    staying = sum(1 for each in placed.values() if each.is_running())
    waiting = [pod for pod in workload.pods() if pod not in placed]
    return Readiness(
        pods=tuple([pod for pod in waiting if not workload.pod_sets.of(pod).gated]),
        staying=staying,
        needed=max(0, workload.min_count - staying) if _is_gang(workload) else 0,
        there=staying + len(waiting),
    )


def _is_gang(workload: Workload) -> bool:
    """Return whether pods start together; a single pod with minResources is a gang, too."""
    own = workload.extension
    return workload.min_count > 1 or (isinstance(own, ElasticPods) and bool(own.min_resources))
