"""The nodes where a pod may start now, and what rules out each of the others.

Three things can rule out a node: the node itself (labels, taints, readiness), its free capacity,
and other pods (host ports, affinity and anti-affinity). Nominated pods count as if they were there:
a pod that started where one is about to come that must be kept apart from it would make the
nominated pod wait for ever, or preempt again.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts
from fairlead.model.events import WorkloadStopped
from fairlead.model.node import Node
from fairlead.model.plan import Tally
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey, Preferences
from fairlead.placement.host_ports import port_room
from fairlead.placement.node_filters import node_defect
from fairlead.placement.pod_affinity import PodAffinity
from fairlead.placement.pod_spread import ExpectedPod, SpreadLimit
from fairlead.placement.preference_points import preference_points
from fairlead.placement.room_defect import POD_SLOTS, lack_text
from fairlead.placement.scored_nodes import WHOLE_POINT, ScoredNodes
from fairlead.placement.volume_use import VolumeUse
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.quota.nominations import Nominations
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod


class NodeFilters:
    """Checks nodes of one state against a pod's constraints."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state* through its changes."""
        self._state = state
        self._affinity = PodAffinity(state)
        self._volume_use = VolumeUse(state)

    def node_defect(self, pending: PendingPod, node: Node) -> str | None:
        """Return why the node itself rules out the pod; None: it does not."""
        return node_defect(node, pending.pod_set.constraints)

    def apply_to(self, pending: PendingPod) -> bool:
        """Return whether host ports, volumes or other pods can rule out a node for the pod."""
        around = self._affinity.around(pending.workload, pending.set_index)
        where = pending.pod_set.constraints
        meets_pods = where.volumes is not None and where.volumes.meets_pods
        return meets_pods or bool(where.host_ports) or not around.allow_all

    def defect(
        self, pending: PendingPod, node: Node, expected: Collection[ExpectedPod] = ()
    ) -> str | None:
        """Return why host ports, volumes or pods there rule out the node; None: they do not.

        The pods that are *expected* count for the topology spread. As for the default scheduler, it
        must hold with them and without.
        """
        around = self._affinity.around(pending.workload, pending.set_index)
        if not around.allow_all:
            defect = around.defect(node)
            if defect is not None:
                return defect
            if not around.holds_now(node):
                return "wait for other pods to terminate"
        if expected:
            limits = self._affinity.spread_with(pending.workload, pending.set_index, expected)
            defect = limits.defect(node)
            if defect is not None:
                return f"{defect} with nominated pods"
        ports = pending.pod_set.constraints.host_ports
        if ports and port_room(self._state, node.name, ports) != "free":
            return "have a host port taken"
        volumes = pending.pod_set.constraints.volumes
        if volumes is None or not volumes.meets_pods:
            return None
        defect = self._volume_use.defect(node, volumes)
        if defect is None and not self._volume_use.is_free_now(node, volumes):
            return "wait for other pods to terminate"
        return defect

    def preferred_spread(self, pending: PendingPod) -> tuple[SpreadLimit, ...]:
        """Return the counts for the spread constraints that the pod only prefers."""
        return self._affinity.preferred_spread(pending.workload, pending.set_index)

    def domain_tallies(self, pending: PendingPod) -> tuple[Tally, ...]:
        """Return how many domains would exceed the skew of each spread constraint of the pod."""
        return self._affinity.around(pending.workload, pending.set_index).domain_tallies()

    def defect_without(
        self,
        pending: PendingPod,
        node: Node,
        removed: Sequence[RunningPod],
        expected: Collection[ExpectedPod],
    ) -> str | None:
        """Return the same as if *removed* were gone. Cost: a trial that stops each of them."""
        with self._state.trial():
            for running_pod in removed:
                name, pod = running_pod.key
                self._state.apply(WorkloadStopped(workload=name, pods=(pod,)))
            return self.defect(pending, node, expected)


_Domains: TypeAlias = dict[str, dict[str | None, set[str]]]
"""By topology key and label value: the nodes to which pods are nominated."""


