"""On which nodes topology spread constraints allow one more pod, as the default scheduler says.

The pods that a constraint selects in the pod's own namespace are counted in each domain: the nodes
with one value of the topology key. One more pod may go where the count, and one if the pod itself
is selected, exceeds the smallest count of a domain by `max_skew` at most; with fewer domains than
`min_domains` the smallest count is 0. Only nodes that have the keys of all constraints of the pod
make a domain, and only those that its node selector and node affinity allow, unless the policy of
the constraint is to ignore these. With the other policy taints that it does not tolerate count,
too.

Terminating pods are not counted, and pods of other schedulers are. As for affinity there are two
times: *now* only pods that run are counted, *later* those with a reservation as well. A selector
without conditions counts no pod, as in Kubernetes.

The counts are kept, and the change log of the books lists the nodes to count again. While no pod
with such a constraint is looked at, nothing is counted.
"""

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.node import Node
from fairlead.model.plan import Tally
from fairlead.model.selector import PodSpread
from fairlead.model.state import ClusterState, pods_on_node
from fairlead.model.workload import PodConstraints, Workload
from fairlead.placement.node_filters import suits_affinity, tolerates_taints

GROUPS_KEPT: Final = 64

Labels: TypeAlias = tuple[tuple[str, str], ...]


class ExpectedPod(NamedTuple):
    """A pod of the same namespace that counts as if it were on its node already."""

    node: str
    labels: Labels


class SpreadLimit(NamedTuple):
    """How one constraint judges domains: by the pods that they have now and later."""

    spread: PodSpread
    domains: "_Domains"
    counts_itself: bool

    def value(self, node: Node) -> str | None:
        """Return the domain of *node*; None: it lacks the label."""
        return node.labels.get(self.spread.topology_key)

    def pods(self, value: str) -> int:
        """Return how many matching pods a domain has later."""
        return self.domains.pods(value, now=False)

    def exceeds(self, value: str, *, now: bool) -> bool:
        """Return whether one more pod in a domain would exceed the skew."""
        pods = self.domains.pods(value, now=now)
        return pods + self.counts_itself - self.fewest(now=now) > self.spread.max_skew

    def fewest(self, *, now: bool) -> int:
        """Return the smallest count of a domain, 0 with fewer domains than there must be."""
        is_short = len(self.domains.nodes) < self.spread.min_domains
        return 0 if is_short else self.domains.fewest(now=now)

    def tally(self) -> Tally | None:
        """Return how many domains would exceed the skew later, and the fullest; None if none."""
        crowded = [
            (-self.domains.pods(value, now=False), value)
            for value in self.domains.nodes
            if self.exceeds(value, now=False)
        ]
        if not crowded:
            return None
        negative, fullest = min(crowded)
        of, least = len(self.domains.nodes), self.spread.min_domains
        short = f" because {of} of {least} domains exist" if of < least else ""
        matching = "matching pod" if negative == -1 else "matching pods"
        return Tally(
            count=len(crowded),
            of=of,
            things=f"{self.spread.topology_key.rpartition('/')[2]}s",
            what=f"would exceed maxSkew {self.spread.max_skew}: "
            f"{fullest} has {-negative} {matching}, fewest {self.fewest(now=False)}{short}",
        )


class SpreadLimits:
    """What the constraints of one pod allow; valid until the state changes."""

    __slots__ = ("_limits",)

    def __init__(self, limits: Sequence[SpreadLimit]) -> None:
        """Judge by all of *limits*."""
        self._limits = limits

    def defect(self, node: Node) -> str | None:
        """Return why one more pod may not be on *node* later; None: it may.

        The text follows "3 of 8 nodes". Cost: a look-up for each constraint.
        """
        for limit in self._limits:
            key, value = limit.spread.topology_key, limit.value(node)
            if value is None:
                return f"lack the label {key} of the topology spread"
            if limit.exceeds(value, now=False):
                return f"would exceed maxSkew {limit.spread.max_skew} of {key}"
        return None

    def holds_now(self, node: Node) -> bool:
        """Return whether the pods that run now allow one more pod on *node*."""
        values = [limit.value(node) for limit in self._limits]
        return all(
            value is not None and not limit.exceeds(value, now=True)
            for limit, value in zip(self._limits, values, strict=True)
        )

    def tallies(self) -> tuple[Tally, ...]:
        """Return for each constraint how many domains would exceed the skew. Cost: the domains."""
        found = [limit.tally() for limit in self._limits]
        return tuple([each for each in found if each is not None])


class _Share(NamedTuple):
    """What one node adds to a domain: the pods that match, now and later."""

    value: str
    now: int
    later: int


class _Domains:
    """The domains of one constraint: how many nodes and matching pods each has."""

    __slots__ = ("_fewest", "_later", "_now", "nodes")

    def __init__(self) -> None:
        """Start without domains."""
        self.nodes: dict[str, int] = {}  # none with 0
        self._now: dict[str, int] = {}
        self._later: dict[str, int] = {}
        self._fewest: tuple[int, int] | None = None  # now and later; None: not known

    def pods(self, value: str, *, now: bool) -> int:
        return (self._now if now else self._later).get(value, 0)

    def fewest(self, *, now: bool) -> int:
        if self._fewest is None:
            counts = (self._now.values(), self._later.values())
            self._fewest = (min(counts[0], default=0), min(counts[1], default=0))
        return self._fewest[0 if now else 1]

    def copy(self) -> "_Domains":
        found = _Domains()
        found.nodes, found._now, found._later = dict(self.nodes), dict(self._now), dict(self._later)
        return found

    def count(self, value: str) -> None:
        """Count one more pod in a domain that is known."""
        self._now[value] += 1
        self._later[value] += 1
        self._fewest = None

    def add(self, share: _Share) -> None:
        value = share.value
        self.nodes[value] = self.nodes.get(value, 0) + 1
        self._now[value] = self._now.get(value, 0) + share.now
        self._later[value] = self._later.get(value, 0) + share.later
        self._fewest = None

    def remove(self, share: _Share) -> None:
        value = share.value
        self.nodes[value] -= 1
        self._now[value] -= share.now
        self._later[value] -= share.later
        if not self.nodes[value]:
            del self.nodes[value], self._now[value], self._later[value]
        self._fewest = None


