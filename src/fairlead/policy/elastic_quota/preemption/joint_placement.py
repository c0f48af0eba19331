"""Nodes for several pods at once, once some running pods are gone.

Pods with the fewest possible nodes are placed first, then the largest; nodes are tried by name.
Equal pods are neighbours in that order, and each goes to the same node as the one before or to a
later one, except where they are spread: then a pod can open a node for the next one. If all pods
left are equal, the first attempt decides, unless other pods matter too.

The search backtracks, and is bounded: beyond what a first pass takes (each shape over its nodes,
each pod once) it makes `NODE_CHECK_LIMIT` checks of a node. Then it gives up, though a solution may
exist.

Where host ports, affinity or topology spread matter, and capacity is enough, each pod is placed in
a trial beside those placed before. That is expensive, so at most `TRIAL_LIMIT` trials, and two for
each pod, are made. A pod with affinity to another of its gang finds it only if that one is placed
before.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import add, sub
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import Amounts
from fairlead.model.events import Placement, WorkloadStarted, WorkloadStopped
from fairlead.model.workload import PodSet
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod

NODE_CHECK_LIMIT: Final = 20_000
FreeByNode: TypeAlias = dict[str, list[int]]


class PodToPlace(NamedTuple):
    """A pod's requests and the nodes where it may be; equal pods share one sequence."""

    requests: Amounts
    nodes: Sequence[str]


class NeighbourChecks(NamedTuple):
    """Places pods beside others: by index in the order and node; False if that is not allowed."""

    place: Callable[[int, str], bool]
    undo: Callable[[], None]  # removes the pod that was placed last
    can_open_nodes: bool = False  # whether a placed pod can open a node for an equal one


class PlacementSearch:
    """The backtracking search for nodes for some pods, in their order."""

    def __init__(
        self,
        pods: Sequence[PodToPlace],
        free_by_node: FreeByNode,
        neighbours: NeighbourChecks | None,
    ) -> None:
        """Place *pods* in the capacity of *free_by_node*, which is changed.

        *neighbours* are checked too; None: only capacity matters.
        """
        self._pods = pods
        self._free_by_node = free_by_node
        self._neighbours = neighbours
        self._can_open_nodes = neighbours is not None and neighbours.can_open_nodes
        before = [None, *[pod.nodes for pod in pods]]
        self._like_before = [pod.nodes is nodes for pod, nodes in zip(pods, before, strict=False)]
        self._last_run = len(pods) - 1
        while self._last_run > 0 and self._like_before[self._last_run]:
            self._last_run -= 1
        shapes = [pod for pod, is_like in zip(pods, self._like_before, strict=True) if not is_like]
        self._checks_left = NODE_CHECK_LIMIT + len(pods) + sum([len(pod.nodes) for pod in shapes])
        # For each placed pod the index among its nodes, and the capacity there before.
        self._placed: list[tuple[int, list[int]]] = []

    def find(self) -> list[str] | None:
        """Return a node for each pod, in their order; None if none was found."""
        first = 0
        while len(self._placed) < len(self._pods):
            index = len(self._placed)
            at = self._next(index, first)
            if at is not None:
                is_next_alike = index + 1 < len(self._pods) and self._like_before[index + 1]
                first = at if is_next_alike and not self._can_open_nodes else 0
            elif self._checks_left < 0 or not self._backtrack():
                return None
            else:
                first = self._unplace_last() + 1
        return [pod.nodes[at] for pod, (at, _) in zip(self._pods, self._placed, strict=True)]

    def _next(self, index: int, first: int) -> int | None:
        """Place the pod at *index* on one of its nodes from *first* on; None if none fits."""
        requests, nodes = self._pods[index]
        for at in range(first, len(nodes)):
            self._checks_left -= 1
            if self._checks_left < 0:
                return None
            free = self._free_by_node[nodes[at]]
            if fits(requests, free) and self._place_if_allowed(index, nodes[at]):
                self._free_by_node[nodes[at]] = list(map(sub, free, requests))
                self._placed.append((at, free))
                return at
        return None

    def _place_if_allowed(self, index: int, node: str) -> bool:
        return self._neighbours is None or self._neighbours.place(index, node)

    def _backtrack(self) -> bool:
        """Remove pods for which no other node can help; returns whether one is left to move."""
        while self._neighbours is None and len(self._placed) > self._last_run:
            self._unplace_last()  # however equal pods are spread, equally many fit
        return bool(self._placed)

    def _unplace_last(self) -> int:
        """Remove the pod that was placed last; returns the index of its node."""
        at, free = self._placed.pop()
        self._free_by_node[self._pods[len(self._placed)].nodes[at]] = free
        if self._neighbours is not None:
            self._neighbours.undo()
        return at


def fits(requests: Sequence[int], free: Sequence[int]) -> bool:
    """Return whether *free* is enough for *requests*; an axis with a request of 0 is ignored."""
    return all(need <= there for need, there in zip(requests, free, strict=True) if need > 0)


