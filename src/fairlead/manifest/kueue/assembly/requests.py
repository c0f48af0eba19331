"""What a pending Workload asks for, as Kueue computes it from its pod templates.

LimitRanges of the namespace and the runtime class of the pods fill in what the templates leave out.
Then resources with an excluded prefix are dropped, and transformations turn resources into others.
A Workload that has quota is charged as its status says, whatever these say by now.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.manifest.core.device_claims import template_names
from fairlead.manifest.core.read_pod_spec import NO_DEFAULTS, Defaults
from fairlead.manifest.kueue.assembly.allowed_requests import requests_problem, runtime_overhead
from fairlead.manifest.kueue.assembly.queues import KueueObjects
from fairlead.manifest.kueue.objects import KueuePodSet, KueueWorkloadObject, RequestRules
from fairlead.model.quantity import base_units, scale_of

_PODS: Final = "pods"  # Kueue counts them where a queue covers them, after all this
_UNCHANGED: Final = RequestRules()


def with_requests(workload: KueueWorkloadObject, objects: KueueObjects) -> KueueWorkloadObject:
    """Return *workload* with what Kueue would charge for its pods."""
    if workload.admitted_ms is not None:
        return workload
    rules, defaults = objects.request_rules, _defaults(workload.namespace, objects)
    problem = requests_problem(workload, defaults, objects)
    if problem is not None:
        workload = msgspec.structs.replace(workload, misconfigured=problem)
    if rules == _UNCHANGED and defaults is NO_DEFAULTS and not objects.runtime_classes:
        return workload
    pod_sets = []
    for each in workload.pod_sets:
        requests = transformed(_completed(each, defaults, objects), rules)
        _add_devices(requests, workload.namespace, each, objects)
        pod_sets.append(msgspec.structs.replace(each, requests=requests))
    return msgspec.structs.replace(workload, pod_sets=tuple(pod_sets))


def _add_devices(
    requests: dict[str, int], namespace: str, pod_set: KueuePodSet, objects: KueueObjects
) -> None:
    """Add the devices that a pod claims, as the resources to which their classes are mapped."""
    resource_of = dict(objects.request_rules.device_resources)
    for name in template_names(pod_set.device_claims):
        template = objects.device_templates.get(f"{namespace}/{name}")
        for device_class, count in () if template is None else template.devices:
            resource = resource_of.get(device_class)
            if resource is not None:
                amount = count * scale_of(resource)
                requests[resource] = requests.get(resource, 0) + amount


def _defaults(namespace: str, objects: KueueObjects) -> Defaults:
    """Return what all LimitRanges of a namespace say; the first by name counts."""
    found = NO_DEFAULTS
    ranges = [each for each in objects.limit_ranges.values() if each.namespace == namespace]
    for each in sorted(ranges, key=lambda each: each.name):
        requests = {**each.requests, **found.requests}
        found = Defaults(requests=requests, limits={**each.limits, **found.limits})
    return found


def _completed(
    pod_set: KueuePodSet, defaults: Defaults, objects: KueueObjects
) -> Mapping[str, int]:
    """Return what one pod of a set requests with what its cluster adds."""
    if pod_set.demand is None:
        return pod_set.requests
    return pod_set.demand.total(defaults, runtime_overhead(pod_set.demand, objects))


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
