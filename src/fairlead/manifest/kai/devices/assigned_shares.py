"""Which devices the pods are on that run and share some.

KAI labels such a pod with an id for each of its devices; pods that share a device have the same id.
The ids of a node, sorted, are the numbers from 0 on. A pod without enough ids (somebody may have
written its manifest by hand) is put on the fullest device that has room, as KAI packs them, else on
one more.

What a pod has of a device depends on the other pods of its node and on nothing elsewhere, so that
a change on one node leaves all others as they are.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from fairlead.manifest.core.objects import (
    ByResource,
    NodeObject,
    PodObject,
    full_name,
    is_placed,
    pod_id,
)
from fairlead.manifest.core.read_gpu_share import FRACTION, MEMORY
from fairlead.manifest.core.read_pod_spec import PODS
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assembly.jobs import RESERVATION_NAMESPACES, Job
from fairlead.manifest.kai.notation import GPU
from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.translate.family import DeviceChanges, Remarks, UnitChange, UnitContent
from fairlead.model.axes import WorkloadName
from fairlead.model.device_share import WHOLE_DEVICE_E9, DeviceShare
from fairlead.model.node import Node
from fairlead.model.workload import GpuShare, PodId
from fairlead.placement.node_room import DEVICE, THOUSANDTH_E9
from fairlead.placement.shared_devices import part_e9

GROUP_LABEL: Final = "runai-gpu-group"  # holds the id; with several devices: GROUP_LABEL/ID each
_GROUP_PREFIX: Final = f"{GROUP_LABEL}/"

NOTHING_HELD: Final[Mapping[str, int]] = MappingProxyType({})


class Sharing(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that runs and has parts of devices, and the ids that its labels give them."""

    pod: PodObject
    share: GpuShare
    part_e9: int
    groups: tuple[str, ...]


