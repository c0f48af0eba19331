"""A job as a workload of the rule set that it meets."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from fairlead.errors import SimulationError
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    PodConstraints,
    PodSet,
    PodSets,
    Workload,
    WorkloadExtension,
)
from fairlead.sim.engine.job import Job

MOST_SIZES: Final = 10_000
"""That are remembered: where sizes are drawn by chance there may be as many as jobs."""

_Amounts: TypeAlias = tuple[tuple[str, int], ...]
_Size: TypeAlias = tuple[int, int, _Amounts, tuple[tuple[str, str], ...]]
"""How many pods, and how many at least, what each asks for, and the labels of their nodes."""


class Address(NamedTuple):
    """Where the workload of a job belongs: its namespace, its queue, and what the rules add."""

    namespace: str
    queue: QueueName
    extension: WorkloadExtension


AddressBook: TypeAlias = Callable[[Job], Address]
"""Finds the address of a job, or raises `SimulationError`; jobs of one queue have the same."""


class WorkloadMaker:
    """Makes workloads for one state under one rule set."""

    def __init__(self, state: ClusterState, address_book: AddressBook) -> None:
        """Take the cluster, and what finds the queue of a job in it."""
        self._state = state
        self._address_book = address_book
        # Jobs come in few sizes and for few queues, so most of them have what others had.
        self._pod_sets: dict[_Size, PodSets] = {}
        self._addresses: dict[str, Address] = {}

    def workload(self, job: Job) -> Workload:
        """Return *job* as the rule set knows it, or raise SimulationError."""
        if job.queue not in self._addresses:
            self._addresses[job.queue] = self._address_book(job)
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

    def _requests(self, job: Job) -> tuple[int, ...]:
        return requests_on(self._state.resources, job.requests, job.name)


def known_queue(state: ClusterState, job: Job) -> QueueName:
    """Return the queue of *state* that *job* names; raise SimulationError if there is none."""
    queue = QueueName(job.queue)
    if queue not in state.queues:
        raise SimulationError(
            f"job {job.name} is for queue {queue}, which does not exist; "
            f"{other_queue(queue, state.queues)}"
        )
    return queue


def other_queue(name: str, queues: Iterable[str]) -> str:
    """Return how to fix a job whose queue is not one of *queues*."""
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
