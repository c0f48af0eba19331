"""The search for a node done plainly: every node, and every pod on it, is looked at every time.

Nothing is taken from running sums or from an index. The rules are those that the search promises:
a node fits where everything asked for is free *later* and the pods around allow the pod then; of
those that fit, one where all that is so now goes first; then the one that the pod prefers; a pod
without GPUs prefers nodes without; then the least is left, or the most; then the name.
"""

from collections.abc import Iterator
from typing import NamedTuple

from fairlead.model.axes import Amounts
from fairlead.model.device_share import DeviceShare
from fairlead.model.node import ForeignPod, Node
from fairlead.model.run import Placed
from fairlead.model.selector import Taint
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, PodConstraints, PodSet, Workload
from fairlead.placement.find_node import Spot
from fairlead.placement.host_ports import Port
from fairlead.placement.pod_affinity import PodAffinity
from fairlead.placement.preference_points import preference_points
from fairlead.placement.shared_devices import DeviceRule
from tests.placement.reference_pod_affinity import is_allowed

SHARED = "nvidia.com/gpu"
DEVICE = 1000  # in thousandths
WHOLE = 10**9  # in billionths
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
PODS_AROUND = "the pods around do not allow it"


class Rules(NamedTuple):
    """How nodes and devices are preferred."""

    spread_gpus: bool
    spread_cpus: bool
    devices: DeviceRule


