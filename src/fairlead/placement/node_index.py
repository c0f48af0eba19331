"""The nodes of a state by their room, kept up to date as pods come and go.

A search asks for nodes that have enough of the scarcest resource, in order of preference, and
mostly ends at the first. The change log of the books lists the nodes to read again, so keeping the
index costs what changed and not what exists. An order that is rarely needed, such as that by cpu
where pods request GPUs, is brought up to date when it is needed: in a trial a node may change many
times until then.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from operator import gt
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts
from fairlead.model.device_share import SHARED_GPU
from fairlead.model.node import Node, Occupied
from fairlead.model.quantity import is_gpu
from fairlead.model.state import ClusterState
from fairlead.placement.node_room import GpuResources, NodeRoom, has_open_gpus, node_room
from fairlead.placement.sorted_nodes import SortedNodes

RoomKey: TypeAlias = tuple[object, ...]

_MOST_GROWTHS: Final = 256
"""How many are kept; a reader that is older than that must read everything."""


class Growth(NamedTuple):
    """What was free on a node later, by amounts alone, and what is now."""

    before: Amounts
    after: Amounts


class _Offer(NamedTuple):
    """What a node offers beside foreign pods, and the facts from which it follows."""

    node: Node
    occupied: Occupied
    amounts: Amounts
    has_gpus: bool


class NodeIndex:
    """Rooms of all ready nodes, and their order by what is free later."""

    def __init__(self, state: ClusterState, *, spread_gpus: bool, spread_cpus: bool) -> None:
        """Index the nodes of *state*, which may go on changing. Cost: each node."""
        resources = state.resources
        self.gpus = GpuResources(
            kinds=tuple(at for at, resource in enumerate(resources) if is_gpu(resource)),
            shared=resources.index(SHARED_GPU) if SHARED_GPU in resources else None,
        )
        self._cpu = resources.index("cpu") if "cpu" in resources else None
        self._books = state.books
        self._spread_gpus = spread_gpus
        self._spread_cpus = spread_cpus
        self._rooms: dict[str, NodeRoom] = {}
        self._offers: dict[str, _Offer] = {}
        self._by_gpu = SortedNodes()
        self._by_cpu = {False: SortedNodes(), True: SortedNodes()}  # nodes without GPUs, and with
        self._alike: dict[RoomKey, tuple[NodeRoom, int]] = {}
        self._open_nodes = 0
        self._gpu_later = 0
        self._with_open_gpus: set[str] = set()
        self._unsorted: dict[
            str, NodeRoom | None
        ] = {}  # what was sorted in, where that is outdated
        self._read_at = 0
        self._version = 0  # grows whenever a room that was read changes
        self._growth = 0  # grows whenever a node may have more
        # The latest ones; None: a node that is new, or has shared devices.
        self._growths: deque[Growth | None] = deque(maxlen=_MOST_GROWTHS)

    def rooms(self) -> dict[str, NodeRoom]:
        """Return the room on every ready node, as of now."""
        self._catch_up()
        return self._rooms

    def version(self) -> int:
        """Return a number that grows whenever the room on a node changes."""
        self._catch_up()
        return self._version

    def growth(self) -> int:
        """Return a number that grows whenever a node may have more room later than before."""
        self._catch_up()
        return self._growth

    def grown_since(self, growth: int) -> list[Growth] | None:
        """Return how nodes grew since `growth` had that value; None: not known any more.

        Law: a size that fits no node more often *after* than *before* fits no more often in all.
        """
        self._catch_up()
        count = self._growth - growth
        if count > len(self._growths):
            return None
        latest = islice(reversed(self._growths), count)
        known = [each for each in latest if each is not None]
        return known if len(known) == count else None

    def alike(self) -> list[tuple[NodeRoom, int]] | None:
        """Return each different room once, with the number of nodes that have it.

        None if some node is not ready, is cordoned or has a taint: then rooms do not decide alone.
        """
        self._sort_in()
        if self._open_nodes < len(self._books.nodes):
            return None
        return list(self._alike.values())

    def places(self, requests: Amounts) -> int | None:
        """Return how many times *requests* fit on the ready nodes together.

        By amounts alone, after termination; None: any number of times. Cost: each different room.
        """
        self._sort_in()
        needs = [(at, amount) for at, amount in enumerate(requests) if amount]
        if not needs:
            return None
        rooms = self._alike.values()
        return sum(
            [count * min([room.later[at] // need for at, need in needs]) for room, count in rooms]
        )

    def gpu_later(self) -> int:
        """Return how much of GPUs is or will be free on all nodes, in thousandths. Cost: O(1)."""
        self._catch_up()
        return self._gpu_later

    def most_gpus(self) -> int:
        """Return how much of GPUs is or will be free on the node with the most, in thousandths."""
        self._catch_up()
        most = self._by_gpu.least() if self._spread_gpus else self._by_gpu.most()
        return abs(most or 0)

    def with_open_gpus(self) -> set[str]:
        """Return the nodes with a GPU that is idle, or being released and not reserved."""
        self._catch_up()
        return set(self._with_open_gpus)

    def preferred(self, requests: Amounts, gpu_thousandths: int) -> Iterator[NodeRoom]:
        """Yield nodes that may have room for so much, the most preferred first.

        For a request of GPUs these are nodes with enough of them, the least (or, spreading, the
        most) left first, then by name. Otherwise nodes without GPUs come first, by what is left of
        cpu. The state must not change meanwhile.
        """
        self._catch_up()
        if gpu_thousandths:
            yield from self._walk(self._by_gpu, gpu_thousandths, spread=self._spread_gpus)
            return
        self._sort_in()
        cpu = 0 if self._cpu is None else requests[self._cpu]
        for has_gpus in (False, True):
            yield from self._walk(self._by_cpu[has_gpus], cpu, spread=self._spread_cpus)

    def _walk(self, nodes: SortedNodes, least: int, *, spread: bool) -> Iterator[NodeRoom]:
        names = nodes.between(None, -least) if spread else nodes.between(least, None)
        return map(self._rooms.__getitem__, names)

    def _catch_up(self) -> None:
        changes = self._books.changes
        if self._read_at != changes.moment:
            for name in changes.since(self._read_at):
                self._read(name)
            self._read_at = changes.moment

    def _read(self, name: str) -> None:
        node = self._books.nodes.get(name)
        if node is None or not node.ready:
            self._forget(name)
            return
        offer = self._offer(node)
        use = self._books.use(name)
        released = offer.occupied.leaving
        room = node_room(node, offer.amounts, released, use, self.gpus)
        is_open = has_open_gpus(room, released, use, self.gpus)
        before = self._rooms.get(name)
        if room == before and is_open == (name in self._with_open_gpus):
            return
        self._version += 1
        if before is None or room.devices or before.devices:
            self._growth += 1
            self._growths.append(None)
        elif any(map(gt, room.later, before.later)):
            self._growth += 1
            self._growths.append(Growth(before.later, room.later))
        if is_open:
            self._with_open_gpus.add(name)
        else:
            self._with_open_gpus.discard(name)
        self._unsorted.setdefault(name, before)
        self._gpu_later += room.gpu_later - (before.gpu_later if before else 0)
        self._rooms[name] = room
        if offer.has_gpus:
            self._by_gpu.put(name, -room.gpu_later if self._spread_gpus else room.gpu_later)

    def _offer(self, node: Node) -> _Offer:
        """Return what *node* offers to our pods; what followed from other facts is forgotten."""
        name = node.name
        known, occupied = self._offers.get(name), self._books.occupied(name)
        if known is None or known.node is not node:
            self._forget(name)  # it may have gained or lost GPUs
        elif known.occupied is occupied:
            return known
        offer = _Offer(node, occupied, self._books.offered(node), self._has_gpus(node))
        self._offers[name] = offer
        return offer

    def _forget(self, name: str) -> None:
        self._version += 1
        before = self._rooms.pop(name, None)
        if before is not None:
            if self._unsorted.setdefault(name, before) is None:
                del self._unsorted[name]  # it was never sorted in
            self._gpu_later -= before.gpu_later
        self._offers.pop(name, None)
        self._with_open_gpus.discard(name)
        self._by_gpu.drop(name)

    def _sort_in(self) -> None:
        """Bring the orders up to date that are not kept so at every change."""
        self._catch_up()
        for name, before in self._unsorted.items():
            room = self._rooms.get(name)
            if before is not None:
                self._count(before, -1)
                if room is None or room.node is not before.node:
                    self._by_cpu[self._has_gpus(before.node)].drop(name)
            if room is not None:
                self._count(room, 1)
                cpu = 0 if self._cpu is None else room.later[self._cpu]
                by_cpu = self._by_cpu[self._has_gpus(room.node)]
                by_cpu.put(name, -cpu if self._spread_cpus else cpu)
        self._unsorted.clear()

    def _has_gpus(self, node: Node) -> bool:
        return self.gpus.asked(node.allocatable) > 0

    def _has_shared(self, node: Node) -> bool:
        return self.gpus.shared is not None and node.allocatable[self.gpus.shared] > 0

    def _count(self, room: NodeRoom, by: int) -> None:
        """Add a room to the sums, or subtract it."""
        node = room.node
        self._open_nodes += 0 if node.cordoned or node.taints else by
        # Even if all devices are taken, it matters that the node has them.
        offers = self._has_gpus(node), self._has_shared(node)
        key = (room.idle, room.later, room.devices, node.gpu_memory_mib, offers)
        count = self._alike.get(key, (room, 0))[1] + by
        if count:
            self._alike[key] = (room, count)
        else:
            del self._alike[key]
