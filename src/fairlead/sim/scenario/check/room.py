"""Whether a gang could ever run: nodes that hold it, and a queue that may."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.manifest.text.path import quote
from fairlead.model.axes import Amounts
from fairlead.model.node import Node
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.placement.node_filters import node_defect
from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.rule_set import RuleSet


class Gang(NamedTuple):
    """So many pods that are alike; without them all their job does not begin."""

    requests: Mapping[str, int]  # of each pod
    pods: int = 1
    node_labels: Mapping[str, str] = {}
    is_drawn: bool = False  # then there are no more pods than that
    preemptible: bool = True

    def __str__(self) -> str:
        up_to = "up to " if self.is_drawn else ""
        return "a pod" if self.pods == 1 else f"a gang of {up_to}{self.pods:,} pods"

    def together(self) -> dict[str, int]:
        """Return what all pods ask for."""
        return {name: amount * self.pods for name, amount in self.requests.items()}


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Write *amounts* in base units for people: ``cpu 2, memory 4Gi``."""
    return ", ".join(f"{name} {show_amount(name, amount)}" for name, amount in amounts.items())


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
            found = f"labels {_listed(labels)}" if labels else "no taint"
            return f"a pod for nodes with {found}, of which none takes it"
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
        found = f"{gang} of {amounts_text(gang.requests)} each"
        return f"{found}, of which all nodes together hold no more than {held:,}"

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


class QueueRoom:
    """All queues under one rule set."""

    def __init__(self, state: ClusterState, rule_set: RuleSet) -> None:
        """Take the queues of *state*. Cost: linear in them."""
        self._bounds = rule_set.queue_bounds(state)
        self._keeps_jobs = rule_set.keeps_non_preemptible
        self._most: dict[tuple[str, str, bool], int | None] = {}

    def lack(self, queue: str, gang: Gang) -> str | None:
        """Return why *queue* never holds *gang*, in words that follow "found"; None if it may.

        Cost: the levels above the queue, once for each of its resources.
        """
        is_kept = self._keeps_jobs and not gang.preemptible
        asked, most = {}, {}
        for resource, amount in gang.together().items():
            bound = self._most_of(queue, resource, is_kept)
            if bound is not None and amount > bound:
                asked[resource], most[resource] = amount, bound
        if not asked:
            return None
        found = f"{gang} {'of' if gang.pods == 1 else 'with'} {amounts_text(asked)}"
        together = "" if gang.pods == 1 else " together"
        bounded = f"queue {quote(queue)} may hold no more than {amounts_text(most)}"
        kept = " in jobs that are not preemptible" if is_kept else ""
        return f"{found}{together}, where {bounded}{kept}"

    def _most_of(self, queue: str, resource: str, is_kept: bool) -> int | None:
        key = queue, resource, is_kept
        if key not in self._most:
            self._most[key] = self._bounds.most(queue, resource, preemptible=not is_kept)
        return self._most[key]


Kind: TypeAlias = Literal["pod", "gang", "queue"]
"""What is too large: a pod for each node, a gang for all of them, or a gang for its queue."""


class Lack(NamedTuple):
    """Why a gang waits for ever: ``what`` follows "found", ``waits`` says under which rules."""

    kind: Kind
    what: str
    waits: str


class Room(NamedTuple):
    """What bounds gangs; without ``nodes`` none do, and ``queues`` are by rule set."""

    nodes: PodRoom | None
    queues: Mapping[PolicyName, QueueRoom]

    def lacks(self, gang: Gang, queues: Sequence[str]) -> Iterator[Lack]:
        """Yield what keeps *gang* from running for ever, of nodes and of *queues*.

        Only the first queue that is too small is reported. Rule sets with the same finding share
        one.
        """
        if self.nodes is not None:
            of_pod = self.nodes.pod_lack(gang)
            if of_pod is not None:
                yield Lack("pod", of_pod, WAITS)
            elif (of_gang := self.nodes.gang_lack(gang)) is not None:
                yield Lack("gang", of_gang, WAITS)
        under: dict[str, list[str]] = {}
        for policy, room in self.queues.items():
            lacks = (room.lack(queue, gang) for queue in queues)
            first = next((lack for lack in lacks if lack is not None), None)
            if first is not None:
                under.setdefault(first, []).append(policy)
        for lack, policies in under.items():
            yield Lack("queue", lack, f"under {', '.join(policies)} it waits for ever")
