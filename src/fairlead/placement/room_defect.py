"""What a node has too little of for a pod, worded to follow "3 of 8 nodes"."""

from collections.abc import Sequence

from fairlead.model.axes import Amounts
from fairlead.model.device_share import SHARED_GPU
from fairlead.model.node import Node
from fairlead.model.quantity import show_amount
from fairlead.model.workload import GpuShare
from fairlead.placement.node_room import GpuResources, NodeRoom
from fairlead.placement.shared_devices import fits_devices, part_e9

POD_SLOTS = "pods"
MIB = 2**20


def room_defect(
    room: NodeRoom,
    resources: Sequence[str],
    requests: Amounts,
    share: GpuShare | None,
    gpus: GpuResources,
) -> str | None:
    """Return what is not free even later for *requests* and *share*; None if there is room.

    *requests* are those besides parts of devices, one entry for each of *resources*.
    """
    lacking = [
        "room for another pod" if resource == POD_SLOTS else resource
        for resource, need, free in zip(resources, requests, room.later, strict=True)
        if need > free
    ]
    if lacking:
        return lack_text(lacking)
    if share is not None and not fits_devices(room, share, gpus):
        return _device_defect(room.node, share, gpus)
    return None


def lack_text(what: Sequence[str]) -> str:
    """Return the text that nodes lack *what*, one resource or several."""
    *others, last = what
    if others:
        return f"lack {', '.join(others)} and {last}"
    return f"have no {last}" if last.startswith("room") else f"lack {last}"


def _device_defect(node: Node, share: GpuShare, gpus: GpuResources) -> str:
    """Return why too few devices have room for *share*."""
    if gpus.asked(node.allocatable) == 0:
        return "have no GPU"
    if gpus.shared is None or node.allocatable[gpus.shared] == 0:
        return "have no GPU that pods can share"
    if part_e9(share, node) is None:
        return "do not say how much memory a GPU has"
    count = "1 GPU" if share.devices == 1 else f"{share.devices} GPUs"
    return f"lack {count} with {part_text(share)} free"


def part_text(share: GpuShare) -> str:
    """Return how much of one GPU is asked for: ``0.5``, or ``4Gi of memory``."""
    if share.thousandths is not None:
        return show_amount(SHARED_GPU, share.thousandths)
    return f"{show_amount('memory', (share.memory_mib or 0) * MIB)} of memory"
