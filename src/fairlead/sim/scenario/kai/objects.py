"""Inline queues as the Queues of KAI, and how a job finds one."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from fairlead.model.duration import format_duration
from fairlead.model.quantity import is_gpu
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob
from fairlead.sim.engine.workload_maker import Address, AddressBook, known_queue
from fairlead.sim.scenario.form.scenario_form import QueueForm
from fairlead.sim.scenario.variant.objects import MadeObject
from fairlead.sim.scenario.variant.queue_tree import QueueTree

_UNITS: Final = {"cpu": 1, "memory": 10**6, "gpu": 1000}
"""Base units in one of the unit in which KAI writes a quota: millicores, megabytes, devices."""
_NO_BOUND: Final = -1


def kai_address_book(state: ClusterState) -> AddressBook:
    """Return what finds the Queue of a job by its name."""
    return lambda job: Address("", known_queue(state, job), KaiJob())


def kai_objects(tree: QueueTree) -> Iterator[MadeObject]:
    """Yield a Queue for each queue: what is free of quota is unlimited, and so is no limit."""
    for queue in tree.queues:
        spec: dict[str, Any] = {
            "resources": {axis: _resource(tree, queue, axis) for axis in _UNITS},
        }
        if queue.parent is not None:
            spec["parentQueue"] = queue.parent
        if queue.priority is not None:
            spec["priority"] = queue.priority
        if queue.min_runtime_ms is not None:
            length = format_duration(queue.min_runtime_ms)
            spec |= {"preemptMinRuntime": length, "reclaimMinRuntime": length}
        value: dict[str, Any] = {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": queue.name},
            "spec": spec,
        }
        yield MadeObject(value, tree.path(queue))


def _resource(tree: QueueTree, queue: QueueForm, axis: str) -> dict[str, Any]:
    is_shared = any(_axis_of(resource) == axis for resource in tree.shared)
    quota = _on_axis(tree.guaranteed(queue), axis) or Decimal(0)
    limit = _on_axis(tree.ceiling(queue), axis)
    return {
        "quota": quota if is_shared else _NO_BOUND,
        "limit": _NO_BOUND if limit is None else limit,
        "overQuotaWeight": queue.weight,
    }


def _on_axis(amounts: Mapping[str, int], axis: str) -> Decimal | None:
    named = [amount for resource, amount in amounts.items() if _axis_of(resource) == axis]
    return Decimal(sum(named)) / _UNITS[axis] if named else None


def _axis_of(resource: str) -> str:
    """Return what KAI counts *resource* as: devices of every vendor are one."""
    return "gpu" if is_gpu(resource) else resource
