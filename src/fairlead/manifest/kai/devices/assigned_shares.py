"""Which devices the pods are on that run and share some.

KAI labels such a pod with an id for each of its devices; pods that share a device have the same id.
The ids of a node, sorted, are the numbers from 0 on. A pod without enough ids (somebody may have
written its manifest by hand) is put on the fullest device that has room, as KAI packs them, else on
one more.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from fairlead.manifest.core.objects import ByResource, NodeObject, PodObject, full_name, is_placed
from fairlead.manifest.core.read_gpu_share import FRACTION, MEMORY
from fairlead.manifest.core.read_pod_spec import PODS
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.notation import GPU
from fairlead.manifest.text.path import Path, quote
from fairlead.model.device_share import WHOLE_DEVICE_E9, DeviceShare
from fairlead.model.node import Node
from fairlead.model.workload import GpuShare
from fairlead.placement.node_room import DEVICE, THOUSANDTH_E9
from fairlead.placement.shared_devices import part_e9

GROUP_LABEL: Final = "runai-gpu-group"  # holds the id; with several devices: GROUP_LABEL/ID each
_GROUP_PREFIX: Final = f"{GROUP_LABEL}/"

HeldByOthers: TypeAlias = Mapping[str, Mapping[str, int]]
"""By node and id, how much of a device pods hold that are not ours, in billionths."""

NOTHING_HELD: Final[HeldByOthers] = MappingProxyType({})


class Sharing(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that runs and has parts of devices, and the ids that its labels give them."""

    pod: PodObject
    share: GpuShare
    part_e9: int
    groups: tuple[str, ...]


def device_shares(
    pods: Iterable[PodObject],
    nodes: Iterable[NodeObject],
    findings: Findings,
    held_by_others: HeldByOthers = NOTHING_HELD,
) -> dict[str, DeviceShare]:
    """Return the devices of each pod that has a place and shares some, by the pod's full name.

    A pod on a device that others than *pods* share counts for their parts too: nothing else in a
    state could hold them. Law: the order of *pods* and *nodes* changes nothing. Where more is held
    than there is, that is reported and nothing refused. Cost: sorts the pods that share; hardly
    more for each of them.
    """
    known = {node.name: node for node in nodes}
    on_node: dict[str, list[Sharing]] = {}
    running = [pod for pod in pods if pod.gpu_share and is_placed(pod)]
    for pod in sorted(running, key=full_name):
        assert pod.node is not None, "it is placed"
        sharing = sharing_of(pod, known.get(pod.node), findings)
        on_node.setdefault(pod.node, []).append(sharing)
    shares: dict[str, DeviceShare] = {}
    opened: dict[str, int] = {}
    for name, sharing_pods in sorted(on_node.items()):
        devices = SharedDevices(sharing_pods, held_by_others.get(name, {}))
        shares |= devices.shares
        devices.warn_of_overfull(findings)
        opened[name] = len(devices.held_e9)
    for name, node in sorted(known.items()):
        _warn_of_too_many(node, opened.get(name, 0), findings)
    return shares


