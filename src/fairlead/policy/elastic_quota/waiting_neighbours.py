"""What pods that wait for a node keep from others besides its room: ports, and who may be near.

A pod that starts where one is about to come that it must be kept apart from would make that one
wait for ever, or evict again.
"""

from collections.abc import Iterator
from typing import Final

from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.nominations import Nominations


class WaitingNeighbours:
    """Judges nodes by who is nominated, to them or near them."""

    def __init__(self, state: ClusterState, nominations: Nominations) -> None:
        """Follow *state* and *nominations*."""
        self._state: Final = state
        self._nominations: Final = nominations

    def matter(self, asker: Asker) -> bool:
        """Return whether those who wait can keep more than room from *asker*."""
        own = asker.pod_set.constraints
        has_own = own.host_ports or own.pod_anti_affinity
        return bool(has_own) or self._nominations.some_keep_others_away()

    def defect(self, asker: Asker, name: str) -> str | None:
        """Return what those who go first have against *asker* on a node."""
        if not self.matter(asker):
            return None
        ports = asker.pod_set.constraints.host_ports
        for other in self._nominations.before(asker, name):
            if any(port in ports for port in other.pod_set.constraints.host_ports):
                return "have a host port promised"
        for other, node in self._nominations.before_around(asker, name):
            for key in self._keys_apart(asker, other):
                if self._is_in_one_domain(key, name, node):
                    return f"are in one {key} with a pod to come that must be apart"
        return None

    def _keys_apart(self, one: Asker, other: Asker) -> Iterator[str]:
        """Yield the topology keys by which one of two pods is not to be near the other."""
        for who, whom in ((one, other), (other, one)):
            namespace, labels = whom.workload.namespace, dict(whom.pod_set.labels)
            about = self._state.catalogue.namespace_labels(namespace)
            for term in who.pod_set.constraints.pod_anti_affinity:
                if term.matches(namespace, about, labels):
                    yield term.topology_key

    def _is_in_one_domain(self, key: str, one: str, other: str) -> bool:
        nodes = self._state.nodes
        value = nodes[one].labels.get(key)
        return value is not None and value == nodes[other].labels.get(key)
