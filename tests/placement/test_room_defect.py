"""What a node lacks for a pod is told apart, and with its number."""

import pytest

from fairlead.model.accounting.node_books import NodeUse
from fairlead.model.node import Node
from fairlead.model.workload import GpuShare
from fairlead.placement.node_room import GpuResources, node_room
from fairlead.placement.room_defect import room_defect

RESOURCES = ("cpu", "memory", "pods", "nvidia.com/gpu", "amd.com/gpu")
GPUS = GpuResources(kinds=(3, 4), shared=3)

HALF = GpuShare(thousandths=500)
TWO_THIRDS = GpuShare(devices=2, thousandths=333)
TEN_GIB = GpuShare(memory_mib=10 * 1024)


def node(gpus: int, amd: int = 0, memory_mib: int | None = None) -> Node:
    return Node(
        name="n",
        allocatable=(4000, 2**30, 1, gpus * 1000, amd * 1000),
        gpu_memory_mib=memory_mib,
    )


def defect(there: Node, requests: tuple[int, ...], share: GpuShare | None) -> str | None:
    """Return what the node lacks while two thirds of its first device are taken."""
    use = NodeUse(
        pods={},
        departing={},
        held=[0] * 5,
        leaving=[0] * 5,
        reserved=[0] * 5,
        devices={0: [666_000_000, 0, 0]} if there.allocatable[3] else {},
    )
    room = node_room(there, there.allocatable, (0,) * 5, use, GPUS)
    return room_defect(room, RESOURCES, requests, share, GPUS)


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        ((4000, 2**30, 1, 1000, 0), None),
        ((5000, 0, 1, 0, 0), "lack cpu"),
        ((5000, 2**31, 1, 2000, 0), "lack cpu, memory and nvidia.com/gpu"),
        ((0, 0, 2, 0, 0), "have no room for another pod"),
        ((5000, 0, 2, 0, 0), "lack cpu and room for another pod"),
    ],
)
def test_resources_are_listed(requests: tuple[int, ...], text: str | None) -> None:
    assert defect(node(gpus=2), requests, None) == text


@pytest.mark.parametrize(
    ("there", "share", "text"),
    [
        (node(gpus=2), HALF, None),
        (node(gpus=0), HALF, "have no GPU"),
        (node(gpus=0, amd=4), HALF, "have no GPU that pods can share"),
        (node(gpus=1), HALF, "lack 1 GPU with 0.5 free"),  # a third of it is free
        (node(gpus=1), GpuShare(thousandths=333), None),
        (node(gpus=1), TWO_THIRDS, "lack 2 GPUs with 0.333 free"),
        (node(gpus=2), TEN_GIB, "do not say how much memory a GPU has"),
        (node(gpus=2, memory_mib=20 * 1024), TEN_GIB, None),
        (node(gpus=1, memory_mib=20 * 1024), TEN_GIB, "lack 1 GPU with 10Gi of memory free"),
        (node(gpus=2, memory_mib=8 * 1024), TEN_GIB, "lack 1 GPU with 10Gi of memory free"),
    ],
)
def test_parts_of_devices_are_told_apart(there: Node, share: GpuShare, text: str | None) -> None:
    assert defect(there, (0,) * 5, share) == text


def test_where_no_resource_is_a_gpu_there_is_none() -> None:
    there = Node(name="n", allocatable=(1000,))
    use = NodeUse(pods={}, departing={}, held=[0], leaving=[0], reserved=[0], devices={})
    none = GpuResources(kinds=(), shared=None)
    room = node_room(there, there.allocatable, (0,), use, none)
    assert room_defect(room, ("cpu",), (0,), HALF, none) == "have no GPU"
