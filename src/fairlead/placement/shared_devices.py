"""Which devices of a node a pod gets that requests a part of one or more devices.

Packing takes the fullest devices that still have room, so that others stay whole; spreading takes
the emptiest. A device that is not shared yet is as good as any other of its kind, and gets the
lowest free number.
"""

from itertools import count, islice
from typing import NamedTuple

from fairlead.model.device_share import WHOLE_DEVICE_E9, DeviceShare
from fairlead.model.node import Node
from fairlead.model.workload import GpuShare
from fairlead.placement.node_room import (
    DEVICE,
    THOUSANDTH_E9,
    DeviceRoom,
    GpuResources,
    NodeRoom,
)


class DeviceRule(NamedTuple):
    """How devices are chosen. ``wait_to_pack``: wait for a fuller device rather than start now."""

    spread: bool
    wait_to_pack: bool


def part_e9(share: GpuShare, node: Node) -> int | None:
    """Return the part of each device that *share* is on *node*, in billionths.

    None if it is given in memory and the node does not say how much its devices have.
    """
    if share.thousandths is not None:
        return share.thousandths * THOUSANDTH_E9
    if not node.gpu_memory_mib:
        return None
    return (share.memory_mib or 0) * WHOLE_DEVICE_E9 // node.gpu_memory_mib


def fits_devices(room: NodeRoom, share: GpuShare, gpus: GpuResources, *, now: bool = False) -> bool:
    """Return whether enough devices have room for *share* later, and with *now* also now."""
    part = part_e9(share, room.node)
    if part is None or gpus.shared is None:
        return False
    opened, fresh = _with_room(room, part, gpus.shared, now=now)
    return len(opened) + fresh >= share.devices


def choose_devices(
    room: NodeRoom, share: GpuShare, gpus: GpuResources, rule: DeviceRule
) -> tuple[DeviceShare, bool]:
    """Return the devices for *share*, and whether they have room for it now.

    There must be room later (`fits_devices`). Cost: sorts the shared devices of the node.
    """
    part = part_e9(share, room.node)
    assert part is not None, "ask fits_devices first"
    assert gpus.shared is not None, "ask fits_devices first"
    now = not rule.wait_to_pack and fits_devices(room, share, gpus, now=True)
    opened, fresh = _with_room(room, part, gpus.shared, now=now)
    opened.sort(key=lambda each: (-each.later_e9 if rule.spread else each.later_e9, each.number))
    numbers = [each.number for each in opened]
    taken = {each.number for each in room.devices}
    unopened = list(islice((n for n in count() if n not in taken), min(fresh, share.devices)))
    order = [*unopened, *numbers] if rule.spread else [*numbers, *unopened]
    chosen = tuple(sorted(order[: share.devices]))
    found = DeviceShare(devices=chosen, part_e9=part)
    return found, now or _has_room_now(room, chosen, part, gpus.shared)


def _with_room(room: NodeRoom, part: int, gpu: int, *, now: bool) -> tuple[list[DeviceRoom], int]:
    """Return the shared devices with room for *part*, and how many are not shared at all.

    A device from which all pods are terminating is a whole one later. So it counts once, and not at
    all if the whole ones are reserved.
    """
    if part > WHOLE_DEVICE_E9:
        return [], 0
    whole = room.later[gpu] // DEVICE
    opened = [each for each in room.devices if part <= each.later_e9 < WHOLE_DEVICE_E9]
    emptied = [each for each in room.devices if each.later_e9 == WHOLE_DEVICE_E9]
    unopened = max(0, whole - len(emptied))
    if now:
        opened = [each for each in opened if each.idle_e9 >= part]
        emptied = [each for each in emptied if each.idle_e9 >= part]
        unopened = min(unopened, room.idle[gpu] // DEVICE)
    return [*opened, *emptied[:whole]], unopened


def _has_room_now(room: NodeRoom, chosen: tuple[int, ...], part: int, gpu: int) -> bool:
    opened = {each.number: each.idle_e9 for each in room.devices}
    unopened = sum(1 for number in chosen if number not in opened)
    return unopened * DEVICE <= room.idle[gpu] and all(
        opened[number] >= part for number in chosen if number in opened
    )
