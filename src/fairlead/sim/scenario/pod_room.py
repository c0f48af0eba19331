"""Whether some node could hold a pod if it were empty: else its job waits for ever."""

from collections.abc import Iterable, Mapping
from typing import Final

from fairlead.model.axes import Amounts
from fairlead.model.node import Node
from fairlead.model.quantity import show_amount
from fairlead.model.workload import PodConstraints
from fairlead.placement.node_filters import node_defect

WAITS: Final = "under rules that look at nodes it waits for ever"


class PodRoom:
    """All nodes that ever are, those alike once."""

    def __init__(self, nodes: Iterable[Node], resources: tuple[str, ...]) -> None:
        """Take *nodes* whose amounts are on *resources*. Cost: linear in them."""
        self._resources = resources
        self._kinds: dict[tuple[object, ...], Node] = {}
        for node in nodes:
            labels = tuple(sorted(node.labels.items()))
            kind = node.offered(), labels, node.taints, node.ready, node.cordoned
            self._kinds.setdefault(kind, node)

    def lack(self, requests: Mapping[str, int], labels: Mapping[str, str]) -> str | None:
        """Return why no node holds such a pod, in words that follow "found"; None if one does.

        Cost: the kinds of nodes.
        """
        constraints = PodConstraints(node_selector=tuple(sorted(labels.items())))
        nodes = [each for each in self._kinds.values() if node_defect(each, constraints) is None]
        if not nodes:
            told = f"labels {_listed(labels, '=')}" if labels else "no taint"
            return f"a pod for nodes with {told}, of which none takes it"
        offers = [each.offered() for each in nodes]
        if any(self._holds(offer, requests) for offer in offers):
            return None
        most = dict(zip(self._resources, map(max, zip(*offers, strict=True)), strict=True))
        short = {
            name: most.get(name, 0)
            for name, amount in requests.items()
            if amount > most.get(name, 0)
        }
        if not short:
            return f"a pod of {self._amounts(requests)}, which no node has together"
        asked = {name: requests[name] for name in short}
        return (
            f"a pod of {self._amounts(asked)}, where no node has more than {self._amounts(short)}"
        )

    def _holds(self, offer: Amounts, requests: Mapping[str, int]) -> bool:
        has = zip(self._resources, offer, strict=True)
        return all(requests.get(name, 0) <= amount for name, amount in has)

    def _amounts(self, amounts: Mapping[str, int]) -> str:
        shown = {name: show_amount(name, amount) for name, amount in amounts.items()}
        return _listed(shown, " ")


def _listed(texts: Mapping[str, str], between: str) -> str:
    return ", ".join(f"{name}{between}{text}" for name, text in texts.items())
