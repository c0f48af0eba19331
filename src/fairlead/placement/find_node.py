"""The node for one pod: the most preferred one that has room and that no constraint rules out.

A node fits if it has room *later*, after termination, and the pods that are there then allow the
pod. Among the nodes that fit, one where all this is true now comes before all where the pod would
have to wait. Then the nodes that the pod prefers come first, if preferences are honored. Nothing
else comes before the order of the index.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from operator import le
from typing import NamedTuple

from fairlead.model.axes import Amounts
from fairlead.model.device_share import DeviceShare
from fairlead.model.device_share import besides_shares as without_shares
from fairlead.model.node import Node
from fairlead.model.plan import Tally
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodSet, Preferences, VolumeNeeds, Workload
from fairlead.placement.host_ports import port_room
from fairlead.placement.node_filters import VolumeChecks, node_defect
from fairlead.placement.node_index import Growth, NodeIndex
from fairlead.placement.node_room import DEVICE, NodeRoom
from fairlead.placement.pod_affinity import PodAffinity, PodsAround
from fairlead.placement.preference_points import preference_points
from fairlead.placement.room_defect import room_defect
from fairlead.placement.shared_devices import DeviceRule, choose_devices, fits_devices
from fairlead.placement.volume_use import VolumeUse


class Spot(NamedTuple):
    """A place for a pod; one that is not available now is so once other pods are gone."""

    node: str
    share: DeviceShare | None
    now: bool


class NodeFinder:
    """Finds nodes in one state, through all its changes, and caches what cannot change."""

    def __init__(
        self,
        state: ClusterState,
        index: NodeIndex,
        devices: DeviceRule,
        *,
        honors_all: bool = True,
        volumes: VolumeChecks = "all",
    ) -> None:
        """Search *index*, which is that of *state*; *devices* says how devices are shared.

        *volumes* says which rules of volumes count. Unless it *honors_all*, topology spread and
        preferences of pods are ignored.
        """
        self._state = state
        self._index = index
        self._devices = devices
        self._honors_preferences = honors_all
        self._volumes: VolumeChecks = volumes
        self._volume_use = VolumeUse(state)
        self._affinity = PodAffinity(state, honors_spread=honors_all)
        self._defects: dict[PodConstraints, dict[str, tuple[Node, str | None]]] = {}

    def find(self, workload: Workload, pod_set: int, among: Set[str] | None = None) -> Spot | None:
        """Return the place for one more pod of a pod set of *workload*; None if there is none.

        With *among*, only these nodes are considered. Law: the same as examining every node. Cost:
        mostly one node; more if the first ones lack something other than what the index is sorted
        by.
        """
        asked = workload.pod_sets[pod_set]
        requests, gpus = self.besides_shares(asked), self._gpu_thousandths(asked)
        if gpus > self._index.most_gpus():
            return None
        around = self._affinity.around(workload, pod_set)
        if asked.constraints.preferences is not None and self._honors_preferences:
            return self._most_preferred(workload, pod_set, around, among)
        second: Spot | None = None
        for room in self._index.preferred(requests, gpus):
            if among is not None and room.node.name not in among:
                continue
            if not all(map(le, requests, room.later)):
                continue
            if second is not None and not all(map(le, requests, room.idle)):
                continue  # the pod would have to wait there, and it is preferred less
            if not self._accepts(room, asked, around):
                continue
            if self._has_room_now(room, asked, requests, around):
                return self._spot(room, asked, now=True)
            second = second or self._spot(room, asked, now=False)
        return second

    def rooms(self) -> Mapping[str, NodeRoom]:
        """Return the room on every ready node, as of now."""
        return self._index.rooms()

    def version(self) -> int:
        """Return a number that grows whenever the room on a node changes."""
        return self._index.version()

    def growth(self) -> int:
        """Return a number that grows whenever a node may have more room later than before."""
        return self._index.growth()

    def grown_since(self, growth: int) -> list[Growth] | None:
        """Return how nodes grew since `growth` had that value; None: amounts do not show it."""
        return self._index.grown_since(growth)

    def looks_at_room_alone(self, workload: Workload, pod_set: int) -> bool:
        """Return whether room alone decides for one more pod of a set, and no other pods.

        Law: while that holds and `growth` stays the same, a pod that found no node finds none.
        """
        where = workload.pod_sets[pod_set].constraints
        if where.host_ports or self._shared_volumes(where) is not None:
            return False
        return self._affinity.around(workload, pod_set).allow_all

    def at_most_freed(self, held: PodSet) -> Amounts:
        """Return what a node gains at most from a pod that is gone; parts of devices as whole."""
        gpu, share = self._index.gpus.shared, held.gpu_share
        if share is None or gpu is None:
            return held.requests
        return (*held.requests[:gpu], share.devices * DEVICE, *held.requests[gpu + 1 :])

    def nodes_with_room(self, asked: Iterable[PodSet]) -> set[str]:
        """Return the nodes with a GPU that is idle, or being released and not reserved.

        If none of the requests is for a GPU, these are all nodes.
        """
        if any(self._gpu_thousandths(each) for each in asked):
            return self._index.with_open_gpus()
        return set(self._index.rooms())

    def places(self, requests: Amounts) -> int | None:
        """Return an upper bound of how many such pods fit; None: any number.

        *requests* are those of one pod besides its parts of shared devices.
        """
        return self._index.places(requests)

    def gpu_later(self) -> int:
        """Return how much of GPUs is or will be free on all nodes, in thousandths."""
        return self._index.gpu_later()

    def tallies(self, workload: Workload, pod_set: int) -> tuple[Tally, ...]:
        """Return how many nodes lack what, the most frequent first, then how many domains.

        Cost: each node, or each different room where room alone can rule out a node.
        """
        asked = workload.pod_sets[pod_set]
        around = self._affinity.around(workload, pod_set)
        defects: Counter[str] = Counter()
        for room, count in self._different(asked, around):
            defects[self._what_of_room(room, asked, around)] += count
        if not defects:
            defects.update(self.standings(workload, pod_set).values())
        of = len(self._state.nodes)
        counts = sorted(defects.items(), key=lambda each: (-each[1], each[0]))
        of_nodes = [Tally(count=count, of=of, what=what) for what, count in counts]
        return (*of_nodes, *around.domain_tallies())

    def standings(self, workload: Workload, pod_set: int) -> dict[str, str]:
        """Return for each node what one more pod lacks there, or when it has room.

        The texts are those of `tallies`. Cost: each node.
        """
        return {name: self.standing(workload, pod_set, name) for name in self._state.nodes}

    def standing(self, workload: Workload, pod_set: int, name: str) -> str:
        """Return what one more pod lacks on one node, or when it has room."""
        asked = workload.pod_sets[pod_set]
        around = self._affinity.around(workload, pod_set)
        defect = self._rule_defect(self._state.nodes[name], asked, around)
        return defect or self._what_of_room(self._index.rooms()[name], asked, around)

    def _different(self, asked: PodSet, around: PodsAround) -> list[tuple[NodeRoom, int]]:
        """Return the different rooms, if room alone can rule out a node; else none."""
        where = asked.constraints
        has_rules = where.node_selector or where.node_terms is not None or where.host_ports
        if has_rules or where.volumes or where.held_nodes or not around.allow_all:
            return []
        return self._index.alike() or []

    def _what_of_room(self, room: NodeRoom, asked: PodSet, around: PodsAround) -> str:
        """Return what a room lacks for a pod, or when it is enough."""
        requests = self.besides_shares(asked)
        resources, gpus = self._state.resources, self._index.gpus
        defect = room_defect(room, resources, requests, asked.gpu_share, gpus)
        if defect is not None:
            return defect
        is_now = self._has_room_now(room, asked, requests, around)
        return "have room" if is_now else "have room once others have left"

    def _has_room_now(
        self, room: NodeRoom, asked: PodSet, requests: Amounts, around: PodsAround
    ) -> bool:
        """Return whether a node that fits has room now, and the pods that are there allow it."""
        if not all(map(le, requests, room.idle)):
            return False
        if not around.allow_all and not around.holds_now(room.node):
            return False
        share, ports = asked.gpu_share, asked.constraints.host_ports
        if share and not fits_devices(room, share, self._index.gpus, now=True):
            return False
        if ports and port_room(self._state, room.node.name, ports) != "free":
            return False
        volumes = self._shared_volumes(asked.constraints)
        return volumes is None or self._volume_use.is_free_now(room.node, volumes)

    def _shared_volumes(self, where: PodConstraints) -> VolumeNeeds | None:
        """Return the volumes of a pod if other pods that use some can keep it off a node."""
        needs = where.volumes
        return needs if needs and needs.meets_pods and self._volumes == "all" else None

    def _most_preferred(
        self, workload: Workload, pod_set: int, around: PodsAround, among: Set[str] | None
    ) -> Spot | None:
        """Return the place that the pod prefers of those now, or if there is none of those later.

        Cost: each node that has room.
        """
        asked = workload.pod_sets[pod_set]
        preferences = asked.constraints.preferences or Preferences()
        rooms = list(self._fitting(asked, around, among))
        if not rooms:
            return None
        spread = self._affinity.preferred_spread(workload, pod_set)
        points = preference_points([room.node for room in rooms], preferences, spread)
        requests = self.besides_shares(asked)
        is_now = [self._has_room_now(room, asked, requests, around) for room in rooms]
        best = max(range(len(rooms)), key=lambda at: (is_now[at], points[at], -at))
        return self._spot(rooms[best], asked, now=is_now[best])

    def _fitting(
        self, asked: PodSet, around: PodsAround, among: Set[str] | None
    ) -> Iterator[NodeRoom]:
        """Yield the nodes where a pod fits later, in the order of the index."""
        requests = self.besides_shares(asked)
        for room in self._index.preferred(requests, self._gpu_thousandths(asked)):
            if among is not None and room.node.name not in among:
                continue
            if all(map(le, requests, room.later)) and self._accepts(room, asked, around):
                yield room

    def _accepts(self, room: NodeRoom, asked: PodSet, around: PodsAround) -> bool:
        """Return whether rules and shared devices allow a pod on a node where it has room later."""
        if self._rule_defect(room.node, asked, around) is not None:
            return False
        share = asked.gpu_share
        return not share or fits_devices(room, share, self._index.gpus)

    def _spot(self, room: NodeRoom, asked: PodSet, *, now: bool) -> Spot:
        """Return the place on a node with room; its devices may still make the pod wait."""
        if asked.gpu_share is None:
            return Spot(room.node.name, None, now)
        share, devices_now = choose_devices(room, asked.gpu_share, self._index.gpus, self._devices)
        return Spot(room.node.name, share, now and devices_now)

    def _rule_defect(self, node: Node, asked: PodSet, around: PodsAround) -> str | None:
        """Return why *node* is ruled out for a reason other than room."""
        defect = self._node_defect(node, asked.constraints)
        if defect is None and not around.allow_all:
            defect = around.defect(node)
        if defect is None and asked.constraints.host_ports:
            ports = port_room(self._state, node.name, asked.constraints.host_ports)
            defect = "have a host port taken" if ports == "taken" else None
        volumes = self._shared_volumes(asked.constraints)
        if defect is None and volumes is not None:
            defect = self._volume_use.defect(node, volumes)
        return defect

    def _node_defect(self, node: Node, constraints: PodConstraints) -> str | None:
        if constraints.held_nodes:  # it lasts a short time, so it is not cached
            return node_defect(node, constraints, self._volumes)
        known = self._defects.setdefault(constraints, {})
        entry = known.get(node.name)
        if entry is None or entry[0] is not node:
            entry = known[node.name] = (
                node,
                node_defect(node, constraints, self._volumes),
            )
        return entry[1]

    def besides_shares(self, asked: PodSet) -> Amounts:
        """Return the requests of a pod besides its parts of shared devices."""
        gpu = self._index.gpus.shared
        if asked.gpu_share is None or gpu is None:
            return asked.requests
        return without_shares(asked.requests, gpu)

    def _gpu_thousandths(self, asked: PodSet) -> int:
        """Return how much of GPUs a node must have free at least; above 0 if any are requested."""
        if asked.gpu_share is None:
            return self._index.gpus.asked(asked.requests)
        return max(1, (asked.gpu_share.thousandths or 0) * asked.gpu_share.devices)
