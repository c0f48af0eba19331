"""The nodes where a pod fits now, best first, as the default scheduler would choose.

Users of Kubernetes' default scheduler expect two of its scores, ``NodeResourcesFit`` and
``NodeResourcesBalancedAllocation``, with its default resources, cpu and memory, each of weight 1.
``LeastAllocated`` spreads pods and reads nothing else. ``MostAllocated`` packs them, and then GPUs
should be packed as well: each extended resource that the pod requests counts like cpu.

Besides what `node_score` says, the peer differs in three ways. Here nodes with fewer
``PreferNoSchedule`` taints that the pod does not tolerate come first, before any score; the peer
turns their number into points relative to the most on any fitting node, with weight 3. If all nodes
have equally many, the result is the same. Equal nodes are taken by name, not at random. A pod that
requests no cpu is assumed to use 0.1, one that requests no memory 200 MiB, as the peer assumes for
each container, because the containers of a pod are not known here; such pods of other schedulers
count as nothing.

One sorted order is kept for each kind of pod, and the change log of the books lists the nodes to
read again; sorting anew, the simulated month under ElasticQuotas takes 1.9 times as long. Taints
that forbid, selectors, ports, parts of devices and affinity are checked by the caller, and so are
scores for what a pod prefers.
"""

from collections.abc import Iterator, Sequence
from operator import le
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.model.accounting.node_books import NodeUse
from fairlead.model.axes import Amounts
from fairlead.model.node import Node
from fairlead.model.quantity import is_gpu
from fairlead.model.selector import Toleration
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet
from fairlead.placement.node_room import GpuResources, node_room
from fairlead.placement.sorted_nodes import Key, SortedNodes

Scoring: TypeAlias = Literal["LeastAllocated", "MostAllocated"]
"""Whether emptier nodes are better, or fuller ones."""

Fill: TypeAlias = tuple[int, int]
"""Of one resource of a node: what is used once the pod is there, and the capacity."""

POINT: Final = 10**6  # in millionths
FULL: Final = 100 * POINT
WHOLE_POINT: Final = 10**9  # a point in a score: more than all millionths of it
ABOVE_ALL_SCORES: Final = 10**12

ASSUMED_REQUESTS: Final = {"cpu": 100, "memory": 200 * 2**20}  # of pods that request none
KINDS_REMEMBERED: Final = 64  # an order of 1,000 nodes takes about 0.13 MB

PodClass: TypeAlias = tuple[Amounts, tuple[Toleration, ...]]
Weighed: TypeAlias = tuple[
    tuple[int, int], ...
]  # indexes of resources, and what the pod adds there


class _Load(NamedTuple):
    """What is scored of a ready node."""

    node: Node
    idle: Amounts  # never below 0, so that a request of 0 always fits
    assumed: Amounts  # what pods there are assumed to use beyond their requests


class _Order:
    """The nodes where one kind of pod fits, as of one moment of the change log."""

    def __init__(self, kind: PodClass, fit: Weighed, balance: Weighed | None) -> None:
        self.requests, self.tolerations = kind
        self.fit = fit
        self.balance = balance
        self.nodes = SortedNodes()
        self.read_at = 0