TRIAL_LIMIT: Final = 2_000
PodShape: TypeAlias = tuple[Amounts, PodSet]


class JointPlacement:
    """Finds nodes for the pods of one workload."""

    def __init__(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        *,
        after_termination: bool,
    ) -> None:
        """Search for *pending_pods*, now or *after_termination* of the terminating pods.

        Cost: for each shape of pod a check of each node.
        """
        self._context = context
        self._after_termination = after_termination
        self._pending_pods = pending_pods
        self._keys = frozenset([each.key for each in pending_pods])
        of_set = {each.set_index: each for each in pending_pods}
        shape_of_set = {at: _shape(each) for at, each in of_set.items()}
        self._shapes = [shape_of_set[each.set_index] for each in pending_pods]
        self._can_open_nodes = any(each.pod_set.constraints.spread for each in of_set.values())
        self._depends_on_other_pods = any(map(context.fit.depends_on_other_pods, of_set.values()))
        self._possible = {
            shape_of_set[at]: self._possible_nodes(each) for at, each in of_set.items()
        }
        self._order = self._hardest_first()
        self._free: dict[str, Sequence[int]] = {
            name: self._free_for_any(name) for name in sorted(context.state.nodes)
        }
        self._with_room = self._nodes_with_room()
        self._trials_left = TRIAL_LIMIT + 2 * len(pending_pods)

    @property
    def can_never_fit(self) -> bool:
        """Whether some pod fits on no node, even if all were empty."""
        return not all(self._possible.values())

    @property
    def needs_others(self) -> bool:
        """Whether evicting too many pods can leave a pod without a node, as with affinity."""
        return any(pod_set.constraints.can_be_helped for _, pod_set in self._possible)

    def find(self, removed: Collection[RunningPod]) -> tuple[str, ...] | None:
        """Return a node for each pod once *removed* are gone; None if none was found."""
        if self.can_never_fit:
            return None
        found = self._search(self._free_by_node_without(removed), None)
        if found is not None and self._depends_on_other_pods:
            found = self._find_with_neighbours(removed)
        if found is None:
            return None
        by_pod = dict(zip(self._order, found, strict=True))
        return tuple([by_pod[at] for at in range(len(self._pending_pods))])

    def has_room_for_hardest(self, node: str, removed: Iterable[RunningPod]) -> bool:
        """Return whether the pod with the fewest nodes fits on *node* once *removed* are gone."""
        requests, _ = shape = self._shapes[self._order[0]]
        if node not in self._possible[shape]:
            return False
        free = self._free[node]
        for candidate in removed:
            free = list(map(add, free, candidate.requests))
        return fits(requests, free)

    def reprieve(
        self,
        nodes: Sequence[str],
        victims: Sequence[RunningPod],
        is_needed: Callable[[RunningPod], bool],
    ) -> list[RunningPod]:
        """Return *victims* without those that can stay while the pods are on *nodes*.

        The last is reprieved first. *is_needed* says whether a victim is needed for another reason;
        it is called once for each, and counts a victim that is not needed as staying. Cost: the
        victims; where host ports or affinity matter, a trial for each, with all evictions and
        starts.
        """
        there: dict[str, list[PendingPod]] = {}
        for pending, node in zip(self._pending_pods, nodes, strict=True):
            there.setdefault(node, []).append(pending)
        requests = {node: _total(pending_pods) for node, pending_pods in there.items()}
        free_by_node = {
            node: list(
                self._context.fit.free_together(
                    pending_pods, node, after_termination=self._after_termination
                )
            )
            for node, pending_pods in there.items()
        }
        for victim in victims:
            node = self.node_of(victim)
            if node in free_by_node:
                free_by_node[node] = list(map(add, free_by_node[node], victim.requests))
        removed = dict.fromkeys(victims)
        for candidate in reversed(victims):
            node = self.node_of(candidate)
            free = (
                list(map(sub, free_by_node[node], candidate.requests)) if node in requests else None
            )
            if free is not None and not fits(requests[node], free):
                continue
            del removed[candidate]
            if not self.are_allowed(nodes, removed) or is_needed(candidate):
                removed[candidate] = None
            elif free is not None:
                free_by_node[node] = free
        return list(removed)

    def are_allowed(self, nodes: Sequence[str], removed: Collection[RunningPod]) -> bool:
        """Return whether ports and affinity allow the pods on *nodes*, once *removed* are gone.

        Free capacity is not checked.
        """
        if not self._depends_on_other_pods:
            return True
        with self._context.state.trial():
            self._stop([*removed, *self._terminating(nodes)])
            pairs = zip(self._pending_pods, nodes, strict=True)
            return all(self._place_if_allowed(pending, node) for pending, node in pairs)

    def _free_by_node_without(self, removed: Iterable[RunningPod]) -> FreeByNode:
        """Return the free capacity of nodes where a pod may fit, once *removed* are gone."""
        free_by_node = {name: list(self._free[name]) for name in self._with_room}
        for candidate in removed:
            node = self.node_of(candidate)
            free = free_by_node.get(node) or self._free[node]
            free_by_node[node] = list(map(add, free, candidate.requests))
        return free_by_node

    def _free_for_any(self, name: str) -> Amounts:
        """Return the free capacity of a node for any of the pods.

        Fewer nominated pods are ahead of one that was nominated to this node earlier, but that one
        may be placed elsewhere.
        """
        nominations, pending_pods = self._context.nominations, self._pending_pods
        others = (each for each in pending_pods if not nominations.was_nominated_to(each.key, name))
        return self._context.fit.free(
            next(others, pending_pods[0]), name, after_termination=self._after_termination
        )

    def node_of(self, candidate: RunningPod) -> str:
        """Return the node of a running pod."""
        name, pod = candidate.key
        node = self._context.state.runs[name].pods[pod].node
        assert node is not None, "a running pod has a node"
        return node

    def _nodes_with_room(self) -> list[str]:
        """Return nodes that have room now: as many as there are pods, which is always enough.

        All of them, if other pods matter.
        """
        most = len(self._free) if self._depends_on_other_pods else len(self._pending_pods)
        found: dict[str, None] = {}
        for shape, possible in self._possible.items():
            fitting = [name for name in possible if fits(shape[0], self._free[name])]
            found.update(dict.fromkeys(fitting[:most]))
        return list(found)

    def _possible_nodes(self, pending: PendingPod) -> dict[str, None]:
        """Return the nodes where a pod could run if they were empty, by name."""
        context = self._context
        return dict.fromkeys(
            [
                name
                for name, node in sorted(context.state.nodes.items())
                if context.fit.fits_empty_node(pending, node)
                and context.node_filters.node_defect(pending, node) is None
                and context.fit.nominated_defect(pending, name) is None
            ]
        )

    def _hardest_first(self) -> list[int]:
        """Return the indexes of the pods, hardest to place first and equal pods together."""
        shapes = sorted(self._possible, key=lambda shape: shape[0], reverse=True)
        shapes.sort(key=lambda shape: len(self._possible[shape]))
        places: dict[PodShape, list[int]] = {shape: [] for shape in shapes}
        for at, shape in enumerate(self._shapes):
            places[shape].append(at)
        return [at for them in places.values() for at in them]

    def _search(
        self, free_by_node: FreeByNode, neighbours: NeighbourChecks | None
    ) -> list[str] | None:
        """Return a node for each pod, in the order of placement."""
        names = sorted(free_by_node)
        nodes = {
            shape: [name for name in names if name in possible]
            for shape, possible in self._possible.items()
        }
        shapes = [self._shapes[at] for at in self._order]
        pods = [PodToPlace(shape[0], nodes[shape]) for shape in shapes]
        return PlacementSearch(pods, free_by_node, neighbours).find()

    def _find_with_neighbours(self, removed: Collection[RunningPod]) -> list[str] | None:
        """Do the same where each pod must be allowed beside those already placed."""
        if self._trials_left <= 0:
            return None
        state = self._context.state
        marks: list[Mark] = []

        def place(index: int, node: str) -> bool:
            if self._trials_left <= 0:
                return False
            self._trials_left -= 1
            mark = state.mark()
            if not self._place_if_allowed(self._pending_pods[self._order[index]], node):
                state.roll_back(mark)
                return False
            marks.append(mark)
            return True

        free_by_node = self._free_by_node_without(removed)
        with state.trial():
            self._stop([*removed, *self._terminating(free_by_node)])
            return self._search(
                free_by_node,
                NeighbourChecks(place, lambda: state.roll_back(marks.pop()), self._can_open_nodes),
            )

    def _place_if_allowed(self, pending: PendingPod, name: str) -> bool:
        """Start a pod on a node, if ports and affinity allow it there."""
        context = self._context
        expected = context.fit.expected(pending, name, self._keys)
        if context.node_filters.defect(pending, context.state.nodes[name], expected) is not None:
            return False
        context.state.apply(
            WorkloadStarted(
                workload=pending.workload.name,
                placements=(Placement(pending.pod, name),),
                at_ms=context.now_ms,
            )
        )
        return True

    def _stop(self, running: Iterable[RunningPod]) -> None:
        for candidate in dict.fromkeys(running):
            name, pod = candidate.key
            self._context.state.apply(WorkloadStopped(workload=name, pods=(pod,)))

    def _terminating(self, nodes: Iterable[str]) -> list[RunningPod]:
        """Return the terminating pods that count as gone from *nodes*."""
        if not self._after_termination:
            return []
        return [each for node in set(nodes) for each in self._context.running.terminating(node)]


def _total(pending_pods: Sequence[PendingPod]) -> list[int]:
    return [sum(amounts) for amounts in zip(*[each.requests for each in pending_pods], strict=True)]


def _shape(pending: PendingPod) -> PodShape:
    """Return everything that distinguishes one pod of a workload from another."""
    return (pending.requests, replace(pending.pod_set, name="", count=1, pod_ids=(), pod_names=()))
