"""What beside room lets a pod be on a node: the node's own rules, host ports, the pods around."""

from collections.abc import Sequence

from fairlead.model.events import WorkloadStopped
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.placement.host_ports import port_room
from fairlead.placement.node_filters import node_defect
from fairlead.placement.pod_affinity import PodAffinity
from fairlead.policy.elastic_quota.nodes.holders import Holder
from fairlead.policy.elastic_quota.quota.asker import Asker


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
