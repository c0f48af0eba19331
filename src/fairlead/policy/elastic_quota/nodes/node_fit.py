"""Where a pod may start now, and what speaks against each node where it may not."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts
from fairlead.model.events import WorkloadStopped
from fairlead.model.node import Node
from fairlead.model.node_books import PodKey
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.placement.host_ports import port_room
from fairlead.placement.node_filters import node_defect
from fairlead.placement.pod_affinity import PodAffinity
from fairlead.placement.room_defect import POD_SLOTS, lack_text
from fairlead.placement.scored_nodes import ScoredNodes
from fairlead.policy.elastic_quota.nodes.running_pods import Holder
from fairlead.policy.elastic_quota.quota.nominations import Nominations
from fairlead.policy.elastic_quota.quota.pending_pod import Asker


class Surroundings:
    """Judges nodes of one state, through all its changes, and remembers what cannot change."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*."""
        self._state = state
        self._affinity = PodAffinity(state)
        self._defects: dict[PodConstraints, dict[str, tuple[Node, str | None]]] = {}

    def node_defect(self, asker: Asker, node: Node) -> str | None:
        """Return what the node itself has against the pod, which nobody's leaving cures."""
        constraints = asker.pod_set.constraints
        if constraints.held_nodes:  # for a short time, so it is not remembered
            return node_defect(node, constraints)
        known = self._defects.setdefault(constraints, {})
        entry = known.get(node.name)
        if entry is None or entry[0] is not node:
            entry = known[node.name] = (node, node_defect(node, constraints))
        return entry[1]

    def matter(self, asker: Asker) -> bool:
        """Return whether ports or the pods around can speak against a node."""
        around = self._affinity.around(asker.workload, asker.set_index)
        return bool(asker.pod_set.constraints.host_ports) or not around.allow_all

    def defect(self, asker: Asker, node: Node) -> str | None:
        """Return what ports or the pods that are around now have against the pod."""
        around = self._affinity.around(asker.workload, asker.set_index)
        if not around.allow_all:
            defect = around.defect(node)
            if defect is not None:
                return defect
            if not around.holds_now(node):
                return "wait for pods around to leave"
        ports = asker.pod_set.constraints.host_ports
        if ports and port_room(self._state, node.name, ports) != "free":
            return "have a host port taken"
        return None

    def defect_without(self, asker: Asker, node: Node, off: Sequence[Holder]) -> str | None:
        """Return the same as if *off* were gone. Cost: stops each of them, and undoes it."""
        with self._state.trial():
            for holder in off:
                name, pod = holder.key
                self._state.apply(WorkloadStopped(workload=name, pods=(pod,)))
            return self.defect(asker, node)


_Domains: TypeAlias = dict[str, dict[str | None, set[str]]]
"""By topology key and value of the label: the nodes to which pods are to come."""


class WaitingNeighbours:
    """Judges nodes by who is nominated, to them or near them."""

    def __init__(self, state: ClusterState, nominations: Nominations) -> None:
        """Follow *state* and *nominations*."""
        self._state: Final = state
        self._nominations: Final = nominations
        self._known: tuple[PodKey, int] | None = None  # whose domains, after how many changes
        self._found: _Domains = {}

    def matter(self, asker: Asker) -> bool:
        """Return whether those who wait can keep more than room from *asker*."""
        return bool(asker.pod_set.constraints.host_ports or self._domains_apart(asker))

    def defect(self, asker: Asker, name: str) -> str | None:
        """Return what those who go first have against *asker* on a node."""
        ports = asker.pod_set.constraints.host_ports
        for other in self._nominations.before(asker, name) if ports else ():
            if any(port in ports for port in other.pod_set.constraints.host_ports):
                return "have a host port promised"
        labels = self._state.nodes[name].labels
        for key, nodes_by_value in self._domains_apart(asker).items():
            nodes = nodes_by_value.get(labels.get(key))
            # The plugin's scheduler looks at pods that are to come to this node only.
            if nodes is not None and (self._nominations.keeps_promises or name in nodes):
                return f"are in one {key} with a pod to come that must be apart"
        return None

    def _domains_apart(self, asker: Asker) -> _Domains:
        """Return where those are to come from whom *asker* must be apart. Kept until a change."""
        known = (asker.key, self._nominations.changes)
        if self._known != known:
            found: _Domains = {}
            for other, node in self._nominations.that_may_repel(asker):
                for key in self._keys_apart(asker, other):
                    value = self._state.nodes[node].labels.get(key)
                    if value is not None:
                        found.setdefault(key, {}).setdefault(value, set()).add(node)
            self._known, self._found = known, found
        return self._found

    def _keys_apart(self, one: Asker, other: Asker) -> Iterator[str]:
        """Yield the topology keys by which one of two pods is not to be near the other."""
        for who, whom in ((one, other), (other, one)):
            namespace, labels = whom.workload.namespace, dict(whom.pod_set.labels)
            about = self._state.catalogue.namespace_labels(namespace)
            for term in who.pod_set.constraints.pod_anti_affinity:
                if term.matches(namespace, about, labels):
                    yield term.topology_key