class NominatedNeighbours:
    """Checks nodes against the host ports and anti-affinity of nominated pods."""

    def __init__(self, state: ClusterState, nominations: Nominations) -> None:
        """Follow *state* and *nominations*."""
        self._state: Final = state
        self._nominations: Final = nominations
        self._known: tuple[PodKey, int] | None = (
            None  # the pod, and the count of changes, of the cached domains
        )
        self._found: _Domains = {}

    def apply_to(self, pending: PendingPod) -> bool:
        """Return whether nominated pods can rule out a node for more than its capacity."""
        return bool(pending.pod_set.constraints.host_ports or self._anti_affinity_domains(pending))

    def defect(self, pending: PendingPod, name: str) -> str | None:
        """Return why nominated pods ahead of *pending* rule out a node; None: they do not."""
        ports = pending.pod_set.constraints.host_ports
        for other in self._nominations.ahead_of(pending, name) if ports else ():
            if any(port in ports for port in other.pod_set.constraints.host_ports):
                return "have a host port reserved for a nominated pod"
        labels = self._state.nodes[name].labels
        for key, nodes_by_value in self._anti_affinity_domains(pending).items():
            nodes = nodes_by_value.get(labels.get(key))
            # The plugin's scheduler checks only pods that are nominated to this very node.
            if nodes is not None and (self._nominations.honors_nominations or name in nodes):
                return f"share {key} with a nominated pod that must be kept apart"
        return None

    def expected(
        self, pending: PendingPod, name: str, besides: Container[PodKey] = ()
    ) -> tuple[ExpectedPod, ...]:
        """Return the nominated pods ahead of *pending* that its spread counts, for one node.

        Those *besides* are left out. The plugin's scheduler counts only pods that are nominated to
        the node itself. Cost: nothing without spread constraints, else the nominations.
        """
        spreads = pending.pod_set.constraints.spread
        if not spreads:
            return ()
        return tuple(
            [
                ExpectedPod(node, other.pod_set.labels)
                for other, node in self._nominations.all_ahead_of(pending)
                if node == name or self._nominations.honors_nominations
                if other.workload.namespace == pending.workload.namespace
                if other.key not in besides
                if any(each.counts(dict(other.pod_set.labels)) for each in spreads)
            ]
        )

    def _anti_affinity_domains(self, pending: PendingPod) -> _Domains:
        """Return the domains that nominated pods close to *pending*; cached until a change."""
        known = (pending.key, self._nominations.changes)
        if self._known != known:
            found: _Domains = {}
            for other, node in self._nominations.with_anti_affinity(pending):
                for key in self._anti_affinity_keys(pending, other):
                    value = self._state.nodes[node].labels.get(key)
                    if value is not None:
                        found.setdefault(key, {}).setdefault(value, set()).add(node)
            self._known, self._found = known, found
        return self._found

    def _anti_affinity_keys(self, one: PendingPod, other: PendingPod) -> Iterator[str]:
        """Yield the topology keys on which anti-affinity keeps two pods apart."""
        for owner, target in ((one, other), (other, one)):
            namespace, labels = target.workload.namespace, dict(target.pod_set.labels)
            about = self._state.catalogue.namespace_labels(namespace)
            for term in owner.pod_set.constraints.pod_anti_affinity:
                if term.matches(namespace, about, labels):
                    yield term.topology_key


