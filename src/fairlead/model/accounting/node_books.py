"""The nodes of a state, what pods hold on each, and what all of them offer.

A pod may be on a node that is not known (yet, or any more); it is booked there all the same.
"""

from collections.abc import Sequence
from operator import add, neg, sub

import msgspec

from fairlead.errors import StateError
from fairlead.model.accounting.journal import ChangeLog, Journal
from fairlead.model.axes import Amounts
from fairlead.model.device_share import SHARED_GPU, DeviceShare, besides_shares
from fairlead.model.node import ForeignPod, Node, Occupied
from fairlead.model.run import Phase, Placed
from fairlead.model.workload import PodId, PodKey


class NodeUse(msgspec.Struct):
    """What pods of ours hold on one node, as running sums that only the books change.

    A pod that shares devices counts there instead of in the amounts of their resource. What a
    departing pod held counts as held and leaving, though the pod may have a place elsewhere.
    """

    pods: dict[PodKey, None]
    departing: dict[PodKey, tuple[Amounts, DeviceShare | None]]
    held: list[int]  # by pods that run, those that are leaving included
    leaving: list[int]  # the part of held whose pods are being evicted
    reserved: list[int]  # by pods that will run once others have left
    devices: dict[int, list[int]]  # shared ones: billionths held, leaving and reserved