class Places:
    """Finds nodes in one state, through all its changes."""

    def __init__(
        self,
        state: ClusterState,
        nominations: Nominations,
        surroundings: Surroundings,
        scored: ScoredNodes,
    ) -> None:
        """Leave to nominated pods that go first what they wait for."""
        self._state = state
        self._waiting = WaitingNeighbours(state, nominations)
        self._nominations = nominations
        self._surroundings = surroundings
        self._scored: Final = scored

    def find(self, asker: Asker) -> str | None:
        """Return the node where *asker* starts: its nominated one if it can, else the best."""
        own = self._nominations.node_of(asker.key)
        if own is not None and self.defect(asker, own) is None:
            return own
        for name in self._scored.best_first(asker.pod_set):
            if self.defect(asker, name) is None:
                return name
        return None

    def defect(self, asker: Asker, name: str) -> str | None:
        """Return what keeps *asker* from starting on a node; the text goes on after "3 nodes"."""
        node = self._state.nodes[name]
        defect = self._surroundings.node_defect(asker, node)
        if defect is not None:
            return defect
        return (
            self.room_defect(asker, name)
            or self.promised_defect(asker, name)
            or self._surroundings.defect(asker, node)
        )

    def neighbours_matter(self, asker: Asker) -> bool:
        """Return whether more than room and the node itself can speak against a node."""
        return self._surroundings.matter(asker) or self._waiting.matter(asker)

    def promised_defect(self, asker: Asker, name: str) -> str | None:
        """Return what pods that wait have against *asker* on a node, besides its room."""
        return self._waiting.defect(asker, name)

    def room_defect(self, asker: Asker, name: str) -> str | None:
        """Return what a node has too little of, with the nominated pods that come before."""
        free = self.free(asker, name)
        lacking = [
            "room for another pod" if resource == POD_SLOTS else resource
            for resource, need, there in zip(
                self._state.resources, asker.requests, free, strict=True
            )
            if need > 0 and need > there
        ]
        return lack_text(lacking) if lacking else None

    def free(self, asker: Asker, name: str, *, later: bool = False) -> Amounts:
        """Return what is free on a node for *asker*, now or once those have left who are leaving.

        It may be less than nothing, where a node lost something.
        """
        return self._free_beside(self._nominations.before(asker, name), name, later=later)

    def free_together(self, askers: Sequence[Asker], name: str, *, later: bool) -> Amounts:
        """Return the same for all of *askers*, which are to be on a node together."""
        return self._free_beside(self._nominations.before_any(askers, name), name, later=later)

    def _free_beside(self, promised: Iterable[Asker], name: str, *, later: bool) -> Amounts:
        books = self._state.books
        use, occupied = books.use(name), books.occupied(name)
        sizes = self._state.nodes[name].allocatable
        free = [a - o - h for a, o, h in zip(sizes, occupied.held, use.held, strict=True)]
        if later:
            released = zip(free, use.leaving, occupied.leaving, strict=True)
            free = [f + own + foreign for f, own, foreign in released]
        for other in promised:
            free = [f - need for f, need in zip(free, other.requests, strict=True)]
        return tuple(free)

    def could_ever_hold(self, asker: Asker, node: Node) -> bool:
        """Return whether the empty node would be enough."""
        pairs = zip(asker.requests, node.allocatable, strict=True)
        return all(need <= there for need, there in pairs if need > 0)