class ScoredNodes:
    """Nodes in the order in which each kind of pod prefers them, through all changes of a state."""

    def __init__(
        self, state: ClusterState, scoring: Scoring, *, remembered: int = KINDS_REMEMBERED
    ) -> None:
        """Score the nodes of *state*; keep orders for so many kinds of pod, the latest used."""
        self._state = state
        self._scoring: Scoring = scoring
        self._remembered = remembered
        self._gpus = GpuResources(kinds=(), shared=state.books.shared_gpu)  # for what is idle
        resources = state.resources
        self._assumed = [
            (resources.index(name), amount)
            for name, amount in ASSUMED_REQUESTS.items()
            if name in resources
        ]
        self._extended = [at for at, name in enumerate(resources) if "/" in name or is_gpu(name)]
        self._nothing: Amounts = (0,) * len(resources)
        self._loads: dict[str, _Load] = {}
        self._read_at = 0
        self._orders: dict[PodClass, _Order] = {}  # the least recently used first

    def best_first(self, asked: PodSet) -> Iterator[str]:
        """Return the nodes where a pod of *asked* fits now, best first, then by name.

        A node fits if it is ready and its idle capacity holds the requests; a terminating pod still
        holds what it has, what is reserved is still idle. A request of 0 is ignored. The answer is
        as of the call, whatever happens while it is read.

        Law: the same as scoring all nodes again. Cost: the pods on each node that changed since the
        last call, and a score for each node that changed since the last call for this kind of pod;
        for a kind that is not kept, a score for each node. Each call copies one pointer for each
        node that fits.
        """
        return self._nodes_for(asked).in_order()

    def ranked(self, asked: PodSet) -> list[Key]:
        """Return the nodes of `best_first` in its order, each with the number that sorts it.

        A point more in the score of a node lowers its number by `WHOLE_POINT`.
        """
        return self._nodes_for(asked).keys()

    def _nodes_for(self, asked: PodSet) -> SortedNodes:
        """Return the nodes where a pod of *asked* fits now."""
        self._read_loads()
        order = self._order_of(asked)
        changes = self._state.books.changes
        if order.read_at != changes.moment:
            for name in changes.since(order.read_at):
                self._rank(order, name)
            order.read_at = changes.moment
        return order.nodes

    def _read_loads(self) -> None:
        books = self._state.books
        if self._read_at == books.changes.moment:
            return
        for name in books.changes.since(self._read_at):
            node = books.nodes.get(name)
            if node is None or not node.ready:
                self._loads.pop(name, None)
                continue
            use, released = books.use(name), books.occupied(name).leaving
            idle = node_room(node, books.offered(node), released, use, self._gpus).idle
            self._loads[name] = _Load(node, idle, self._assumed_on(use))
        self._read_at = books.changes.moment

    def _assumed_on(self, use: NodeUse) -> Amounts:
        """Return what pods on a node are assumed to use though they did not request it."""
        workloads, runs = self._state.workloads, self._state.runs
        found = list(self._nothing)
        for name, pod in use.pods:
            requests = workloads[name].pod_sets.of(pod).requests
            for at, amount in self._assumed:
                if not requests[at] and runs[name].pods[pod].phase != "reserved":
                    found[at] += amount
        for held, _ in use.departing.values():
            for at, amount in self._assumed:
                found[at] += 0 if held[at] else amount
        return tuple(found)

    def _order_of(self, asked: PodSet) -> _Order:
        tolerations = asked.constraints.tolerations
        if tolerations:
            tolerations = tuple([each for each in tolerations if _may_be_gentle(each)])
        kind = (asked.requests, tolerations)
        order = self._orders.pop(kind, None)
        if order is None:
            order = self._new_order(kind)
            if len(self._orders) >= self._remembered:
                del self._orders[next(iter(self._orders))]
        self._orders[kind] = order
        return order

    def _new_order(self, kind: PodClass) -> _Order:
        requests, _ = kind
        fit = [(at, requests[at] or amount) for at, amount in self._assumed]
        if self._scoring == "MostAllocated":
            fit += [(at, requests[at]) for at in self._extended if requests[at]]
        balance = tuple([(at, requests[at]) for at, _ in self._assumed])
        takes_part = any(amount for _, amount in balance)
        return _Order(kind, tuple(fit), balance if takes_part else None)

    def _rank(self, order: _Order, name: str) -> None:
        """Put a node in its place in *order*, or remove it if the pod does not fit there."""
        load = self._loads.get(name)
        if load is None or not all(map(le, order.requests, load.idle)):
            order.nodes.drop(name)
            return
        number = -self._score(order, load)
        if load.node.taints:
            number += _shunned(load.node, order.tolerations) * ABOVE_ALL_SCORES
        order.nodes.put(name, number)

    def _score(self, order: _Order, load: _Load) -> int:
        sizes, idle, assumed = load.node.allocatable, load.idle, load.assumed
        fit = [(sizes[at] - idle[at] + assumed[at] + more, sizes[at]) for at, more in order.fit]
        balance: list[Fill] | None = None
        if order.balance is not None:
            balance = [(sizes[at] - idle[at] + more, sizes[at]) for at, more in order.balance]
        return node_score(fit, balance, self._scoring)


def _may_be_gentle(toleration: Toleration) -> bool:
    """Return whether a toleration can match a ``PreferNoSchedule`` taint."""
    return toleration.effect is None or toleration.effect == "PreferNoSchedule"


def _shunned(node: Node, tolerations: tuple[Toleration, ...]) -> int:
    """Return how many ``PreferNoSchedule`` taints the pod does not tolerate."""
    gentle = [taint for taint in node.taints if taint.effect == "PreferNoSchedule"]
    return sum([not any(each.tolerates(taint) for each in tolerations) for taint in gentle])


def node_score(fit: Sequence[Fill], balance: Sequence[Fill] | None, scoring: Scoring) -> int:
    """Return a number that is higher for a better node, from 0 to below `ABOVE_ALL_SCORES`.

    Two scores are added, each from 0 to 100 points: how full the node is with the pod on it, where
    either less or more is better, and how evenly cpu and memory are used then. Without *balance*
    the pod requests neither, and that score is left out.

    The peer rounds each score down to whole points and chooses at random among equal nodes. On a
    large node a small pod is less than a point, so among equals we compare millionths of a point.
    The number is the sum in points, times `WHOLE_POINT`, plus the sum in millionths. Law: a node
    with more points for the peer has a higher number. (Millionths alone would not do: 50.9 + 50.9
    is more than 51.0 + 50.0, but less for the peer.) The peer computes the balance in floats, which
    may miss a whole point by rounding; ours is exact.
    """
    points, millionths = fit_score(fit, scoring)
    if balance is not None:
        even = balance_score(balance)
        points += even // POINT
        millionths += even
    return points * WHOLE_POINT + millionths


def fit_score(fit: Sequence[Fill], scoring: Scoring) -> tuple[int, int]:
    """Return the mean part that is free, or used, in points and in millionths of a point.

    Each resource is rounded down to whole points (or millionths), then their mean is. A resource
    that the node does not have is left out. Usage beyond the capacity, which assumed requests can
    cause, counts as full.
    """
    points = millionths = count = 0
    for used, size in fit:
        if size:
            used = min(used, size)
            part = FULL * (used if scoring == "MostAllocated" else size - used) // size
            points += part // POINT
            millionths += part
            count += 1
    return (points // count, millionths // count) if count else (0, 0)


def balance_score(balance: Sequence[Fill]) -> int:
    """Return 100 points less the standard deviation of the used parts, in millionths, rounded down.

    For two resources the deviation is half of the difference; one or none cannot be uneven.
    """
    sized = [(min(used, size), size) for used, size in balance if size]
    assert len(sized) <= 2, "the balance is that of cpu and memory"
    if len(sized) < 2:
        return FULL
    (used, size), (other_used, other_size) = sized
    whole = 2 * size * other_size
    return FULL * (whole - abs(used * other_size - other_used * size)) // whole
