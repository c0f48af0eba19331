"""Nodes with shared devices in short.

``0=500/250/0,1=0/0/500,w=1/0/0`` reads: of device 0 pods hold 500 thousandths, of which 250 are
leaving; of device 1 nothing is held and 500 are reserved; one whole device is held besides.
"""

from fairlead.model.accounting.node_books import NodeUse
from fairlead.model.node import Node
from fairlead.model.workload import GpuShare
from fairlead.placement.node_room import GpuResources, NodeRoom, node_room

THOUSANDTH_E9 = 10**6
GPUS = GpuResources(kinds=(1,), shared=1)  # of the resources cpu and nvidia.com/gpu


def use_of(text: str) -> NodeUse:
    use = NodeUse(pods={}, departing={}, held=[0, 0], leaving=[0, 0], reserved=[0, 0], devices={})
    for each in text.split(","):
        name, _, amounts = each.partition("=")
        if name == "w":
            use.held[1], use.leaving[1], use.reserved[1] = (
                int(devices) * 1000 for devices in amounts.split("/")
            )
        elif name != "-":
            use.devices[int(name)] = [int(one) * THOUSANDTH_E9 for one in amounts.split("/")]
    return use


def room_of(gpus: int, text: str, *, gpu_memory_mib: int | None = None) -> NodeRoom:
    """Return the room on a node with so many GPUs, of which *text* is in use."""
    node = Node(
        name="n",
        allocatable=(8000, gpus * 1000),
        gpu_memory_mib=gpu_memory_mib,
    )
    return node_room(node, node.allocatable, (0, 0), use_of(text), GPUS)


def share_of(text: str) -> GpuShare:
    """Read ``500`` (thousandths of one device), ``2x500`` (of two) or ``2x10Mi``."""
    count, _, part = text.rpartition("x")
    devices = int(count or 1)
    if part.endswith("Mi"):
        return GpuShare(devices=devices, memory_mib=int(part[:-2]))
    return GpuShare(devices=devices, thousandths=int(part))
