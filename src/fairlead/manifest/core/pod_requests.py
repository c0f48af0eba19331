"""What a node is charged for one pod, from what its containers ask for.

Init containers run one after the other before the main ones, so they need room for the largest of
them, not for their sum. Sidecars start in that sequence too but keep running, beside the init
containers after them and beside the main ones.
"""

from collections.abc import Mapping, Sequence

from fairlead.manifest.core.read_containers import Container

_HUGE_PAGES = "hugepages-"


def pod_requests(main: Sequence[Container], init: Sequence[Container]) -> dict[str, int]:
    """Return the most that the containers ask for at any one time, by resource.

    Law: at least the sum of the main containers and sidecars, and at least every step of the init
    sequence together with the sidecars started before it.
    """
    lasting: dict[str, int] = {}
    for container in main:
        _add(lasting, container.requests)
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in init:
        step = dict(sidecars)
        _add(step, container.requests)
        if container.is_sidecar:
            _add(lasting, container.requests)
            sidecars = step
        _raise_to(peak, step)
    _raise_to(lasting, peak)
    return lasting


def plugin_requests(main: Sequence[Container], init: Sequence[Container]) -> dict[str, int]:
    """Return what the capacity-scheduling plugin adds up for the containers, by resource.

    It takes a sidecar for an init container that is gone before the main ones start. Law: without
    sidecars it is what `pod_requests` gives.
    """
    total: dict[str, int] = {}
    for container in main:
        _add(total, container.requests)
    for container in init:
        _raise_to(total, container.requests)
    return total


def with_pod_level(
    by_containers: Mapping[str, int], requests: Mapping[str, int], limits: Mapping[str, int]
) -> dict[str, int]:
    """Return requests in which those written for the pod as a whole replace the containers'.

    Only cpu, memory and huge pages can be written so. A limit of the pod stands in where neither
    it nor its containers request anything; huge pages cannot be overcommitted, so theirs always.
    """
    stand_ins = {
        resource: amount
        for resource, amount in limits.items()
        if _is_pod_level(resource)
        and (resource.startswith(_HUGE_PAGES) or resource not in by_containers)
    }
    own = {resource: amount for resource, amount in requests.items() if _is_pod_level(resource)}
    return {**by_containers, **stand_ins, **own}


def plus(requests: Mapping[str, int], overhead: Mapping[str, int]) -> dict[str, int]:
    """Return *requests* and what the pod costs besides its containers."""
    total = dict(requests)
    _add(total, overhead)
    return total


def _is_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith(_HUGE_PAGES)


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0) + amount


def _raise_to(total: dict[str, int], least: Mapping[str, int]) -> None:
    for resource, amount in least.items():
        total[resource] = max(total.get(resource, 0), amount)
