"""How much room a node has: now, and once everybody who is leaving has left.

What is reserved has been promised: it is no longer there *later*, though it may be idle now.
A device that pods share is not there for whole-device pods, however little of it is taken.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.model.axes import Amounts
from fairlead.model.device_share import WHOLE_DEVICE_E9
from fairlead.model.node import Node
from fairlead.model.node_books import NodeUse

THOUSANDTH_E9 = 10**6  # in billionths
DEVICE = 1000  # in thousandths


class DeviceRoom(NamedTuple):
    """What is free of a device that pods share, in billionths."""

    number: int
    idle_e9: int  # 0 on one that is only reserved: nobody has opened it yet
    later_e9: int


class NodeRoom(NamedTuple):
    """What is free on a node, an entry per resource, never below 0."""

    node: Node
    idle: Amounts
    later: Amounts
    gpu_later: int  # thousandths over all kinds of GPU, free parts of shared devices included
    devices: tuple[DeviceRoom, ...]  # the shared ones, by number


class GpuResources(NamedTuple):
    """Which of the resources are GPUs, and which one's devices can be shared."""

    kinds: tuple[int, ...]
    shared: int | None

    def asked(self, requests: Amounts) -> int:
        """Return how much of GPUs *requests* ask for, in thousandths."""
        return sum([requests[at] for at in self.kinds])


def node_room(node: Node, offered: Amounts, use: NodeUse, gpus: GpuResources) -> NodeRoom:
    """Return what *use* leaves of what the node *offered*. Cost: resources and shared devices."""
    idle = [there - held for there, held in zip(offered, use.held, strict=True)]
    later = idle
    if any(use.leaving) or any(use.reserved):
        changes = zip(idle, use.leaving, use.reserved, strict=True)
        later = [free + leaving - reserved for free, leaving, reserved in changes]
    devices = _device_rooms(use)
    free_parts = 0
    if devices and gpus.shared is not None:
        idle, later = list(idle), list(later)
        for each, (held, leaving, reserved) in zip(devices, _by_number(use), strict=True):
            idle[gpus.shared] -= DEVICE if held else 0
            if held - leaving + reserved:
                later[gpus.shared] -= DEVICE
                free_parts += each.later_e9 // THOUSANDTH_E9
    clipped = _not_negative(later)
    return NodeRoom(
        node=node,
        idle=clipped if later is idle else _not_negative(idle),
        later=clipped,
        gpu_later=gpus.asked(clipped) + free_parts,
        devices=devices,
    )


def _by_number(use: NodeUse) -> list[list[int]]:
    return [use.devices[number] for number in sorted(use.devices)]


def _device_rooms(use: NodeUse) -> tuple[DeviceRoom, ...]:
    if not use.devices:
        return ()
    return tuple(
        DeviceRoom(
            number=number,
            idle_e9=WHOLE_DEVICE_E9 - held if held else 0,
            later_e9=WHOLE_DEVICE_E9 - held + leaving - reserved,
        )
        for number, (held, leaving, reserved) in sorted(use.devices.items())
    )


def _not_negative(amounts: Sequence[int]) -> Amounts:
    return tuple([amount if amount > 0 else 0 for amount in amounts])
