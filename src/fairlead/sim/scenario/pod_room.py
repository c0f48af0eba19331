"""Whether nodes could hold a pod, or a gang, if they were empty: else its job waits for ever."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from fairlead.model.axes import Amounts
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.placement.node_filters import node_defect
from fairlead.sim.scenario.gang import Gang, amounts_text

WAITS: Final = "under rules that look at nodes it waits for ever"


class PodRoom:
    """All nodes that ever are, those alike once."""

    def __init__(self, nodes: Iterable[Node], state: ClusterState) -> None:
        """Take *nodes*, without what foreign pods of *state* hold there. Cost: linear in them."""
        self._resources = state.resources
        self._kinds: dict[tuple[object, ...], tuple[Node, Amounts]] = {}
        self._counts: Counter[tuple[object, ...]] = Counter()
        for node in nodes:
            labels = tuple(sorted(node.labels.items()))
            offer = state.books.offered(node)
            kind = offer, labels, node.taints, node.ready, node.cordoned
            self._kinds.setdefault(kind, (node, offer))
            self._counts[kind] += 1

    def pod_lack(self, gang: Gang) -> str | None:
        """Return why no node holds one of the pods, in words that follow "found"; None if one does.

        Cost: the kinds of nodes.
        """
        offers = self._offers(gang.node_labels)
        labels, requests = gang.node_labels, gang.requests
        if not offers:
            told = f"labels {_listed(labels)}" if labels else "no taint"
            return f"a pod for nodes with {told}, of which none takes it"
        if any(self._holds(offer, requests) for offer, _ in offers):
            return None
        columns = zip(*(offer for offer, _ in offers), strict=True)
        most = dict(zip(self._resources, map(max, columns), strict=True))
        short = {
            name: most.get(name, 0)
            for name, amount in requests.items()
            if amount > most.get(name, 0)
        }
        if not short:
            return f"a pod of {amounts_text(requests)}, which no node has together"
        asked = {name: requests[name] for name in short}
        return f"a pod of {amounts_text(asked)}, where no node has more than {amounts_text(short)}"

    def gang_lack(self, gang: Gang) -> str | None:
        """Return why all nodes together do not hold *gang*, as `pod_lack` does of a pod.

        As its pods are alike, it is enough to count how many of them each node holds. Cost: the
        kinds of nodes.
        """
        asked = [(at, gang.requests.get(name, 0)) for at, name in enumerate(self._resources)]
        held = 0
        for offer, count in self._offers(gang.node_labels):
            on_each = min(
                (offer[at] // amount for at, amount in asked if amount), default=gang.pods
            )
            held += max(0, on_each) * count
        if held >= gang.pods:
            return None
        told = f"{gang} of {amounts_text(gang.requests)} each"
        return f"{told}, of which all nodes together hold no more than {held:,}"

    def _offers(self, labels: Mapping[str, str]) -> list[tuple[Amounts, int]]:
        """Return what nodes that take such pods have, and how many have that."""
        constraints = PodConstraints(node_selector=tuple(sorted(labels.items())))
        return [
            (offer, self._counts[kind])
            for kind, (node, offer) in self._kinds.items()
            if node_defect(node, constraints) is None
        ]

    def _holds(self, offer: Amounts, requests: Mapping[str, int]) -> bool:
        has = zip(self._resources, offer, strict=True)
        return all(requests.get(name, 0) <= amount for name, amount in has)


def _listed(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items())
