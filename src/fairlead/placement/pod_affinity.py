"""On which nodes other pods allow a pod: pod affinity, anti-affinity and topology spread.

As in Kubernetes. The labels of a node say in which domains it is. A pod with affinity needs, for
each of its terms, a pod in the node's domain that *all* of its terms match; if there is no such pod
in any domain and the terms match the pod itself, it is the first one and needs only a node with
those labels. A pod with anti-affinity needs a domain without a pod that the term matches, and keeps
such pods away once it is there, whatever their own terms. A node without the label is in no domain,
so it fails every affinity and passes every anti-affinity. Topology spread has a module of its own.

Like room, this is evaluated at two times. *Now* all running pods count, of any scheduler, and
terminating ones too. *Later* the pods that stay and those with a reservation count. So no pod is
started beside one that is still to come, or reserved a place beside one that will be gone; and a
pod that must keep away from a terminating one waits until that is gone.

Examining every placed pod for each pending one would be too slow, so the pods in each domain are
counted, and the change log of the books lists the nodes to count again. While nothing is asked and
no placed pod repels others, nothing is counted. Pods that no term distinguishes are one kind. A
term is matched with kinds and not with pods, once with each kind, and only with kinds that have a
label that the term requires, if it requires one. Pods of other schedulers belong to the same kinds:
they change with their node.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import WorkloadName
from fairlead.model.node import ForeignPod, Node
from fairlead.model.plan import Tally
from fairlead.model.run import Phase
from fairlead.model.selector import PodTerm
from fairlead.model.state import ClusterState, pods_on_node
from fairlead.model.workload import Workload
from fairlead.placement.pod_spread import ExpectedPod, SpreadCounts, SpreadLimit, SpreadLimits

Domain: TypeAlias = tuple[str, str]
"""A node label that is a topology key, and its value."""

_Label: TypeAlias = tuple[str, str]

_SPARE: Final = 1000  # how much may be kept needlessly before everything is counted again


class _TwoTimes(NamedTuple):
    """How many pods there are at each of the two times."""

    now: int
    later: int


class _DomainCounts:
    """How many pods there are in each domain of *keys*, at one time."""

    __slots__ = ("domains", "keys")

    def __init__(self, keys: tuple[str, ...]) -> None:
        """Start with no pod."""
        self.keys = keys
        self.domains: dict[Domain, int] = {}  # none with 0

    def add(self, labels: Mapping[str, str], count: int) -> None:
        """Count pods on a node with *labels*; a node without a key is in no domain of it."""
        for key in self.keys:
            value = labels.get(key)
            if value is not None:
                domain = (key, value)
                total = self.domains.get(domain, 0) + count
                if total:
                    self.domains[domain] = total
                else:
                    del self.domains[domain]


class _Neighbours:
    """What the pods that are placed at one time allow one more pod."""

    __slots__ = ("_apart_from", "_is_first", "_near", "_repelled_by")

    def __init__(
        self,
        *,
        near: _DomainCounts | None = None,
        means_itself: bool = False,
        apart_from: Sequence[_DomainCounts] = (),
        repelled_by: Iterable[_DomainCounts] = (),
    ) -> None:
        """Read where the matching pods are; *means_itself*: the terms match the pod itself."""
        self._near = near
        self._is_first = means_itself and near is not None and not near.domains
        self._apart_from = apart_from
        # In an order that does not depend on which one was found first.
        self._repelled_by = sorted(
            [each for each in repelled_by if each.domains], key=lambda each: each.keys
        )

    @property
    def allow_all(self) -> bool:
        return self._near is None and not self._apart_from and not self._repelled_by

    def defect(self, node: Node) -> str | None:
        if self._near is not None:
            for near_key in self._near.keys:
                value = node.labels.get(near_key)
                if value is None:
                    return f"lack the label {near_key} of the pod affinity"
                if not self._is_first and (near_key, value) not in self._near.domains:
                    return f"are in no {near_key} with a pod that the pod affinity asks for"
        key = _shared_key(node, self._apart_from)
        if key is not None:
            return f"are in one {key} with a pod that the pod anti-affinity excludes"
        key = _shared_key(node, self._repelled_by)
        if key is not None:
            return f"are in one {key} with a pod whose anti-affinity excludes this one"
        return None


class PodsAround:
    """What the placed pods allow one more pod, now and later; valid until the state changes."""

    __slots__ = ("_later", "_now", "_spread", "allow_all")

    def __init__(
        self, now: _Neighbours, later: _Neighbours, spread: SpreadLimits | None = None
    ) -> None:
        """Read which pods count now, and which will; None: the pod has no spread constraint."""
        self._now = now
        self._later = later
        self._spread = spread
        self.allow_all: Final = now.allow_all and later.allow_all and spread is None
        """Whether other pods can rule out no node, so that no node needs a check."""

    def defect(self, node: Node) -> str | None:
        """Return why other pods will not allow the pod on *node*; None if they will.

        The text follows "3 of 8 nodes". Cost: a look-up for each term that matters.
        """
        defect = self._later.defect(node)
        if defect is None and self._spread is not None:
            defect = self._spread.defect(node)
        return defect

    def holds_now(self, node: Node) -> bool:
        """Return whether the pods that are placed now allow the pod on *node*.

        It may start there if they will do so later as well. Cost: that of `defect`.
        """
        if self._now.defect(node) is not None:
            return False
        return self._spread is None or self._spread.holds_now(node)

    def domain_tallies(self) -> tuple[Tally, ...]:
        """Return how many domains would exceed the skew of each spread constraint."""
        return () if self._spread is None else self._spread.tallies()


class _PodCount:
    """How many pods there are in each domain of the keys of *terms*, now and later.

    Counted are pods that all of the terms match, or if *is_repelling* pods that have the one term.
    """

    __slots__ = ("is_repelling", "later", "now", "terms")

    def __init__(self, terms: tuple[PodTerm, ...], *, is_repelling: bool) -> None:
        """Start with no pod."""
        keys = tuple(dict.fromkeys(term.topology_key for term in terms))
        self.terms = terms
        self.is_repelling = is_repelling
        self.now = _DomainCounts(keys)
        self.later = _DomainCounts(keys)

    def add(self, labels: Mapping[str, str], count: _TwoTimes, *, sign: int = 1) -> None:
        """Count pods on a node with *labels*, or with the other *sign* subtract them."""
        if count.now:
            self.now.add(labels, sign * count.now)
        if count.later:
            self.later.add(labels, sign * count.later)


class _Kind:
    """Pods that no term distinguishes; *pod_counts* are those that count them."""

    __slots__ = ("labels", "namespace", "nodes", "pod_counts", "repelled_by")

    def __init__(
        self, namespace: str, labels: Mapping[str, str], pod_counts: list[_PodCount]
    ) -> None:
        self.namespace = namespace
        self.labels = labels
        self.pod_counts = pod_counts
        self.nodes: dict[str, _TwoTimes] = {}
        self.repelled_by: list[_PodCount] = []


class _PodDomains:
    """The placed pods of a state, by what terms ask about them."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*; nothing is read yet."""
        self._state = state
        self._start_anew()

    def has_repelling(self) -> bool:
        """Return whether a placed pod may repel others. Cost: what changed."""
        self._catch_up()
        return bool(self._repelling)

    def meant_by(self, terms: tuple[PodTerm, ...]) -> _PodCount:
        """Return where the placed pods are that all of *terms* match, as of now.

        Cost: what changed, and if *terms* are new, the kinds that they may match.
        """
        self._wake()
        found = self._asked.get(terms)
        if found is None:
            found = self._asked[terms] = self._new_count(terms, is_repelling=False)
        return found

    def repelling(self, workload: Workload, pod_set: int) -> list[_PodCount]:
        """Return where pods are that repel such a pod, by term, as of now."""
        self._wake()
        return self._kinds_of(workload)[pod_set].repelled_by

    def means(self, terms: tuple[PodTerm, ...], namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether all of *terms* match a pod with *labels* in *namespace*."""
        about = self._catalogue.namespace_labels(namespace)
        return all(term.matches(namespace, about, labels) for term in terms)

    def _start_anew(self) -> None:
        self._catalogue = self._state.catalogue
        self._moment = 0
        self._is_awake = False
        self._most_remembered = _SPARE
        self._asked: dict[tuple[PodTerm, ...], _PodCount] = {}
        self._repelling: dict[PodTerm, _PodCount] = {}
        self._kinds: dict[object, _Kind] = {}
        self._pod_counts_by_label: defaultdict[_Label | None, list[_PodCount]] = defaultdict(list)
        self._kinds_by_label: defaultdict[_Label | None, list[_Kind]] = defaultdict(list)
        self._known: dict[WorkloadName, tuple[Workload, list[_Kind]]] = {}
        self._known_foreign: dict[str, tuple[tuple[ForeignPod, ...], list[_Kind]]] = {}
        self._counted: dict[str, tuple[Mapping[str, str], Mapping[_Kind, _TwoTimes]]] = {}

    def _wake(self) -> None:
        """Count everything from now on."""
        self._catch_up()
        if not self._is_awake:
            self._is_awake = True
            books = self._state.books
            for node in dict.fromkeys([*books.booked(), *books.nodes_asked_about()]):
                self._recount(node)
            self._most_remembered = 2 * len(self._kinds) + _SPARE

    def _catch_up(self) -> None:
        remembered = len(self._kinds) + len(self._asked)
        if remembered > self._most_remembered or self._catalogue is not self._state.catalogue:
            self._start_anew()
        log = self._state.books.changes
        if log.moment == self._moment:
            return
        changed = log.since(self._moment)
        self._moment = log.moment
        if self._is_awake:
            for node in changed:
                self._recount(node)
        elif any(map(self._has_repelling_pod, changed)):
            self._wake()

    def _has_repelling_pod(self, node: str) -> bool:
        workloads, repelling = self._state.workloads, self._state.repelling
        if repelling:  # most clusters have none, and nodes many pods
            for (name, pod), _ in pods_on_node(self._state, node):
                asked = workloads[name].pod_sets.of(pod).constraints
                if name in repelling and asked.pod_anti_affinity:
                    return True
        return any(each.pod_anti_affinity for each in self._state.books.asked_about(node))

    def _recount(self, node: str) -> None:
        """Bring the counts up to date with *node*. Cost: its pods, and the kinds that changed."""
        facts = self._state.nodes.get(node)  # None: the labels of the node are not known
        after = self._kinds_on(facts) if facts else {}
        labels, before = self._counted.pop(node, ({}, {}))
        is_elsewhere = facts is None or facts.labels is not labels
        for kind, count in before.items():
            if is_elsewhere or after.get(kind) != count:
                del kind.nodes[node]
                for pod_count in kind.pod_counts:
                    pod_count.add(labels, count, sign=-1)
        if facts is None:
            return
        for kind, count in after.items():
            if is_elsewhere or before.get(kind) != count:
                kind.nodes[node] = count
                for pod_count in kind.pod_counts:
                    pod_count.add(facts.labels, count)
        self._counted[node] = (facts.labels, after)

    def _kinds_on(self, node: Node) -> Mapping[_Kind, _TwoTimes]:
        pods = list(self._pods_on(node))
        now = Counter([kind for kind, phase in pods if phase != "reserved"])
        later = Counter([kind for kind, phase in pods if phase != "leaving"])
        return {kind: _TwoTimes(now[kind], later[kind]) for kind in {**now, **later}}

    def _pods_on(self, node: Node) -> Iterator[tuple[_Kind, Phase]]:
        """Yield the kind of each pod on *node*, of any scheduler, and its phase."""
        workloads, runs = self._state.workloads, self._state.runs
        for (name, pod), is_leaving in pods_on_node(self._state, node.name):
            at = workloads[name].pod_sets.set_index[pod]
            kind = self._kinds_of(workloads[name])[at]
            yield kind, "leaving" if is_leaving else runs[name].pods[pod].phase
        foreign = self._state.books.asked_about(node.name)
        for kind, other in zip(self._foreign_kinds(node.name, foreign), foreign, strict=True):
            yield kind, "leaving" if other.leaving else "running"

    def _kinds_of(self, workload: Workload) -> list[_Kind]:
        """Return the kind of each pod set."""
        known = self._known.get(workload.name)
        if known is not None and known[0] is workload:
            return known[1]
        kinds = [
            self._kind(workload.namespace, each.labels, each.constraints.pod_anti_affinity)
            for each in workload.pod_sets
        ]
        self._known[workload.name] = (workload, kinds)
        return kinds

    def _foreign_kinds(self, node: str, foreign: tuple[ForeignPod, ...]) -> list[_Kind]:
        """Return the kind of each of the *foreign* pods on *node*."""
        if not foreign:
            return []
        known = self._known_foreign.get(node)
        if known is not None and known[0] is foreign:
            return known[1]
        kinds = [
            self._kind(each.namespace, each.labels, each.pod_anti_affinity) for each in foreign
        ]
        self._known_foreign[node] = (foreign, kinds)
        return kinds

    def _kind(
        self, namespace: str, labels: tuple[_Label, ...], repels: tuple[PodTerm, ...]
    ) -> _Kind:
        key = (namespace, labels, repels)
        kind = self._kinds.get(key)
        if kind is None:
            pod_counts = [self._count_of_repelling(term) for term in repels]
            kind = self._kinds[key] = _Kind(namespace, dict(labels), pod_counts)
            for label in (None, *labels):
                self._kinds_by_label[label].append(kind)
                for pod_count in self._pod_counts_by_label.get(label, ()):
                    self._introduce(pod_count, kind)
        return kind

    def _count_of_repelling(self, term: PodTerm) -> _PodCount:
        pod_count = self._repelling.get(term)
        if pod_count is None:
            pod_count = self._repelling[term] = self._new_count((term,), is_repelling=True)
        return pod_count

    def _new_count(self, terms: tuple[PodTerm, ...], *, is_repelling: bool) -> _PodCount:
        pod_count = _PodCount(terms, is_repelling=is_repelling)
        for label in _labels_asked_for(terms):
            self._pod_counts_by_label[label].append(pod_count)
            for kind in self._kinds_by_label.get(label, ()):
                self._introduce(pod_count, kind)
        return pod_count

    def _introduce(self, pod_count: _PodCount, kind: _Kind) -> None:
        """Connect *pod_count* and *kind* if the terms match the kind."""
        if not self.means(pod_count.terms, kind.namespace, kind.labels):
            return
        if pod_count.is_repelling:
            kind.repelled_by.append(pod_count)
            return
        kind.pod_counts.append(pod_count)
        for node, count in kind.nodes.items():
            pod_count.add(self._counted[node][0], count)


def _labels_asked_for(terms: tuple[PodTerm, ...]) -> tuple[_Label | None, ...]:
    """Return labels of which a pod that all *terms* match has exactly one; None: all have it."""
    for term in terms:
        if term.selector is None:
            return ()  # it matches no pod
        for one in term.selector.requirements:
            if one.operator == "In":
                return tuple((one.key, value) for value in dict.fromkeys(one.values))
    return (None,)


_ALL: Final = PodsAround(_Neighbours(), _Neighbours())


class PodAffinity:
    """Evaluates affinity for pods of one state, and caches what it found."""

    def __init__(self, state: ClusterState, *, honors_spread: bool = True) -> None:
        """Follow *state* through all its changes, including trials and their undoing."""
        self._domains = _PodDomains(state)
        self._spreads = SpreadCounts(state) if honors_spread else None

    def spread_with(
        self, workload: Workload, pod_set: int, expected: Collection[ExpectedPod]
    ) -> SpreadLimits:
        """Return what the spread of one more pod of a set allows if *expected* pods count.

        Cost: the domains, and those of `around`.
        """
        spreads = workload.pod_sets[pod_set].constraints.spread
        if self._spreads is None:
            return SpreadLimits(())
        return SpreadLimits(self._spreads.limits(workload, pod_set, spreads, expected))

    def preferred_spread(self, workload: Workload, pod_set: int) -> tuple[SpreadLimit, ...]:
        """Return the counts for the spread constraints that one more pod of a set only prefers."""
        preferences = workload.pod_sets[pod_set].constraints.preferences
        if preferences is None or not preferences.spread or self._spreads is None:
            return ()
        return self._spreads.limits(workload, pod_set, preferences.spread)

    def around(self, workload: Workload, pod_set: int) -> PodsAround:
        """Return what the placed pods allow one more pod of a pod set of *workload*.

        Law: equal to examining every placed pod, at both times. Cost: the nodes that changed since
        the last call, and nothing else if no pod has terms.
        """
        asked = workload.pod_sets[pod_set]
        near, apart_from = asked.constraints.pod_affinity, asked.constraints.pod_anti_affinity
        domains = self._domains
        spread: SpreadLimits | None = None
        if asked.constraints.spread and self._spreads is not None:
            limits = self._spreads.limits(workload, pod_set, asked.constraints.spread)
            spread = SpreadLimits(limits)
        if not near and not apart_from and not domains.has_repelling():
            return _ALL if spread is None else PodsAround(_Neighbours(), _Neighbours(), spread)
        wanted = domains.meant_by(near) if near else None
        means_itself = bool(near) and domains.means(near, workload.namespace, dict(asked.labels))
        unwanted = [domains.meant_by((term,)) for term in apart_from]
        repelling = domains.repelling(workload, pod_set)
        return PodsAround(
            now=_Neighbours(
                near=wanted.now if wanted else None,
                means_itself=means_itself,
                apart_from=[each.now for each in unwanted],
                repelled_by=[each.now for each in repelling],
            ),
            later=_Neighbours(
                near=wanted.later if wanted else None,
                means_itself=means_itself,
                apart_from=[each.later for each in unwanted],
                repelled_by=[each.later for each in repelling],
            ),
            spread=spread,
        )


def _shared_key(node: Node, counts: Sequence[_DomainCounts]) -> str | None:
    """Return the first topology key on which *node* is in a domain of *counts*."""
    for each in counts:
        for key in each.keys:
            value = node.labels.get(key)
            if value is not None and (key, value) in each.domains:
                return key
    return None