class NodeShares(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of each pod of ours that shares some on a node, by the pod's full name.

    ``foreign`` are pods that are not ours with every device that they hold among their requests.
    """

    ours: Mapping[str, DeviceShare]
    foreign: tuple[PodObject, ...]


def shares_on_node(
    ours: Iterable[PodObject],
    foreign: Sequence[PodObject],
    node: NodeObject | None,
    findings: Findings,
) -> NodeShares:
    """Return which devices of one *node* its pods have; None: nothing is known of the node.

    *ours* all share devices there, and *foreign* all hold some. A foreign pod is charged whole
    devices, each of them once. Law: no device is whole of which one of *foreign* has a part, or
    which is kept for a pod that is not in the input; the order of pods changes nothing. Cost: sorts
    the pods.
    """
    own = sorted(ours, key=full_name)
    holding = sorted(foreign, key=full_name)
    sharing = [sharing_of(pod, node, findings) for pod in holding if _has_part(pod)]
    own_ids = {each for pod in own for each in device_ids(pod.labels)}
    _warn_of_strangers(sharing, own_ids, findings)
    reservations = [pod for pod in holding if _is_reservation(pod)]
    devices = _opened_by(sharing)
    devices |= _kept_by(reservations, [*own, *(each.pod for each in sharing)])
    return NodeShares(
        ours=device_shares(own, node, findings, _held_with(own_ids, sharing)),
        foreign=tuple(_charged(pod, devices[full_name(pod)]) for pod in foreign),
    )


def device_shares(
    pods: Iterable[PodObject],
    node: NodeObject | None,
    findings: Findings,
    held_by_others: Mapping[str, int] = NOTHING_HELD,
) -> dict[str, DeviceShare]:
    """Return the devices of *pods* on one *node*, all of which share some, by full name.

    A pod on a device that others than *pods* share counts for their parts too, which are
    *held_by_others* by id: nothing else in a state could hold them. Where more is held than there
    is, that is reported and nothing refused.
    """
    sharing = [sharing_of(pod, node, findings) for pod in sorted(pods, key=full_name)]
    devices = SharedDevices(sharing, held_by_others)
    devices.warn_of_overfull(findings)
    if node is not None:
        _warn_of_too_many(node, len(devices.held_e9), findings)
    return devices.shares


class SharedDevices:
    """The shared devices of one node, which pods are on which, and how full they are."""

    def __init__(self, pods: Sequence[Sharing], others: Mapping[str, int] = NOTHING_HELD) -> None:
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
            pod.source.warn(findings, "overcommitted", place, message, fix)

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
        pod.source.warn(findings, "contradiction", place, message, "remove the others")
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
        node.source.warn(findings, "overcommitted", place, message, fix)


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


def _opened_by(sharing: Sequence[Sharing]) -> Counter[str]:
    """Return how many devices each pod is the first to have a part of, by its full name.

    Pods that stay come first, so that no device is released with a pod that still has a part.
    """
    opened = Counter[str]()
    seen: set[int] = set()
    shares = SharedDevices(sharing).shares
    for pod in sorted([each.pod for each in sharing], key=_is_terminating):
        devices = set(shares[full_name(pod)].devices)
        opened[full_name(pod)] = len(devices - seen)
        seen |= devices
    return opened


def _kept_by(reservations: Sequence[PodObject], sharers: Sequence[PodObject]) -> Counter[str]:
    """Return how many devices each of *reservations* keeps that none of *sharers* is on.

    One without an id is taken to be for sharers without an id, if there are any.
    """
    taken = {each for pod in sharers for each in device_ids(pod.labels)}
    are_some_packed = any(
        pod.gpu_share and len(device_ids(pod.labels)) < pod.gpu_share.devices for pod in sharers
    )
    kept = Counter[str]()
    for pod in sorted(reservations, key=_is_terminating):
        found = {*device_ids(pod.labels)}
        kept[full_name(pod)] = len(found - taken)
        taken |= found
        if not found and not are_some_packed:
            kept[full_name(pod)] = -(-pod.requests.get(GPU, 0) // DEVICE)
    return kept


def _charged(pod: PodObject, devices: int) -> PodObject:
    """Return the pod with *devices* among its requests; of a reservation nothing else counts."""
    own: ByResource = {PODS: 1} if _is_reservation(pod) else pod.requests
    if devices:
        own = {**own, GPU: devices * DEVICE}
    return pod if own is pod.requests else msgspec.structs.replace(pod, requests=own)


def _held_with(own_ids: set[str], sharing: Iterable[Sharing]) -> Counter[str]:
    """Return what *sharing* have of devices that pods of ours share too, by id."""
    held = Counter[str]()
    for each in sharing:
        for group in own_ids.intersection(each.groups):
            held[group] += each.part_e9
    return held


def _warn_of_strangers(sharing: Iterable[Sharing], own_ids: set[str], findings: Findings) -> None:
    for each in sharing:
        if not own_ids.isdisjoint(device_ids(each.pod.labels)):
            message = f"found a device of the node {quote(each.pod.node or '')} that pods of KAI's "
            message += "jobs share too; its part is held there, and one more device, so that none "
            message += "is given out twice"
            fix = f"correct the labels {GROUP_LABEL} of the pods there"
            place = ("metadata", "labels")
            each.pod.source.warn(findings, "overcommitted", place, message, fix)


class _OnNode(NamedTuple):
    """The pods of one node that hold devices, by full name."""

    own: dict[str, tuple[PodObject, WorkloadName]]
    foreign: dict[str, PodObject]


class NodeDevices:
    """The pods that share devices, by node, and what each of them has of its node."""

    def __init__(self) -> None:
        """Begin without pods."""
        self.shares: dict[str, DeviceShare] = {}  # of our pods, by full name
        self._charged: dict[PodId, PodObject] = {}  # foreign pods that hold devices
        self._nodes: dict[str, _OnNode] = {}

    def charged(self, pod: PodObject) -> PodObject:
        """Return a foreign pod with every device that it holds among its requests."""
        return self._charged.get(pod_id(pod), pod) if self._charged else pod

    def update_devices(
        self,
        units: Sequence[UnitChange[Job]],
        changed: Set[str],
        node_of: Callable[[str], NodeObject | None],
        remarks: Remarks,
    ) -> DeviceChanges:
        """Share out devices again on the nodes *changed*, and where pods of *units* are or were.

        Returns the workloads and foreign pods that have others than before. *node_of* gives a node
        by name; None: it is not there. Cost: the pods of *units*, and those that share on these
        nodes.
        """
        touched = set(changed & self._nodes.keys())
        for each in units:
            touched.update(self._drop(each.before))
        for each in units:
            touched.update(self._put(each.after))
        workloads: set[WorkloadName] = set()
        foreign: set[PodId] = set()
        for name in sorted(touched):
            on_node, node = self._nodes[name], node_of(name)
            devices = remarks.note(("devices", name), partial(_shares_on, on_node, node))
            workloads.update(self._update_shares(on_node, devices.ours))
            foreign.update(self._update_foreign(devices.foreign))
            if not (on_node.own or on_node.foreign):
                del self._nodes[name]
        return DeviceChanges(workloads, foreign)

    def _update_shares(
        self, on_node: _OnNode, shares: Mapping[str, DeviceShare]
    ) -> Iterator[WorkloadName]:
        for name, (_, workload) in on_node.own.items():
            if self.shares.get(name) != shares[name]:
                self.shares[name] = shares[name]
                yield workload

    def _update_foreign(self, pods: Iterable[PodObject]) -> Iterator[PodId]:
        for pod in pods:
            if self._charged.get(pod_id(pod)) != pod:
                self._charged[pod_id(pod)] = pod
                yield pod_id(pod)

    def _drop(self, found: UnitContent[Job]) -> Iterator[str]:
        """Forget the pods of a unit that hold devices; yields the nodes that they are on."""
        for node, name, _, _ in _holders(found):
            self.shares.pop(name, None)
            self._nodes[node].own.pop(name, None)
            yield node
        for node, name, pod in _foreign_holders(found):
            self._charged.pop(pod_id(pod), None)
            self._nodes[node].foreign.pop(name, None)
            yield node

    def _put(self, found: UnitContent[Job]) -> Iterator[str]:
        """Take in the pods of a unit that hold devices; yields the nodes that they are on."""
        for node, name, pod, workload in _holders(found):
            self._nodes.setdefault(node, _OnNode({}, {})).own[name] = pod, workload
            yield node
        for node, name, pod in _foreign_holders(found):
            self._nodes.setdefault(node, _OnNode({}, {})).foreign[name] = pod
            yield node


def _shares_on(on_node: _OnNode, node: NodeObject | None, findings: Findings) -> NodeShares:
    own = [pod for pod, _ in on_node.own.values()]
    return shares_on_node(own, [*on_node.foreign.values()], node, findings)


def _holders(found: UnitContent[Job]) -> Iterator[tuple[str, str, PodObject, WorkloadName]]:
    for job in found.parts:
        for pod in job.pods:
            if pod.gpu_share and pod.node is not None and is_placed(pod):
                yield pod.node, full_name(pod), pod, WorkloadName(job.name)


def _foreign_holders(found: UnitContent[Job]) -> Iterator[tuple[str, str, PodObject]]:
    for pod in found.foreign:
        if pod.node is not None and holds_devices(pod):
            yield pod.node, full_name(pod), pod
