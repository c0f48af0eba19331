"""What pods that wait for a node keep from others besides its room: ports, and who may be near.

A pod that starts where one is about to come that it must be kept apart from would make that one
wait for ever, or evict again.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.nominations import Nominations

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
