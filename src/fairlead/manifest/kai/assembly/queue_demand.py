"""What queues ask for where their pods are not in the input: as another program has added it up.

The share simulator is sent totals, and KAI itself publishes them in the status of its queues. A
total becomes one pod of that size, which is all that a division of shares looks at.
"""

from collections.abc import Iterator, Sequence

from fairlead.manifest.core.node_amounts import amounts_on
from fairlead.manifest.core.objects import ByResource
from fairlead.manifest.kai.assembly.priority import DEFAULT_JOB_PRIORITY, NON_PREEMPTIBLE_FROM
from fairlead.manifest.kai.objects import KaiQueueObject, QueueDemand
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Event, Placement, WorkloadAdded, WorkloadStarted
from fairlead.model.workload import PodSet, PodSets, Workload


class Demands:
    """The totals that count: those of simulations always, those of a status if nothing else."""

    def __init__(self, queues: Sequence[KaiQueueObject], *, has_jobs: bool) -> None:
        """Take the totals of *queues*; *has_jobs*: pods say what is asked for, no status counts."""
        inner = {queue.parent for queue in queues}
        self._found: list[tuple[KaiQueueObject, QueueDemand]] = []
        for queue in queues:
            status = None if has_jobs or queue.name in inner else queue.status
            demand = queue.simulated or status
            if demand is not None:
                self._found.append((queue, demand))

    def amounts(self) -> Iterator[ByResource]:
        """Yield all that is asked for, by resource."""
        for _, demand in self._found:
            yield from (demand.requested, demand.allocated, demand.non_preemptible)

    def events(self, resources: tuple[str, ...]) -> Iterator[Event]:
        """Yield a workload for each part of a demand: what waits, what runs, what must stay."""
        for queue, demand in self._found:
            requested = amounts_on(resources, demand.requested)
            allocated = amounts_on(resources, demand.allocated)
            staying = amounts_on(resources, demand.non_preemptible)
            yield from _one_pod(f"/{queue.name}", queue, _less(requested, allocated))
            running = _one_pod(f"/{queue.name}/running", queue, _less(allocated, staying))
            yield from _started(running)
            yield from _started(_one_pod(f"/{queue.name}/staying", queue, staying, stays=True))


def is_demand(name: WorkloadName) -> bool:
    """Return whether a name is that of a total: a job's begins with its namespace."""
    return name.startswith("/")


def _less(amounts: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    """Return what is left of each; a status may be of two moments, so never less than 0."""
    return tuple(max(0, one - other) for one, other in zip(amounts, others, strict=True))


def _one_pod(
    name: str, queue: KaiQueueObject, requests: tuple[int, ...], *, stays: bool = False
) -> Iterator[WorkloadAdded]:
    """Yield a workload of one pod that asks for all of *requests*; none if that is nothing."""
    if any(requests):
        pod_set = PodSet(name="requested", count=1, min_count=0, requests=requests)
        yield WorkloadAdded(
            Workload(
                name=WorkloadName(name),
                queue=QueueName(queue.name),
                pod_sets=PodSets((pod_set,)),
                min_count=1,
                priority=NON_PREEMPTIBLE_FROM if stays else DEFAULT_JOB_PRIORITY,
                preemptible=not stays,
                created_ms=queue.created_ms,
            )
        )


def _started(added: Iterator[WorkloadAdded]) -> Iterator[Event]:
    for event in added:
        yield event
        only = event.workload.pods()[0]
        yield WorkloadStarted(
            workload=event.workload.name,
            placements=(Placement(only, None),),  # on which node is not known
            at_ms=event.workload.created_ms,
        )