class NodeBooks:
    """Nodes by name, and the pods on them. Every change goes through the journal."""

    def __init__(self, journal: Journal, resources: Sequence[str]):
        """Start without nodes; amounts have one entry for each of *resources*."""
        self.nodes: dict[str, Node] = {}
        self.capacity: list[int] = [0] * len(resources)
        self.changes: ChangeLog[str] = ChangeLog()  # of nodes, and of what is on them
        self._journal = journal
        self._zero: Amounts = (0,) * len(resources)
        self.shared_gpu = resources.index(SHARED_GPU) if SHARED_GPU in resources else None
        self._uses: dict[str, NodeUse] = {}
        self.foreign: dict[PodId, ForeignPod] = {}
        self.leaving_foreign: dict[PodId, None] = {}  # those that are being deleted
        self._nothing_occupied = Occupied(self._zero, self._zero)
        self._occupied: dict[str, Occupied] = {}  # of nodes with foreign pods, known or not
        self._asked_about: dict[str, tuple[ForeignPod, ...]] = {}  # of nodes that have such
        self._departures: dict[PodKey, tuple[str, ...]] = {}  # to the nodes that are being left

    def use(self, node: str) -> NodeUse:
        """Return what is held on *node*; of a node without pods, nothing."""
        return self._uses.get(node) or self._unused()

    def occupied(self, node: str) -> Occupied:
        """Return what foreign pods take of *node*, the same object for as long as it is so."""
        return self._occupied.get(node, self._nothing_occupied)

    def asked_about(self, node: str) -> tuple[ForeignPod, ...]:
        """Return the foreign pods of *node* that pods of ours ask about, mostly none.

        It is the same object for as long as they are the same.
        """
        return self._asked_about.get(node, ())

    def nodes_asked_about(self) -> list[str]:
        """Return every node, known or not, with a foreign pod that pods of ours ask about."""
        return list(self._asked_about)

    def offered(self, node: Node) -> Amounts:
        """Return what *node* has for pods of ours: nothing while it is not ready."""
        if not node.ready:
            return self._zero
        return tuple(map(sub, node.allocatable, self.occupied(node.name).held))

    def held(self, node: str) -> Amounts:
        """Return what pods that run hold on *node*, those that are leaving included."""
        return tuple(self.use(node).held)

    def pods(self, node: str) -> list[PodKey]:
        """Return the pods on *node*, by workload and id."""
        return sorted(self.use(node).pods)

    def booked(self) -> list[str]:
        """Return every node with a pod on it, or departing from it, known or not, by name."""
        return sorted(self._uses)

    def add(self, node: Node) -> None:
        """Take in a new node."""
        if node.name in self.nodes:
            raise StateError(f"node {node.name} was added before")
        self._check(node)
        self._remember(node)

    def change(self, node: Node) -> None:
        """Replace the facts of a node."""
        self._check(node)
        self._forget(node.name)
        self._remember(node)

    def remove(self, name: str) -> None:
        """Take a node away; pods on it stay booked."""
        self._forget(name)
        self._journal.drop(self.nodes, name)
        self._journal.touch(self.changes, name)

    def change_foreign(self, pod: ForeignPod) -> None:
        """Take in a foreign pod, new or changed; one that is as before changes nothing."""
        if len(pod.requests) != len(self._zero):
            count = len(self._zero)
            raise StateError(f"foreign pod {pod.name} needs one request per resource, {count}")
        before = self.foreign.get(pod.id)
        if pod == before:
            return
        if before is not None:
            self._vacate(before)
        self._occupy(pod)

    def remove_foreign(self, pod: PodId) -> None:
        """Let a foreign pod be gone."""
        before = self.foreign.get(pod)
        if before is None:
            raise StateError(f"foreign pod {pod} is not known")
        self._vacate(before)

    def book(self, pod: PodKey, requests: Amounts, placed: Placed) -> None:
        """Enter a pod where it is *placed*, if that is on a node."""
        node = placed.node
        if node is None:
            return
        use = self._uses.get(node)
        if use is None:
            use = self._unused()
            self._journal.put(self._uses, node, use)
        if pod in use.departing:
            self._arrive(use, pod)
        self._journal.put(use.pods, pod, None)
        self._add(use, self._counted(requests, placed.share), placed.phase, placed.share)
        self._journal.touch(self.changes, node)

    def release(self, pod: PodKey, requests: Amounts, placed: Placed) -> None:
        """Take a pod off the node where it was *placed*: the inverse of `book`."""
        node = placed.node
        if node is None:
            return
        use = self._uses[node]
        self._journal.drop(use.pods, pod)
        if use.pods or use.departing:
            less = tuple(map(neg, self._counted(requests, placed.share)))
            self._add(use, less, placed.phase, placed.share, sign=-1)
        else:
            self._journal.drop(self._uses, node)
        self._journal.touch(self.changes, node)

    def displace(self, pod: PodKey, requests: Amounts, placed: Placed) -> None:
        """Take a pod off its node, which stays as full as if it held there what it asks for.

        It does so until the departure ends: when the pod is booked there again, or `depart`.
        """
        self.release(pod, requests, placed)
        node = placed.node
        if node is None:
            return
        use = self._uses.get(node)
        if use is None:
            use = self._unused()
            self._journal.put(self._uses, node, use)
        counted = self._counted(requests, placed.share)
        self._journal.put(use.departing, pod, (counted, placed.share))
        self._add(use, counted, "leaving", placed.share)
        self._journal.put(self._departures, pod, (*self._departures.get(pod, ()), node))

    def depart(self, pod: PodKey) -> None:
        """Let a pod have left every node that it was displaced from."""
        for node in self._departures.get(pod, ()):
            use = self._uses[node]
            self._arrive(use, pod)
            if not use.pods and not use.departing:
                self._journal.drop(self._uses, node)
            self._journal.touch(self.changes, node)

    def change_departing(self, pod: PodKey) -> None:
        """Note that what is known of a pod changed, on every node that it was displaced from."""
        for node in self._departures.get(pod, ()):
            self._journal.touch(self.changes, node)

    def has_departures(self) -> bool:
        """Return whether any pod was displaced and has not left every node it had."""
        return bool(self._departures)

    def is_departing(self, pod: PodKey) -> bool:
        """Return whether a pod was displaced and has not left every node it had."""
        return pod in self._departures

    def _arrive(self, use: NodeUse, pod: PodKey) -> None:
        """End the departure of a pod from one node."""
        counted, share = use.departing[pod]
        self._journal.drop(use.departing, pod)
        self._add(use, tuple(map(neg, counted)), "leaving", share, sign=-1)
        left = [node for node in self._departures[pod] if self._uses[node] is not use]
        if left:
            self._journal.put(self._departures, pod, tuple(left))
        else:
            self._journal.drop(self._departures, pod)

    def _add(
        self,
        use: NodeUse,
        amounts: Amounts,
        phase: Phase,
        share: DeviceShare | None,
        *,
        sign: int = 1,
    ) -> None:
        if phase == "reserved":
            self._journal.add(use.reserved, amounts)
        else:
            self._journal.add(use.held, amounts)
        if phase == "leaving":
            self._journal.add(use.leaving, amounts)
        if share is not None:
            self._add_parts(use, share, phase, sign)

    def _add_parts(self, use: NodeUse, share: DeviceShare, phase: Phase, sign: int) -> None:
        part_e9 = sign * share.part_e9
        counts = (phase != "reserved", phase == "leaving", phase == "reserved")
        for device in share.devices:
            if device not in use.devices:
                self._journal.put(use.devices, device, [0, 0, 0])
            entry = use.devices[device]
            self._journal.add(entry, [part_e9 * each for each in counts])
            if not any(entry):
                self._journal.drop(use.devices, device)

    def _counted(self, requests: Amounts, share: DeviceShare | None) -> Amounts:
        """Return what a pod takes besides its parts of shared devices."""
        gpu = self.shared_gpu
        if share is None or gpu is None:
            return requests
        return besides_shares(requests, gpu)

    def _occupy(self, pod: ForeignPod) -> None:
        self._journal.put(self.foreign, pod.id, pod)
        if pod.leaving:
            self._journal.put(self.leaving_foreign, pod.id, None)
        if pod.asked_about:
            self._journal.put(self._asked_about, pod.node, (*self.asked_about(pod.node), pod))
        self._add_occupied(pod, pod.requests, 1)

    def _vacate(self, pod: ForeignPod) -> None:
        """Take a foreign pod off its node: the inverse of `_occupy`."""
        self._journal.drop(self.foreign, pod.id)
        if pod.leaving:
            self._journal.drop(self.leaving_foreign, pod.id)
        if pod.asked_about:
            left = tuple([each for each in self.asked_about(pod.node) if each.id != pod.id])
            if left:
                self._journal.put(self._asked_about, pod.node, left)
            else:
                self._journal.drop(self._asked_about, pod.node)
        self._add_occupied(pod, tuple(map(neg, pod.requests)), -1)

    def _add_occupied(self, pod: ForeignPod, amounts: Amounts, pods: int) -> None:
        """Let foreign pods take so much more of the node of *pod*, and so many *pods* more."""
        name = pod.node
        before = self.occupied(name)
        if before.pods + pods:
            held = tuple(map(add, before.held, amounts))
            leaving = tuple(map(add, before.leaving, amounts)) if pod.leaving else before.leaving
            self._journal.put(self._occupied, name, Occupied(held, leaving, before.pods + pods))
        else:
            self._journal.drop(self._occupied, name)
        node = self.nodes.get(name)
        if node is not None and node.ready:
            self._journal.add(self.capacity, map(neg, amounts))
        self._journal.touch(self.changes, name)

    def _unused(self) -> NodeUse:
        zero = self._zero
        return NodeUse(
            pods={},
            departing={},
            held=list(zero),
            leaving=list(zero),
            reserved=list(zero),
            devices={},
        )

    def _remember(self, node: Node) -> None:
        self._journal.put(self.nodes, node.name, node)
        self._journal.add(self.capacity, self.offered(node))
        self._journal.touch(self.changes, node.name)

    def _forget(self, name: str) -> None:
        old = self.nodes.get(name)
        if old is None:
            raise StateError(f"node {name} is not known")
        self._journal.add(self.capacity, map(neg, self.offered(old)))

    def _check(self, node: Node) -> None:
        if len(node.allocatable) != len(self._zero):
            raise StateError(f"node {node.name} needs one amount per resource, {len(self._zero)}")
