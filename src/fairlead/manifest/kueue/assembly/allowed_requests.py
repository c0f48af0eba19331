"""Whether what a pending Workload asks for is allowed; Kueue does not admit it otherwise.

No container may ask for more than its limit, and what the LimitRanges of the namespace say about
containers and pods holds for all of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from fairlead.manifest.core.objects import Bounds
from fairlead.manifest.core.read_pod_spec import Container, Defaults, PodDemand
from fairlead.manifest.kueue.assembly.queues import KueueObjects
from fairlead.manifest.kueue.objects import KueueWorkloadObject
from fairlead.model.quantity import show_amount


def requests_problem(
    workload: KueueWorkloadObject, defaults: Defaults, objects: KueueObjects
) -> str | None:
    """Return the first thing that is wrong with the requests of *workload*; None: nothing is."""
    ranges = [
        each
        for _, each in sorted(objects.limit_ranges.items())
        if each.namespace == workload.namespace
    ]
    of_containers = [bounds for each in ranges for bounds in each.of_containers]
    of_pods = [bounds for each in ranges for bounds in each.of_pods]
    for pod_set in workload.pod_sets:
        if pod_set.demand is not None:
            total = pod_set.demand.total(defaults, runtime_overhead(pod_set.demand, objects))
            problems = chain(
                _of_containers(pod_set.demand, defaults, of_containers), _of_pod(total, of_pods)
            )
            for problem in problems:
                return f"pod set {pod_set.name}: {problem}"
    return None


def runtime_overhead(demand: PodDemand, objects: KueueObjects) -> Mapping[str, int] | None:
    """Return what the runtime class of a pod costs; None: that is not known."""
    found = objects.runtime_classes.get(demand.runtime_class)
    return None if found is None else found.overhead


def _of_containers(
    demand: PodDemand, defaults: Defaults, of_containers: Iterable[Bounds]
) -> Iterator[str]:
    for containers in demand.completed(defaults):
        for container in containers:
            yield from _of_container(container, of_containers)


def _of_pod(total: Mapping[str, int], of_pods: Iterable[Bounds]) -> Iterator[str]:
    for bounds in of_pods:
        yield from _outside("a pod asks for", total, total, bounds)


def _of_container(container: Container, of_containers: Iterable[Bounds]) -> Iterator[str]:
    requests, limits = container.requests, container.limits
    for resource in sorted(requests.keys() & limits.keys()):
        if requests[resource] > limits[resource]:
            compared = _compared(resource, requests[resource], ">", limits[resource])
            yield f"a container asks for more {resource} than its limit: {compared}"
    # A limit without a request stands for both, and what the bounds hold for.
    least = {name: min(n, limits.get(name, n)) for name, n in requests.items()}
    most = {**requests, **limits}
    for bounds in of_containers:
        yield from _outside("a container asks for", least, most, bounds)


def _outside(
    who: str, least: Mapping[str, int], most: Mapping[str, int], bounds: Bounds
) -> Iterator[str]:
    """Yield where amounts are outside the *bounds* of a LimitRange; one that is not said is not."""
    for resource, bound in sorted(bounds.most.items()):
        if most.get(resource, 0) > bound:
            compared = _compared(resource, most[resource], ">", bound)
            yield f"{who} more {resource} than a LimitRange allows: {compared}"
    for resource, bound in sorted(bounds.least.items()):
        if least.get(resource, bound) < bound:
            compared = _compared(resource, least[resource], "<", bound)
            yield f"{who} less {resource} than a LimitRange demands: {compared}"


def _compared(resource: str, amount: int, sign: str, bound: int) -> str:
    return f"{show_amount(resource, amount)} {sign} {show_amount(resource, bound)}"