class SharedDevices:
    """The shared devices of one node, which pods are on which, and how full they are."""

    def __init__(
        self, pods: Sequence[Sharing], others: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Put *pods* on devices: where their ids say, then the others, in the order given.

        *others* is what is held besides, by id; it counts where one of *pods* has the id.
        """
        pods = _with_parts_of(others, pods)
        self._groups = sorted({group for each in pods for group in each.groups})
        self.shares: dict[str, DeviceShare] = {}
        self.held_e9 = [0] * len(self._groups)
        self._by_fill = sorted((0, -number) for number in range(len(self._groups)))  # and stays so
        self._overfull: dict[int, Sharing] = {}  # by number, the pod with which it became so
        numbers = {group: number for number, group in enumerate(self._groups)}
        chosen = [[numbers[group] for group in each.groups] for each in pods]
        for each, own in zip(pods, chosen, strict=True):
            self._hold(each, own)
        for each, own in zip(pods, chosen, strict=True):
            more = self._choose(each.part_e9, each.share.devices - len(own), besides=own)
            self._hold(each, more)
            devices = tuple(sorted([*own, *more]))
            share = DeviceShare(devices=devices, part_e9=each.part_e9)
            self.shares[full_name(each.pod)] = share

    def warn_of_overfull(self, findings: Findings) -> None:
        """Report each device of which more is held than it has."""
        for number, sharing in sorted(self._overfull.items()):
            pod = sharing.pod
            held = Decimal(self.held_e9[number]).scaleb(-9).normalize()
            message = (
                f"found {held:f} of one device of the node {quote(pod.node or '')} held with this "
                "pod, expected at most 1; the device counts as full"
            )
            fix = f"correct the share, or the labels {GROUP_LABEL} of the pods there"
            place = self._place(sharing, number)
            pod.source.report(findings, "warning", "overcommitted", place, message, fix)

    def _place(self, sharing: Sharing, number: int) -> Path:
        """Return where a pod says that it is on the device, or else how much it wants of one."""
        if number >= len(self._groups):
            is_fraction = sharing.share.memory_mib is None
            return ("metadata", "annotations", FRACTION if is_fraction else MEMORY)
        label = f"{_GROUP_PREFIX}{self._groups[number]}"
        return ("metadata", "labels", label if label in sharing.pod.labels else GROUP_LABEL)

    def _choose(self, part: int, wanted: int, *, besides: Collection[int]) -> list[int]:
        """Return the fullest devices with room for *part*, and new ones where those are too few."""
        chosen: list[int] = []
        at = bisect_right(self._by_fill, (WHOLE_DEVICE_E9 - part, 0))
        while at and len(chosen) < wanted:
            at -= 1
            number = -self._by_fill[at][1]
            if number not in besides:
                chosen.append(number)
        while len(chosen) < wanted:
            number = len(self.held_e9)
            self.held_e9.append(0)
            insort(self._by_fill, (0, -number))
            chosen.append(number)
        return chosen

    def _hold(self, sharing: Sharing, numbers: Iterable[int]) -> None:
        for number in numbers:
            held = self.held_e9[number]
            del self._by_fill[bisect_left(self._by_fill, (held, -number))]
            held += sharing.part_e9
            self.held_e9[number] = held
            insort(self._by_fill, (held, -number))
            if held > WHOLE_DEVICE_E9:
                self._overfull.setdefault(number, sharing)


def sharing_of(pod: PodObject, node: NodeObject | None, findings: Findings) -> Sharing:
    """Return how a pod with a share of devices has it on its *node*; None: that is not known.

    Where it is not known how much memory the devices have, it is as it is charged, else all of one.
    """
    share = pod.gpu_share
    assert share is not None, "it shares"
    devices_mib = node.gpu_memory_mib if node else None
    # Of a node, only the memory of its devices says how large a part is.
    known = Node(name=pod.node or "", allocatable=(), gpu_memory_mib=devices_mib)
    part = part_e9(share, known)
    if part is None:
        charged = pod.requests.get(GPU, DEVICE * share.devices)
        part = charged // share.devices * THOUSANDTH_E9
    groups = device_ids(pod.labels)
    if len(groups) > share.devices:
        message = f"found {len(groups)} devices in the labels {GROUP_LABEL}, expected "
        message += f"{share.devices}, which it asks for; the first by id count"
        place = ("metadata", "labels")
        pod.source.report(findings, "warning", "contradiction", place, message, "remove the others")
    return Sharing(pod=pod, share=share, part_e9=part, groups=groups[: share.devices])


def _with_parts_of(others: Mapping[str, int], pods: Sequence[Sharing]) -> Sequence[Sharing]:
    """Return *pods*, the first on each device of *others* with their part besides its own."""
    if not others:
        return pods
    left = dict(others)
    found: list[Sharing] = []
    for each in pods:
        more_e9 = max([left.pop(group, 0) for group in each.groups], default=0)
        found.append(msgspec.structs.replace(each, part_e9=each.part_e9 + more_e9))
    return found


def device_ids(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids of the devices that labels name, sorted."""
    several = (
        label.removeprefix(_GROUP_PREFIX) for label in labels if label.startswith(_GROUP_PREFIX)
    )
    return tuple(sorted({*several, labels.get(GROUP_LABEL, "")} - {""}))


def _warn_of_too_many(node: NodeObject, opened: int, findings: Findings) -> None:
    there = node.allocatable.get(GPU, 0) // DEVICE
    if opened > there:
        message = f"found pods that share {opened} devices of this node, expected at most {there}"
        fix = f"correct the labels {GROUP_LABEL} of its pods, or what it has"
        place = ("status", "allocatable", GPU)
        node.source.report(findings, "warning", "overcommitted", place, message, fix)


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
