"""What a pending Workload asks for after the Configuration has changed what its pods request.

Resources with an excluded prefix are dropped; then transformations turn resources into others. A
Workload that has quota is charged as its status says, whatever the Configuration says by now.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.manifest.kueue.objects import KueueWorkloadObject, RequestRules
from fairlead.model.quantity import base_units, scale_of

_PODS: Final = "pods"  # Kueue counts them where a queue covers them, after all this
_UNCHANGED: Final = RequestRules()


def with_requests(workload: KueueWorkloadObject, rules: RequestRules) -> KueueWorkloadObject:
    """Return *workload* with what Kueue would charge for its pods by *rules*."""
    if workload.admitted_ms is not None or rules == _UNCHANGED:
        return workload
    pod_sets = tuple(
        msgspec.structs.replace(each, requests=transformed(each.requests, rules))
        for each in workload.pod_sets
    )
    return msgspec.structs.replace(workload, pod_sets=pod_sets)


def transformed(requests: Mapping[str, int], rules: RequestRules) -> dict[str, int]:
    """Return what one pod counts as that asks for *requests*.

    Outputs of several inputs add up, and to what the pod asks for itself; a sum below 0 is 0.
    """
    kept = {
        resource: amount
        for resource, amount in requests.items()
        if resource == _PODS or not resource.startswith(rules.excluded_prefixes)
    }
    by_input = {each.input: each for each in rules.transformations}
    total: dict[str, int] = {}
    for resource, amount in kept.items():
        found = by_input.get(resource)
        if found is None:
            total[resource] = total.get(resource, 0) + amount
            continue
        if found.multiply_by in kept:
            amount *= _whole_units(found.multiply_by, kept[found.multiply_by])
        for output, factor in found.outputs:
            more, _ = base_units(output, factor * _whole_units(resource, amount))
            total[output] = total.get(output, 0) + more
        if not found.replaces_input:
            total[resource] = total.get(resource, 0) + amount
    return {resource: max(0, amount) for resource, amount in total.items()}


def _whole_units(resource: str, amount: int) -> int:
    """Return an amount in whole units, rounded up, as Kueue takes it as a factor."""
    return -(-amount // scale_of(resource))
