"""The queries for Prometheus: KAI's defaults, or those in the settings, whose names are KAI's.

The server sums up only the capacity. Letting it pick the largest of several series of a queue,
which are rare, would make a query four times slower.
"""

from typing import Final

import msgspec

from fairlead.errors import StoreError
from fairlead.model.quantity import is_gpu, scale_of
from fairlead.usage.settings import PrometheusSource

QUEUE_LABEL: Final = "queue_name"
RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
_AXES: Final = ("cpu", "memory", "gpu")  # as KAI's settings begin
_ALLOCATED: Final = {
    "cpu": "kai_queue_allocated_cpu_cores",
    "memory": "kai_queue_allocated_memory_bytes",
    "gpu": "kai_queue_allocated_gpus",
}
_CAPACITY: Final = {
    "cpu": 'kube_node_status_capacity{resource="cpu"}',
    "memory": 'kube_node_status_capacity{resource="memory"}',
    "gpu": 'kube_node_status_capacity{resource="nvidia_com_gpu"}',
}
_GUARANTEED: Final = {
    "cpu": "kai_queue_quota_cpu_cores",
    "memory": "kai_queue_quota_memory_bytes",
    "gpu": "kai_queue_deserved_gpus",
}


class ResourceQueries(msgspec.Struct, frozen=True, kw_only=True):
    """The queries for one resource, and how many base units 1 in an answer is."""

    resource: str
    scale: int
    allocated: str
    capacity: str
    guaranteed: str


def queries_of(source: PrometheusSource) -> tuple[ResourceQueries, ...]:
    """Return the queries for `RESOURCES`, in that order.

    Raises StoreError for a setting of an unknown name.
    """
    metrics = dict(source.metrics)
    guarantees = {_axis_of(name): query for name, query in source.guarantee_metrics}
    found = tuple(
        ResourceQueries(
            resource=resource,
            scale=scale_of(resource),
            allocated=metrics.pop(f"{axis}AllocationMetric", "") or _ALLOCATED[axis],
            capacity=f"sum({metrics.pop(f'{axis}CapacityMetric', '') or _CAPACITY[axis]})",
            guaranteed=guarantees.pop(axis, "") or _GUARANTEED[axis],
        )
        for axis, resource in zip(_AXES, RESOURCES, strict=True)
    )
    unknown = sorted([*metrics, *guarantees])
    if unknown:
        raise StoreError(f"{unknown[0]!r} is not the name of a query for Prometheus")
    return found


def _axis_of(resource: str) -> str:
    return "gpu" if is_gpu(resource) else resource
