"""Pods that are nominated to a node, where they wait for other pods to terminate.

A sum for each quota is kept, so that counting the pods ahead of another costs the quotas that have
nominated pods, and the nominated pods of its own quota. Without it 300 preemptions in one plan take
1.25 times as long.
"""

from collections.abc import Hashable, Iterator, Sequence, Set
from operator import sub
from typing import Final, NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.workload import PodKey
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.quota.usage import UsageTotals


class NominatedRequests(NamedTuple):
    """Requests of the nominated pods that are counted before one pod, without that pod itself."""

    in_quota: Amounts
    in_pool: Amounts
    beyond_mins: Amounts  # more that pods of other quotas request; not in ``in_pool``
    named: frozenset[int]  # axes that the pods of its own quota name


class Nominations:
    """The nominated pods of one plan; a nomination to an unknown node is ignored."""

    def __init__(self, nodes: Set[str], size: int, *, honors_nominations: bool) -> None:
        """Start with no nomination; *nodes* are the known nodes, *size* is the number of axes.

        With *honors_nominations* a node is left to a nominated pod of another quota, or of none,
        whatever its priority. Otherwise one pod frees the node, another takes it, and the first
        preempts again.
        """
        self._nodes = nodes
        self.honors_nominations: Final = honors_nominations
        self.changes = 0  # how many times a nomination was added or removed
        self._zero: Amounts = (0,) * size
        self._node_of: dict[PodKey, str] = {}
        self._with_anti_affinity: set[PodKey] = set()  # pods that have pod anti-affinity
        self._nominated_earlier: dict[PodKey, str] = {}  # by an earlier plan, and to which node
        self._on_node: dict[str, dict[PodKey, PendingPod]] = {}
        self._in_quota: dict[QueueName, dict[PodKey, PendingPod]] = {}
        self._sums: dict[QueueName, list[int]] = {}

    def restore(self, pending: PendingPod, node: str) -> None:
        """Add a pod that an earlier plan nominated to *node*."""
        self.nominate(pending, node)
        if pending.key in self._node_of:
            self._nominated_earlier[pending.key] = node

    def nominate(self, pending: PendingPod, node: str) -> None:
        """Nominate a pod to *node*, in place of an earlier nomination."""
        self.clear(pending.key)
        if node not in self._nodes:
            return
        self.changes += 1
        self._node_of[pending.key] = node
        self._on_node.setdefault(node, {})[pending.key] = pending
        if pending.pod_set.constraints.pod_anti_affinity:
            self._with_anti_affinity.add(pending.key)
        if pending.queue is not None:
            self._in_quota.setdefault(pending.queue, {})[pending.key] = pending
            _include(self._sums.setdefault(pending.queue, list(self._zero)), pending.charge)

    def clear(self, key: PodKey) -> None:
        """Remove the nomination of a pod, if it has one."""
        node = self._node_of.pop(key, None)
        if node is None:
            return
        self.changes += 1
        pending = self._on_node[node].pop(key)
        self._with_anti_affinity.discard(key)
        if pending.queue is not None:
            del self._in_quota[pending.queue][key]
            _include(self._sums[pending.queue], [-amount for amount in pending.charge])
            if not self._in_quota[pending.queue]:
                del self._in_quota[pending.queue], self._sums[pending.queue]

    def node_of(self, key: PodKey) -> str | None:
        """Return the node to which a pod is nominated."""
        return self._node_of.get(key)

    def was_nominated_to(self, key: PodKey, node: str) -> bool:
        """Return whether an earlier plan nominated a pod to *node*."""
        return self._nominated_earlier.get(key) == node

    def all_facts(self) -> frozenset[object]:
        """Return all nominations with what can matter to other pods, as a value to compare."""
        return frozenset(
            [
                (node, _facts_of(pending))
                for node, pending_pods in self._on_node.items()
                for pending in pending_pods.values()
            ]
        )

    def facts_of(self, queue: QueueName) -> frozenset[object]:
        """Return the nominated pods of one quota with what can matter to other pods."""
        return frozenset(map(_facts_of, self._in_quota.get(queue, {}).values()))

    def ahead_of(self, pending: PendingPod, node: str) -> Iterator[PendingPod]:
        """Yield the pods nominated to *node* that are counted before *pending*."""
        by_order = self.was_nominated_to(pending.key, node)
        for other in self._on_node.get(node, {}).values():
            if self._is_ahead(other, pending, by_order=by_order):
                yield other

    def ahead_of_any(self, pending_pods: Sequence[PendingPod], node: str) -> list[PendingPod]:
        """Return the pods nominated to *node* that are ahead of any of a group placed there.

        A nominated pod of lower priority that is not ahead of some pod of the group loses its
        nomination to that pod, and so is not returned.
        """
        firsts = {
            other.key: other for pending in pending_pods for other in self.ahead_of(pending, node)
        }
        displaced = {
            other.key for pending in pending_pods for other in self.displaced_by(pending, node)
        }
        return [other for key, other in firsts.items() if key not in displaced]

    def displaced_by(self, pending: PendingPod, node: str) -> list[PendingPod]:
        """Return the pods of lower priority that lose their nomination to *node* to *pending*."""
        first = {other.key for other in self.ahead_of(pending, node)}
        return [
            other
            for key, other in self._on_node.get(node, {}).items()
            if other.priority < pending.priority and key not in first
        ]

    def with_anti_affinity(self, pending: PendingPod) -> Iterator[tuple[PendingPod, str]]:
        """Yield pods ahead of *pending* that anti-affinity may keep apart, and their nodes."""
        by_order = pending.key in self._nominated_earlier
        keeps_away = bool(pending.pod_set.constraints.pod_anti_affinity)
        for key in self._node_of if keeps_away else self._with_anti_affinity:
            node = self._node_of[key]
            other = self._on_node[node][key]
            if self._is_ahead(other, pending, by_order=by_order):
                yield other, node

    def all_ahead_of(self, pending: PendingPod) -> Iterator[tuple[PendingPod, str]]:
        """Yield all pods that are counted before *pending*, and their nodes."""
        by_order = pending.key in self._nominated_earlier
        for key, node in self._node_of.items():
            other = self._on_node[node][key]
            if self._is_ahead(other, pending, by_order=by_order):
                yield other, node

    def counted_before(self, pending: PendingPod, use: UsageTotals) -> NominatedRequests:
        """Return what is counted before *pending*.

        Of its own quota that is every pod ahead of it; of another quota every nominated pod, as far
        as it is within that quota's min in *use*.
        """
        mine = pending.queue
        own, named = list(self._zero), set[int]()
        by_order = pending.key in self._nominated_earlier
        for other in () if mine is None else self._in_quota.get(mine, {}).values():
            if self._is_ahead(other, pending, by_order=by_order):
                _include(own, other.charge)
                named.update(other.named)
        within, beyond = list(own), list(self._zero)
        for queue in self._sums:
            if queue != mine:
                within_min = self.within_min(queue, use)
                _include(within, within_min)
                _include(beyond, list(map(sub, self.nominated_in(queue), within_min)))
        return NominatedRequests(tuple(own), tuple(within), tuple(beyond), frozenset(named))

    def nominated_in(self, queue: QueueName) -> Amounts:
        """Return the sum of the requests of all nominated pods of a quota."""
        return tuple(self._sums.get(queue, self._zero))

    def within_min(self, queue: QueueName, use: UsageTotals) -> Amounts:
        """Return how much of what a quota's nominated pods request is within its min.

        For the plugin that is everything, unless the quota is over its min on any axis.
        """
        nominated = self.nominated_in(queue)
        if not self.honors_nominations:
            return self._zero if use.is_over_min[queue] else nominated
        return tuple(map(min, nominated, use.unused_min(queue)))

    def _is_ahead(self, other: PendingPod, pending: PendingPod, *, by_order: bool) -> bool:
        """Return whether the nominated pod *other* is counted before *pending*.

        It is if its priority is as high. If nominations are honored, it also is if it belongs to
        another quota, or to none. Of two pods that were both nominated earlier, the one that is
        first in scheduling order is ahead (*by_order*); otherwise each would block the other for
        ever.
        """
        if other.key == pending.key:
            return False
        if self.honors_nominations and by_order:
            return other.order < pending.order
        is_promised = self.honors_nominations and other.queue != pending.queue
        return is_promised or other.priority >= pending.priority


def _facts_of(pending: PendingPod) -> Hashable:
    wanted = pending.pod_set
    around = (wanted.constraints.host_ports, wanted.constraints.pod_anti_affinity, wanted.labels)
    return (pending.order, pending.requests, pending.charge, pending.named, around)


def _include(total: list[int], amounts: Amounts | list[int]) -> None:
    for axis, amount in enumerate(amounts):
        total[axis] += amount