class NodeFit:
    """Finds nodes for pending pods in one state, through all its changes."""

    def __init__(
        self,
        state: ClusterState,
        nominations: Nominations,
        node_filters: NodeFilters,
        scored: ScoredNodes,
    ) -> None:
        """Count nominated pods that are ahead of a pending pod as if they were on their nodes."""
        self._state = state
        self._waiting = NominatedNeighbours(state, nominations)
        self._nominations = nominations
        self._node_filters = node_filters
        self._scored: Final = scored

    def find(self, pending: PendingPod) -> str | None:
        """Return the node where *pending* starts: its nominated node if possible, else the best."""
        own = self._nominations.node_of(pending.key)
        if own is not None and self.defect(pending, own) is None:
            return own
        preferences = pending.pod_set.constraints.preferences
        if preferences is not None:
            return self._most_preferred(pending, preferences)
        for name in self._scored.best_first(pending.pod_set):
            if self.defect(pending, name) is None:
                return name
        return None

    def _most_preferred(self, pending: PendingPod, preferences: Preferences) -> str | None:
        """Return the best node by the scores for its load and for *preferences* together.

        Cost: a check of each node that has room.
        """
        fitting = [
            (number, name)
            for number, name in self._scored.ranked(pending.pod_set)
            if self.defect(pending, name) is None
        ]
        nodes = [self._state.nodes[name] for _, name in fitting]
        more = preference_points(nodes, preferences, self._node_filters.preferred_spread(pending))
        ranks = [
            (number - points * WHOLE_POINT, name)
            for (number, name), points in zip(fitting, more, strict=True)
        ]
        return min(ranks)[1] if ranks else None

    def defect(self, pending: PendingPod, name: str) -> str | None:
        """Return why *pending* cannot start on a node, worded to follow "3 nodes"; None: it can."""
        node = self._state.nodes[name]
        defect = self._node_filters.node_defect(pending, node)
        if defect is not None:
            return defect
        return (
            self.room_defect(pending, name)
            or self.nominated_defect(pending, name)
            or self._node_filters.defect(pending, node, self.expected(pending, name))
        )

    def depends_on_other_pods(self, pending: PendingPod) -> bool:
        """Return whether more than the node and its capacity can rule it out for *pending*."""
        return self._node_filters.apply_to(pending) or self._waiting.apply_to(pending)

    def expected(
        self, pending: PendingPod, name: str, besides: Container[PodKey] = ()
    ) -> tuple[ExpectedPod, ...]:
        """Return the nominated pods that the topology spread of *pending* counts on a node."""
        return self._waiting.expected(pending, name, besides)

    def nominated_defect(self, pending: PendingPod, name: str) -> str | None:
        """Return why nominated pods rule out a node besides its capacity; None: they do not."""
        return self._waiting.defect(pending, name)

    def room_defect(self, pending: PendingPod, name: str) -> str | None:
        """Return which resources are short on a node, after the nominated pods that are ahead."""
        free = self.free(pending, name)
        lacking = [
            "room for another pod" if resource == POD_SLOTS else resource
            for resource, need, there in zip(
                self._state.resources, pending.requests, free, strict=True
            )
            if need > 0 and need > there
        ]
        return lack_text(lacking) if lacking else None

    def free(self, pending: PendingPod, name: str, *, after_termination: bool = False) -> Amounts:
        """Return the free capacity of a node for *pending*, now or *after_termination*.

        It can be negative, if a node lost capacity.
        """
        return self._free_less(
            self._nominations.ahead_of(pending, name), name, after_termination=after_termination
        )

    def free_together(
        self, pending_pods: Sequence[PendingPod], name: str, *, after_termination: bool
    ) -> Amounts:
        """Return the same for all of *pending_pods*, which are to be on the node together."""
        return self._free_less(
            self._nominations.ahead_of_any(pending_pods, name),
            name,
            after_termination=after_termination,
        )

    def _free_less(
        self, nominated: Iterable[PendingPod], name: str, *, after_termination: bool
    ) -> Amounts:
        node_books = self._state.books
        use, occupied = node_books.use(name), node_books.occupied(name)
        sizes = self._state.nodes[name].allocatable
        free = [a - o - h for a, o, h in zip(sizes, occupied.held, use.held, strict=True)]
        if after_termination:
            released = zip(free, use.leaving, occupied.leaving, strict=True)
            free = [f + own + foreign for f, own, foreign in released]
        for other in nominated:
            free = [f - need for f, need in zip(free, other.requests, strict=True)]
        return tuple(free)

    def fits_empty_node(self, pending: PendingPod, node: Node) -> bool:
        """Return whether the node would have enough capacity if it were empty."""
        pairs = zip(pending.requests, node.allocatable, strict=True)
        return all(need <= there for need, there in pairs if need > 0)
