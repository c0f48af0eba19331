"""Builds the state of a recorded KAI world directly, as ``kai-cycle/1`` and ``kai-suite/1`` say.

GPUs are counted in devices, cpu in millicores, memory of nodes and pods in bytes and that of queues
in megabytes; -1 is no limit. ``created`` is a rank, taken as seconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fairlead.model.axes import Amounts, Axis, Limits, QueueName, QuotaAxes, WorkloadName
from fairlead.model.device_share import SHARED_GPU
from fairlead.model.events import NodeAdded, QueueChanged, UsageChanged
from fairlead.model.node import Node
from fairlead.model.queue import KaiQueue, Queue
from fairlead.model.state import ClusterState
from tests.conformance.kai_division import exact_number

Json = dict[str, Any]

NOW_MS = 10**9
RESOURCES = ("cpu", "memory", SHARED_GPU)
AXES = ("cpu", "memory", "gpu")
IN_RESULT = ("gpu", "cpu", "memory")  # the order in which results list amounts
MEGABYTE = 10**6
THOUSANDTHS = 1000
BILLION = 10**9


def empty_state() -> ClusterState:
    """A state on the three axes of KAI."""
    axes = QuotaAxes([Axis(axis) for axis in AXES], counted_as={SHARED_GPU: "gpu"})
    return ClusterState(RESOURCES, axes)


def add_nodes(state: ClusterState, nodes: Iterable[Json]) -> None:
    """Add nodes; each is alone in its own domain of the label that the suite's terms use."""
    for node in nodes:
        state.apply(
            NodeAdded(
                Node(
                    name=node["name"],
                    allocatable=requests(node),
                    labels={"kai.scheduler/type": node["name"], **node.get("labels", {})},
                    gpu_memory_mib=node.get("gpuMemoryMiB"),
                )
            )
        )


def add_queues(state: ClusterState, queues: Sequence[Json]) -> None:
    """Add queues, and their usage where some have one."""
    for queue in queues:
        state.apply(QueueChanged(_queue(queue)))
    usage = {
        QueueName(queue["name"]): tuple(
            int(exact_number(queue["usage"].get(axis, 0)) * BILLION) for axis in AXES
        )
        for queue in queues
        if "usage" in queue
    }
    if usage:
        state.apply(UsageChanged(usage))


def requests(row: Mapping[str, Any]) -> Amounts:
    """What a node has or a pod asks for, on the resources."""
    gpu = exact_number(row.get("gpus", 0)) * THOUSANDTHS
    return (int(row.get("cpuMilli", 0)), int(row.get("memory", 0)), int(gpu))


def in_results(amounts: Sequence[int]) -> list[Fraction]:
    """Amounts on the axes, as results list them: devices, millicores, bytes."""
    by_axis = dict(zip(AXES, amounts, strict=True))
    return [Fraction(by_axis[axis], THOUSANDTHS if axis == "gpu" else 1) for axis in IN_RESULT]


def job_name(name: str) -> WorkloadName:
    """The name of a job as the model has it."""
    return WorkloadName(name)


def _queue(queue: Json) -> Queue:
    return Queue(
        name=QueueName(queue["name"]),
        parent=QueueName(queue["parent"]) if queue.get("parent") else None,
        priority=queue["priority"],
        created_ms=queue["created"] * THOUSANDTHS,
        weights=tuple(Decimal(max(0, queue[axis]["weight"])) for axis in AXES),
        guaranteed=_limits(queue, "quota"),
        ceiling=_limits(queue, "limit"),
        borrow_limit=(None,) * len(AXES),
        lend_limit=(None,) * len(AXES),
        preempt_min_runtime_ms=_milliseconds(queue.get("preemptMinRuntime")),
        reclaim_min_runtime_ms=_milliseconds(queue.get("reclaimMinRuntime")),
        extension=KaiQueue(),
    )


def _limits(queue: Json, key: str) -> Limits:
    units = {"cpu": 1, "memory": MEGABYTE, "gpu": THOUSANDTHS}
    return tuple(
        None if queue[axis][key] == -1 else int(exact_number(queue[axis][key]) * units[axis])
        for axis in AXES
    )


def _milliseconds(seconds: int | None) -> int | None:
    return None if seconds is None else seconds * THOUSANDTHS