class PlainRoom:
    """What is free on a node, worked out pod by pod. Overcommitted is as good as full."""

    def __init__(self, state: ClusterState, node: Node) -> None:
        self.node = node
        self.resources = state.resources
        self.idle = dict(zip(state.resources, node.allocatable, strict=True))
        self.later = dict(self.idle)
        self.held_parts: dict[int, int] = {}
        self.later_parts: dict[int, int] = {}
        self.held_ports: set[Port] = set()
        self.later_ports: set[Port] = set()
        for amounts, ports, placed in _pods_on(state, node.name):
            if placed.phase != "reserved":
                self._take(self.idle, self.held_parts, amounts, placed)
            if placed.phase != "leaving":
                self._take(self.later, self.later_parts, amounts, placed)
                self.later_ports |= ports
            self.held_ports |= ports
        for each in state.books.foreign.values():
            if each.node == node.name:
                self._take_foreign(each)
        if SHARED in self.resources:
            self.idle[SHARED] -= DEVICE * len(self.held_parts)
            self.later[SHARED] -= DEVICE * len(self.later_parts)

    def _take(
        self, free: dict[str, int], parts: dict[int, int], amounts: Amounts, placed: Placed
    ) -> None:
        for resource, amount in zip(self.resources, amounts, strict=True):
            if placed.share is None or resource != SHARED:
                free[resource] -= amount
        if placed.share is not None:
            for device in placed.share.devices:
                parts[device] = parts.get(device, 0) + placed.share.part_e9

    def _take_foreign(self, pod: ForeignPod) -> None:
        for resource, amount in zip(self.resources, pod.requests, strict=True):
            self.idle[resource] -= amount
            self.later[resource] -= 0 if pod.leaving else amount
        self.held_ports |= set(pod.host_ports)
        self.later_ports |= set() if pod.leaving else set(pod.host_ports)

    def gpu_later(self) -> int:
        """Return the thousandths of all GPUs that are free later, a begun one for a whole one."""
        whole = sum(max(0, free) for name, free in self.later.items() if name.endswith("/gpu"))
        if self.later.get(SHARED, 0) < 0:
            return whole
        parts = [max(0, WHOLE - used) for used in self.later_parts.values()]
        return whole + sum(-(-part * 1000 // WHOLE) for part in parts)

    def lacking(self, asked: PodSet, free: dict[str, int]) -> list[str]:
        """Return the resources of which more is asked than is *free*, shares left out."""
        return [
            resource
            for resource, amount in zip(self.resources, asked.requests, strict=True)
            if amount > max(0, free[resource]) and not (asked.gpu_share and resource == SHARED)
        ]

    def devices(self, part: int, *, now: bool) -> tuple[list[int], int]:
        """Return which devices that pods share have room for *part*, and how many others.

        One that all are leaving is one of the whole ones later, and may have been promised as such.
        A node that has fewer devices than are shared there has room on none of them.
        """
        if part > WHOLE or self.later.get(SHARED, -1) < 0:
            return [], 0
        whole = max(0, self.later[SHARED]) // DEVICE
        left = [device for device in self.held_parts if device not in self.later_parts]
        unshared = max(0, whole - len(left))
        stay = [device for device, used in self.later_parts.items() if used + part <= WHOLE]
        if now:
            unshared = min(unshared, max(0, self.idle[SHARED]) // DEVICE)
            stay = [device for device in stay if self._is_open_for(device, part)]
            left = [device for device in left if self._is_open_for(device, part)]
        return stay + sorted(left)[:whole], unshared

    def _is_open_for(self, device: int, part: int) -> bool:
        used = self.held_parts.get(device, WHOLE)
        return used + part <= WHOLE and self.idle[SHARED] >= 0

    def fits_devices(self, share: GpuShare, *, now: bool) -> bool:
        part = part_of(share, self.node)
        if part is None:
            return False
        shared, unshared = self.devices(part, now=now)
        return len(shared) + unshared >= share.devices

    def choose(self, share: GpuShare, rule: DeviceRule) -> tuple[DeviceShare, bool]:
        """Return the devices, and whether all of them have room now."""
        part = part_of(share, self.node) or 0
        now = self.fits_devices(share, now=True) and not rule.wait_to_pack
        shared, unshared = self.devices(part, now=now)
        numbers = {*self.held_parts, *self.later_parts}
        new = [n for n in range(share.devices + len(numbers)) if n not in numbers][:unshared]

        def order(device: int) -> tuple[int, bool, int]:
            used = self.later_parts.get(device, 0)
            is_new = device not in numbers
            return (used, not is_new, device) if rule.spread else (-used, is_new, device)

        chosen = sorted(sorted([*shared, *new], key=order)[: share.devices])
        fresh = [device for device in chosen if device not in numbers]
        opened = [device for device in chosen if device in numbers]
        is_now = len(fresh) * DEVICE <= max(0, self.idle[SHARED]) and all(
            self._is_open_for(device, part) for device in opened
        )
        return DeviceShare(devices=tuple(chosen), part_e9=part), is_now


def part_of(share: GpuShare, node: Node) -> int | None:
    if share.thousandths is not None:
        return share.thousandths * WHOLE // 1000
    if share.memory_mib is None or not node.gpu_memory_mib:
        return None
    return share.memory_mib * WHOLE // node.gpu_memory_mib


def plain_find(state: ClusterState, workload: Workload, pod_set: int, rules: Rules) -> Spot | None:
    """Return the place of one more pod of a set."""
    asked = workload.pod_sets[pod_set]
    rooms = [
        PlainRoom(state, node)
        for node in state.nodes.values()
        if plain_defect(state, workload, pod_set, node) is None
    ]
    if not rooms:
        return None

    wished = asked.constraints.preferences
    points = [0] * len(rooms)
    if wished:
        spread = PodAffinity(state).preferred_spread(workload, pod_set)
        points = preference_points([room.node for room in rooms], wished, spread)
    liked = {room.node.name: more for room, more in zip(rooms, points, strict=True)}

    def order(room: PlainRoom) -> tuple[bool, int, bool, int, str]:
        is_later = not plain_fits_now(state, workload, pod_set, room.node)
        disliked = -liked[room.node.name]
        gpus = room.node.allocatable
        has_gpus = any(
            amount
            for name, amount in zip(state.resources, gpus, strict=True)
            if name.endswith("/gpu")
        )
        if _asks_for_gpus(state, asked):
            left = -room.gpu_later() if rules.spread_gpus else room.gpu_later()
            return is_later, disliked, False, left, room.node.name
        cpu = max(0, room.later["cpu"])
        left = -cpu if rules.spread_cpus else cpu
        return is_later, disliked, has_gpus, left, room.node.name

    room = min(rooms, key=order)
    now = plain_fits_now(state, workload, pod_set, room.node)
    if asked.gpu_share is None:
        return Spot(room.node.name, None, now)
    share, devices_now = room.choose(asked.gpu_share, rules.devices)
    return Spot(room.node.name, share, now and devices_now)


def plain_defect(state: ClusterState, workload: Workload, pod_set: int, node: Node) -> str | None:
    """Return why a node is out of the question; `PODS_AROUND` for every reason of affinity."""
    asked = workload.pod_sets[pod_set]
    room = PlainRoom(state, node)
    lacking = room.lacking(asked, room.later)
    share = asked.gpu_share
    reasons: list[tuple[bool, str | None]] = [
        (True, _filtered(node, asked.constraints)),
        (not is_allowed(state, workload, pod_set, node, "later"), PODS_AROUND),
        (bool(room.later_ports & set(asked.constraints.host_ports)), "have a host port taken"),
        (bool(lacking), f"lack {_listed(lacking)}"),
        (share is not None and not room.fits_devices(share, now=False), _no_device(node, share)),
    ]
    return next((text for applies, text in reasons if applies and text is not None), None)


def plain_fits_now(state: ClusterState, workload: Workload, pod_set: int, node: Node) -> bool:
    """Return whether a node that is not out of the question takes the pod at once."""
    asked = workload.pod_sets[pod_set]
    room = PlainRoom(state, node)
    share = asked.gpu_share
    return (
        not room.lacking(asked, room.idle)
        and (share is None or room.fits_devices(share, now=True))
        and not room.held_ports & set(asked.constraints.host_ports)
        and is_allowed(state, workload, pod_set, node, "now")
    )


def _no_device(node: Node, share: GpuShare | None) -> str | None:
    """Return why a node has not enough devices; the resources are those of `search_world`."""
    _, _, shared, other = node.allocatable
    if share is None:
        return None
    if not (shared or other):
        return "have no GPU"
    if not shared:
        return "have no GPU that pods can share"
    if share.memory_mib is not None and node.gpu_memory_mib is None:
        return "do not say how much memory a GPU has"
    parts = {500: "0.5", 250: "0.25", 750: "0.75", None: f"{share.memory_mib}Mi of memory"}
    devices = "1 GPU" if share.devices == 1 else f"{share.devices} GPUs"
    return f"lack {devices} with {parts[share.thousandths]} free"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _filtered(node: Node, constraints: PodConstraints) -> str | None:
    def tolerated(taint: Taint) -> bool:
        return any(each.tolerates(taint) for each in constraints.tolerations)

    if not node.ready:
        return "are not ready"
    if node.cordoned and not tolerated(CORDON):
        return "are cordoned"
    if not set(constraints.node_selector) <= set(node.labels.items()):
        return "do not match the node selector"
    terms = constraints.node_terms
    if terms is not None and not any(term.matches(node.name, node.labels) for term in terms):
        return "do not match the node affinity"
    for taint in node.taints:
        if taint.effect != "PreferNoSchedule" and not tolerated(taint):
            return f"have the taint {taint.key}={taint.value}:{taint.effect}"
    return None


def _asks_for_gpus(state: ClusterState, asked: PodSet) -> bool:
    return asked.gpu_share is not None or any(
        amount
        for name, amount in zip(state.resources, asked.requests, strict=True)
        if name.endswith("/gpu")
    )


def _pods_on(state: ClusterState, node: str) -> Iterator[tuple[Amounts, set[Port], Placed]]:
    """Yield what every pod there takes, the ports it opens, and its place.

    Who was displaced holds what it had, as one that is leaving.
    """
    for name, run in state.runs.items():
        for pod, placed in run.pods.items():
            if placed.node == node:
                asked = state.workloads[name].pod_sets.of(pod)
                yield asked.requests, set(asked.constraints.host_ports), placed
    for (name, pod), (amounts, share) in state.books.use(node).departing.items():
        asked = state.workloads[name].pod_sets.of(pod)
        yield amounts, set(asked.constraints.host_ports), Placed(node, 0, "leaving", share)