class _Group:
    """What the constraints of some pods count, as of one moment of the change log."""

    def __init__(
        self, namespace: str, spreads: tuple[PodSpread, ...], where: PodConstraints
    ) -> None:
        """Start before the first node."""
        self.namespace = namespace
        self.spreads = spreads
        self.where = where
        self.domains = [_Domains() for _ in spreads]
        self.on_node: dict[str, tuple[_Share | None, ...]] = {}
        self.read_at = 0
        self._matching: dict[Labels, tuple[bool, ...]] = {}

    def matching(self, labels: Labels) -> tuple[bool, ...]:
        """Return for each constraint whether it counts a pod with *labels*."""
        known = self._matching.get(labels)
        if known is None:
            of_pod = dict(labels)
            known = self._matching[labels] = tuple([each.counts(of_pod) for each in self.spreads])
        return known

    def domains_with(self, expected: Collection[ExpectedPod]) -> list["_Domains"]:
        """Return the domains of each constraint as if the *expected* pods were there."""
        found = [each.copy() for each in self.domains]
        for pod in expected:
            is_counted = self.matching(pod.labels)
            for at, share in enumerate(self.on_node.get(pod.node, ())):
                if share is not None and is_counted[at]:
                    found[at].count(share.value)
        return found

    def read(self, state: ClusterState, name: str) -> None:
        """Bring the counts up to date with a node. Cost: the pods on it."""
        before = self.on_node.pop(name, ())
        for domains, share in zip(self.domains, before, strict=False):
            if share is not None:
                domains.remove(share)
        node = state.nodes.get(name)
        keys = [each.topology_key for each in self.spreads]
        if node is None or not all(key in node.labels for key in keys):
            return
        shares = self.on_node[name] = self._shares(state, node)
        for domains, share in zip(self.domains, shares, strict=True):
            if share is not None:
                domains.add(share)

    def _shares(self, state: ClusterState, node: Node) -> tuple[_Share | None, ...]:
        now, later = [0] * len(self.spreads), [0] * len(self.spreads)
        for labels, is_reserved in _pods_of(state, node.name, self.namespace):
            for at, is_counted in enumerate(self.matching(labels)):
                later[at] += is_counted
                now[at] += is_counted and not is_reserved
        return tuple(
            [
                _Share(node.labels[spread.topology_key], *counts)
                if _makes_domain(node, spread, self.where)
                else None
                for spread, *counts in zip(self.spreads, now, later, strict=True)
            ]
        )


class SpreadCounts:
    """Judges spread constraints in one state, through all its changes."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*; nothing is counted yet."""
        self._state = state
        self._groups: dict[Hashable, _Group] = {}

    def limits(
        self,
        workload: Workload,
        pod_set: int,
        spreads: tuple[PodSpread, ...],
        expected: Collection[ExpectedPod] = (),
    ) -> tuple[SpreadLimit, ...]:
        """Return how *spreads* of one more pod of a pod set of *workload* judge domains.

        The pods that are *expected* are counted, too. Law: equal to counting all pods. Cost: the
        pods on nodes that changed since the last call for a pod with the same namespace and
        constraints; with expected pods, the domains.
        """
        asked = workload.pod_sets[pod_set]
        where = asked.constraints
        key = (
            workload.namespace,
            spreads,
            where.node_selector,
            where.node_terms,
            where.tolerations,
        )
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= GROUPS_KEPT:
                self._groups.clear()
            group = self._groups[key] = _Group(workload.namespace, spreads, where)
        changes = self._state.books.changes
        if group.read_at != changes.moment:
            for name in changes.since(group.read_at):
                group.read(self._state, name)
            group.read_at = changes.moment
        domains = group.domains_with(expected) if expected else group.domains
        return tuple(map(SpreadLimit, spreads, domains, group.matching(asked.labels)))


def _makes_domain(node: Node, spread: PodSpread, where: PodConstraints) -> bool:
    """Return whether the pods on a node with all keys are counted for a constraint."""
    if spread.honors_affinity and not suits_affinity(node, where):
        return False
    return not spread.honors_taints or tolerates_taints(node, where)


def _pods_of(state: ClusterState, node: str, namespace: str) -> Iterator[tuple[Labels, bool]]:
    """Yield the labels of each pod of *namespace* that stays, and whether it has a reservation."""
    for (name, pod), is_leaving in pods_on_node(state, node):
        workload = state.workloads[name]
        if not is_leaving and workload.namespace == namespace:
            is_reserved = state.runs[name].pods[pod].phase == "reserved"
            yield workload.pod_sets.of(pod).labels, is_reserved
    for foreign in state.books.asked_about(node):
        if not foreign.leaving and foreign.namespace == namespace:
            yield foreign.labels, False
