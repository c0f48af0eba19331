"""Which devices pods that are not ours hold without asking for whole ones.

A share of a device is an annotation, not a request, so the requests of a pod do not show it. A
device of which such a pod has a part is no longer whole: it is charged as one device.

KAI keeps a device for its sharers with a pod in a namespace of its own. Where a pod of the input
shares that device, it is charged there; else the part that is taken is not known, and all counts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from fairlead.manifest.core.live_pods import is_placed
from fairlead.manifest.core.objects import ByResource, NodeObject, PodObject, full_name
from fairlead.manifest.core.read_pod_spec import PODS
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.devices.assigned_shares import (
    GROUP_LABEL,
    HeldByOthers,
    SharedDevices,
    Sharing,
    device_ids,
    sharing_of,
)
from fairlead.manifest.kai.quota_axes import GPU
from fairlead.manifest.text.path import quote
from fairlead.placement.node_room import DEVICE

RESERVATION_NAMESPACES: Final = frozenset({"kai-resource-reservation", "runai-reservation"})

_Device: TypeAlias = tuple[str, str]  # a node, and the id of a device there


class ForeignDevices(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are not ours with every device that they hold among their requests.

    ``held_by_others`` is what they have of devices that ours share too.
    """

    pods: tuple[PodObject, ...]
    held_by_others: HeldByOthers


def charge_foreign_devices(
    foreign: Sequence[PodObject],
    ours: Iterable[PodObject],
    nodes: Iterable[NodeObject],
    findings: Findings,
) -> ForeignDevices:
    """Return *foreign* with each device charged to one pod, and what they share with *ours*.

    Law: no device is whole of which one of *foreign* has a part, or which is kept for a pod that
    is not in the input; the order of pods changes nothing. Cost: sorts the pods that share.
    """
    known = {node.name: node for node in nodes}
    holding = sorted(filter(holds_devices, foreign), key=full_name)
    sharing = [
        sharing_of(pod, known.get(pod.node or ""), findings) for pod in holding if _has_part(pod)
    ]
    own = [pod for pod in ours if pod.gpu_share and is_placed(pod)]
    own_devices = {device for pod in own for device in _devices_of(pod)}
    _warn_of_strangers(sharing, own_devices, findings)
    devices = _opened_by(sharing)
    reservations = [pod for pod in holding if _is_reservation(pod)]
    devices |= _kept_by(reservations, [*own, *(each.pod for each in sharing)])
    return ForeignDevices(
        pods=tuple(_charged(pod, devices[full_name(pod)]) for pod in foreign),
        held_by_others=_held_with(own_devices, sharing),
    )


def holds_devices(pod: PodObject) -> bool:
    """Return whether a foreign pod may hold devices, or parts of some, that it does not request."""
    return is_placed(pod) and (pod.gpu_share is not None or _is_reservation(pod))


def _has_part(pod: PodObject) -> bool:
    """Return whether a pod has parts of devices; beside whole ones the annotation means nothing."""
    return pod.gpu_share is not None and not pod.requests.get(GPU) and not _is_reservation(pod)


def _is_reservation(pod: PodObject) -> bool:
    return pod.namespace in RESERVATION_NAMESPACES


def _is_terminating(pod: PodObject) -> bool:
    return pod.terminating


def _devices_of(pod: PodObject) -> list[_Device]:
    return [(pod.node or "", group) for group in device_ids(pod.labels)]


def _opened_by(sharing: Sequence[Sharing]) -> Counter[str]:
    """Return how many devices each pod is the first to have a part of, by its full name.

    Pods that stay come first, so that no device is released with a pod that still has a part.
    """
    on_node: dict[str, list[Sharing]] = {}
    for each in sharing:
        on_node.setdefault(each.pod.node or "", []).append(each)
    opened = Counter[str]()
    for pods in on_node.values():
        seen: set[int] = set()
        shares = SharedDevices(pods).shares
        for pod in sorted([each.pod for each in pods], key=_is_terminating):
            devices = set(shares[full_name(pod)].devices)
            opened[full_name(pod)] = len(devices - seen)
            seen |= devices
    return opened


def _kept_by(reservations: Sequence[PodObject], sharers: Sequence[PodObject]) -> Counter[str]:
    """Return how many devices each of *reservations* keeps that none of *sharers* is on.

    One without an id is taken to be for those without an id on its node, if there are any.
    """
    taken = {device for pod in sharers for device in _devices_of(pod)}
    packed = {
        pod.node
        for pod in sharers
        if pod.gpu_share and len(device_ids(pod.labels)) < pod.gpu_share.devices
    }
    kept = Counter[str]()
    for pod in sorted(reservations, key=_is_terminating):
        found = {*_devices_of(pod)}
        kept[full_name(pod)] = len(found - taken)
        taken |= found
        if not found and pod.node not in packed:
            kept[full_name(pod)] = -(-pod.requests.get(GPU, 0) // DEVICE)
    return kept


def _charged(pod: PodObject, devices: int) -> PodObject:
    """Return the pod with *devices* among its requests; of a reservation nothing else counts."""
    own: ByResource = {PODS: 1} if _is_reservation(pod) else pod.requests
    if devices:
        own = {**own, GPU: devices * DEVICE}
    return pod if own is pod.requests else msgspec.structs.replace(pod, requests=own)


def _held_with(own: set[_Device], sharing: Iterable[Sharing]) -> HeldByOthers:
    held: dict[str, Counter[str]] = {}
    for each in sharing:
        node = each.pod.node or ""
        for group in each.groups:
            if (node, group) in own:
                held.setdefault(node, Counter())[group] += each.part_e9
    return held


def _warn_of_strangers(sharing: Iterable[Sharing], own: set[_Device], findings: Findings) -> None:
    for each in sharing:
        if not own.isdisjoint(_devices_of(each.pod)):
            each.pod.source.report(
                findings,
                "warning",
                "overcommitted",
                ("metadata", "labels"),
                f"found a device of the node {quote(each.pod.node or '')} that pods of KAI's jobs "
                "share too; its part is held there, and one more device, so that none is given "
                "out twice",
                f"correct the labels {GROUP_LABEL} of the pods there",
            )
