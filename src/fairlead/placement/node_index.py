"""The nodes of a state by the room they have, kept up to date as pods come and go.

A search for a node asks for those that have enough of the scarcest thing, in the order in which
they are preferred, and mostly ends at the first. The books' change log says which nodes to look at
again, so keeping the index costs what happened and not what exists. What few ask for, such as the
order by cpu where pods want GPUs, is brought up to date when it is asked for: in a trial a node
may change many times until then.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from operator import gt
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts
from fairlead.model.device_share import SHARED_GPU
from fairlead.model.foreign_pod import Occupied
from fairlead.model.node import Node
from fairlead.model.quantity import is_gpu
from fairlead.model.state import ClusterState
from fairlead.placement.node_room import GpuResources, NodeRoom, has_open_gpus, node_room
from fairlead.placement.sorted_nodes import SortedNodes

RoomKey: TypeAlias = tuple[object, ...]

_MOST_GROWTHS: Final = 256
"""How many are remembered; who has not looked for longer than that looks at everything."""


class Growth(NamedTuple):
    """What of a node was free later by amounts alone, and what is."""

    before: Amounts
    after: Amounts


class _Offer(NamedTuple):
    """What a node has for pods of ours beside foreign ones, and by which facts."""

    node: Node
    occupied: Occupied
    amounts: Amounts
    has_gpus: bool


class NodeIndex:
    """Rooms of all nodes that are ready, and their order by what is free later."""

    def __init__(self, state: ClusterState, *, spread_gpus: bool, spread_cpus: bool) -> None:
        """Index the nodes of *state*, which may go on changing. Cost: one look at each node."""
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
        self._by_cpu = {False: SortedNodes(), True: SortedNodes()}  # without GPUs, and with
        self._alike: dict[RoomKey, tuple[NodeRoom, int]] = {}
        self._open_nodes = 0
        self._gpu_later = 0
        self._with_open_gpus: set[str] = set()
        self._unsorted: dict[str, NodeRoom | None] = {}  # what was sorted in, where that is old
        self._read_at = 0
        self._version = 0  # grows whenever a room that was read is another than before
        self._growth = 0  # grows whenever there may be more of it
        # The latest; None: a node that is new, or has devices that are shared.
        self._growths: deque[Growth | None] = deque(maxlen=_MOST_GROWTHS)

    def rooms(self) -> dict[str, NodeRoom]:
        """Return the room on every node that is ready, as of now."""
        self._catch_up()
        return self._rooms

    def version(self) -> int:
        """Return a number that grows whenever the room on a node is another than before."""
        self._catch_up()
        return self._version

    def growth(self) -> int:
        """Return a number that grows whenever a node may have more room later than before."""
        self._catch_up()
        return self._growth

    def grown_since(self, growth: int) -> list[Growth] | None:
        """Return how nodes grew after `growth` was that; None: amounts do not tell, or too often.

        Law: a size that fits no node more often *after* than *before* fits in no more places in
        all than it did then.
        """
        self._catch_up()
        count = self._growth - growth
        if count > len(self._growths):
            return None
        latest = islice(reversed(self._growths), count)
        known = [each for each in latest if each is not None]
        return known if len(known) == count else None

    def alike(self) -> list[tuple[NodeRoom, int]] | None:
        """Return one room for all that are alike, and how many there are of it.

        None where some node is not ready, is cordoned or has a taint: then rooms do not say all.
        """
        self._sort_in()
        if self._open_nodes < len(self._books.nodes):
            return None
        return list(self._alike.values())

    def places(self, requests: Amounts) -> int | None:
        """Return how many times *requests* fit the nodes that are ready, one beside the other.

        By amounts alone, once everybody who is leaving has left; None: any number of times. Cost:
        a look at each different room.
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
        """Return what of GPUs is or will be free on all nodes, in thousandths. Cost: no look."""
        self._catch_up()
        return self._gpu_later

    def most_gpus(self) -> int:
        """Return what of GPUs is or will be free on the node that has the most, in thousandths."""
        self._catch_up()
        most = self._by_gpu.least() if self._spread_gpus else self._by_gpu.most()
        return abs(most or 0)

    def with_open_gpus(self) -> set[str]:
        """Return the nodes that have a GPU idle, or one that is being released to nobody."""
        self._catch_up()
        return set(self._with_open_gpus)

    def preferred(self, requests: Amounts, gpu_thousandths: int) -> Iterator[NodeRoom]:
        """Yield nodes that may have room for so much, the most preferred first.

        Who asks for GPUs is shown nodes with enough of them, the least (or, spreading, the most)
        left first, then by name. Who does not is shown those without GPUs first, by what is left
        of cpu. The state must not change meanwhile.
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
        """Return what *node* has for pods of ours; what was known by other facts is forgotten."""
        name = node.name
        known, occupied = self._offers.get(name), self._books.occupied(name)
        if known is None or known.node is not node:
            self._forget(name)  # it may have got GPUs, or lost them
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
        """Bring up to date what is not kept so at every change."""
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
        """Take a room into the sums, or out of them."""
        node = room.node
        self._open_nodes += 0 if node.cordoned or node.taints else by
        # Of devices that are all taken, it matters still that the node has them.
        offers = self._has_gpus(node), self._has_shared(node)
        key = (room.idle, room.later, room.devices, node.gpu_memory_mib, offers)
        count = self._alike.get(key, (room, 0))[1] + by
        if count:
            self._alike[key] = (room, count)
        else:
            del self._alike[key]
