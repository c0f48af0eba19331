"""A pod that wants a place, with all that the rules look at."""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.node_books import PodKey
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId, PodSet, Workload
from fairlead.policy.elastic_quota.quota.usage import Charges


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


def as_one(state: ClusterState, charges: Charges, askers: Sequence[Asker]) -> Asker:
    """Return the first of *askers*, pods of one workload, with the charge of all of them.

    That is no less than minResources of their group says; what it has already counts towards that.
    """
    named = frozenset([at for each in askers for at in each.named])
    return askers[0]._replace(charge=_charge(state, charges, askers), named=named)


def _charge(state: ClusterState, charges: Charges, askers: Sequence[Asker]) -> Amounts:
    workload = askers[0].workload
    total = [sum(amounts) for amounts in zip(*[each.charge for each in askers], strict=True)]
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
    """What of a workload has no place and may be given one."""

    pods: tuple[PodId, ...]  # in the order of trying
    staying: int  # how many have a place, and keep it
    needed: int  # how many of the pods must start together; 0: each by itself
    there: int  # how many pods stay or wait, those that are held back included


def readiness(state: ClusterState, workload: Workload) -> Readiness:
    """Return what is to be tried of *workload*. Cost: a look at each of its pods."""
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
    """Return whether pods are to start together; one pod, too, may need more than it asks for."""
    own = workload.extension
    return workload.min_count > 1 or (isinstance(own, ElasticPods) and bool(own.min_resources))
