"""How much room a node has: now, and once all terminating pods are gone.

What is reserved is not available *later*, though it may be idle now. A device that pods share is
not available to pods that need a whole one, however little of it is taken.
"""

from collections.abc import Sequence
from operator import sub
from typing import NamedTuple

from fairlead.model.accounting.node_books import NodeUse
from fairlead.model.axes import Amounts
from fairlead.model.device_share import WHOLE_DEVICE_E9
from fairlead.model.node import Node

THOUSANDTH_E9 = 10**6  # in billionths
DEVICE = 1000  # in thousandths


class DeviceRoom(NamedTuple):
    """What is free of a shared device, in billionths, never below 0."""

    number: int
    idle_e9: int  # 0 on one that is only reserved: no pod uses it yet
    later_e9: int


class NodeRoom(NamedTuple):
    """What is free on a node, one entry per resource, never below 0."""

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
        """Return how much of GPUs is in *requests*, in thousandths."""
        if len(self.kinds) == 1:  # nearly always
            return requests[self.kinds[0]]
        return sum([requests[at] for at in self.kinds])


def node_room(
    node: Node, offered: Amounts, released: Amounts, use: NodeUse, gpus: GpuResources
) -> NodeRoom:
    """Return what *use* leaves of what the node *offered*, and of what foreign pods *released*.

    The latter is available later. Cost: resources and shared devices.
    """
    later = idle = list(map(sub, offered, use.held))
    if any(use.leaving) or any(use.reserved) or any(released):
        changes = zip(idle, released, use.leaving, use.reserved, strict=True)
        later = [free + given + leaving - reserved for free, given, leaving, reserved in changes]
    devices: tuple[DeviceRoom, ...] = ()
    if use.devices and gpus.shared is not None:
        idle, later = list(idle), list(later)
        for held, leaving, reserved in use.devices.values():
            idle[gpus.shared] -= DEVICE if held else 0
            later[gpus.shared] -= DEVICE if held - leaving + reserved else 0
        devices = _device_rooms(use, idle[gpus.shared], later[gpus.shared])
    clipped = _not_negative(later)
    idle_now = clipped if later is idle else _not_negative(idle)
    gpu_later = gpus.asked(clipped) + (_free_parts(devices) if devices else 0)
    return NodeRoom(node, idle_now, clipped, gpu_later, devices)


def has_open_gpus(room: NodeRoom, released: Amounts, use: NodeUse, gpus: GpuResources) -> bool:
    """Return whether a GPU of the node is idle, or is being released and not reserved.

    *released* is what foreign pods give up.
    """
    if gpus.asked(room.idle) > 0 or any(each.idle_e9 for each in room.devices):
        return True
    if room.idle is room.later and not use.devices:
        return False  # nothing is being released
    freed = sum([released[at] + use.leaving[at] - use.reserved[at] for at in gpus.kinds])
    return freed > 0 or sum([gone - kept for _, gone, kept in use.devices.values()]) > 0


def _device_rooms(use: NodeUse, idle: int, later: int) -> tuple[DeviceRoom, ...]:
    """Return the room on shared devices; *idle* and *later* are what is left of whole ones.

    If that is negative, the node has lost devices and does not say which: then no shared device has
    room.
    """
    return tuple(
        DeviceRoom(
            number=number,
            idle_e9=max(0, WHOLE_DEVICE_E9 - held) if held and idle >= 0 else 0,
            later_e9=max(0, WHOLE_DEVICE_E9 - held + leaving - reserved) if later >= 0 else 0,
        )
        for number, (held, leaving, reserved) in sorted(use.devices.items())
    )


def _free_parts(devices: tuple[DeviceRoom, ...]) -> int:
    """Return what is free later of devices that stay shared, in thousandths.

    Rounded up for each, so that a node with anything left does not seem full. A device from which
    all pods are terminating counts as a whole one.
    """
    later = [each.later_e9 for each in devices if each.later_e9 < WHOLE_DEVICE_E9]
    return sum([-(-free_e9 // THOUSANDTH_E9) for free_e9 in later])


def _not_negative(amounts: Sequence[int]) -> Amounts:
    if min(amounts, default=0) >= 0:
        return tuple(amounts)
    return tuple([amount if amount > 0 else 0 for amount in amounts])
