"""A job as a workload of the rule set that it meets."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from fairlead.errors import SimulationError
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ElasticPods,
    KaiJob,
    KueueWorkload,
    PodConstraints,
    PodSet,
    PodSets,
    Workload,
    WorkloadExtension,
)
from fairlead.policy.contract import PolicyName
from fairlead.sim.engine.job import Job

MOST_SIZES: Final = 10_000
"""That are remembered: where sizes are drawn by chance there may be as many as jobs."""

_Amounts: TypeAlias = tuple[tuple[str, int], ...]
_Size: TypeAlias = tuple[int, int, _Amounts, tuple[tuple[str, str], ...]]
"""How many pods, and how many at least, what each asks for, and the labels of their nodes."""


class WorkloadMaker:
    """Makes workloads for one state under one rule set."""

    def __init__(self, state: ClusterState, policy: PolicyName) -> None:
        """Look up through which LocalQueue a ClusterQueue is reached, where there are any."""
        self._state = state
        self._policy = policy
        # Jobs come in few sizes and for few queues, so most of them have what others had.
        self._pod_sets: dict[_Size, PodSets] = {}
        self._addresses: dict[str, tuple[str, QueueName, WorkloadExtension]] = {}
        self._doors: dict[str, tuple[str, str, QueueName]] = {}  # namespace, name, ClusterQueue
        for _, local in sorted(state.catalogue.local_queues.items()):
            door = local.namespace, local.name, local.cluster_queue
            self._doors[f"{local.namespace}/{local.name}"] = door
            self._doors.setdefault(local.cluster_queue, door)

    def workload(self, job: Job) -> Workload:
        """Return *job* as the rule set knows it, or raise SimulationError.

        Under Kueue the queue of a job is a LocalQueue as NAMESPACE/NAME, or a ClusterQueue: then it
        comes through the first LocalQueue that leads there.
        """
        if job.queue not in self._addresses:
            self._addresses[job.queue] = self._address(job)
        namespace, queue, extension = self._addresses[job.queue]
        labels = tuple(sorted(job.node_labels.items())) if job.node_labels else ()
        size = job.pods, job.min_pods, tuple(job.requests.items()), labels
        pod_sets = self._pod_sets.get(size)
        if pod_sets is None:
            pod_sets = self._keep(size, job)
        return Workload(
            name=WorkloadName(job.name),
            queue=queue,
            namespace=namespace,
            pod_sets=pod_sets,
            min_count=job.min_pods,
            priority=job.priority,
            preemptible=job.preemptible,
            created_ms=job.submit_ms,
            extension=extension,
        )

    def _keep(self, size: _Size, job: Job) -> PodSets:
        """Make the pods of a job, and keep them for others like it."""
        pod_set = PodSet(
            name="main",
            count=job.pods,
            min_count=job.min_pods,
            requests=self._requests(job),
            constraints=PodConstraints(node_selector=size[-1]),
        )
        if len(self._pod_sets) >= MOST_SIZES:
            self._pod_sets.clear()
        self._pod_sets[size] = pod_sets = PodSets((pod_set,))
        return pod_sets

    def _address(self, job: Job) -> tuple[str, QueueName, WorkloadExtension]:
        match self._policy:
            case "kai":
                return "", self._known_queue(job), KaiJob()
            case "elastic-quota":
                return job.queue, self._known_queue(job), ElasticPods()
            case "kueue":
                door = self._doors.get(job.queue)
                if door is None:
                    raise SimulationError(
                        f"job {job.name} is for queue {job.queue}, "
                        "which is neither a LocalQueue nor a ClusterQueue with one; "
                        f"{_other_queue(job.queue, self._doors)}"
                    )
                namespace, name, queue = door
                return namespace, queue, KueueWorkload(local_queue=name)

    def _known_queue(self, job: Job) -> QueueName:
        queue = QueueName(job.queue)
        if queue not in self._state.queues:
            raise SimulationError(
                f"job {job.name} is for queue {queue}, which does not exist; "
                f"{_other_queue(queue, self._state.queues)}"
            )
        return queue

    def _requests(self, job: Job) -> tuple[int, ...]:
        return requests_on(self._state.resources, job.requests, job.name)


def _other_queue(name: str, queues: Iterable[str]) -> str:
    return did_you_mean(name, queues) or "add it, or send the job to another one"


def requests_on(resources: tuple[str, ...], asked: Mapping[str, int], name: str) -> tuple[int, ...]:
    """Return *asked* on *resources*; raise SimulationError for one that the cluster has not."""
    unknown = [resource for resource in asked if resource not in resources]
    if unknown:
        raise SimulationError(
            f"job {name} asks for {', '.join(sorted(unknown))}, which no node has; "
            f"there is {', '.join(resources)}"
        )
    return tuple(asked.get(resource, 0) for resource in resources)
