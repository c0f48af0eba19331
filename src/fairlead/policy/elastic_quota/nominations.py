"""Who waits on a node for others to leave it, by node and by quota.

The sums by quota and priority are kept, so that asking for those that count before a pod costs the
quotas that have any, however many pods are nominated.
"""

from collections.abc import Hashable, Iterator, Set
from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.node_books import PodKey
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.quota_books import QuotaUse


class Nominated(NamedTuple):
    """What the nominated pods ask for that count before one pod, without that pod."""

    in_quota: Amounts
    everywhere: Amounts
    named: frozenset[int]  # axes that those of its own quota name


class Nominations:
    """Nominated pods; those on a node that nobody knows count nowhere."""

    def __init__(self, nodes: Set[str], size: int, *, by_turn: bool) -> None:
        """Begin with none; *nodes* are those that are known, *size* is the number of axes.

        *by_turn*: of equally important ones that all wait for nodes, the first in line goes first.
        """
        self._nodes = nodes
        self._by_turn = by_turn
        self._zero: Amounts = (0,) * size
        self._node_of: dict[PodKey, str] = {}
        self._were_nominated: set[PodKey] = set()  # before this plan
        self._on_node: dict[str, dict[PodKey, Asker]] = {}
        self._by_priority: dict[QueueName, dict[int, dict[PodKey, Asker]]] = {}
        self._sums: dict[QueueName, dict[int, list[int]]] = {}

    def begin(self, asker: Asker, node: str) -> None:
        """Take in a pod that was nominated to *node* by an earlier plan."""
        self.put(asker, node)
        if asker.key in self._node_of:
            self._were_nominated.add(asker.key)

    def put(self, asker: Asker, node: str) -> None:
        """Nominate a pod to *node*, instead of where it was."""
        self.drop(asker.key)
        if node not in self._nodes:
            return
        self._node_of[asker.key] = node
        self._on_node.setdefault(node, {})[asker.key] = asker
        if asker.queue is not None:
            by_priority = self._by_priority.setdefault(asker.queue, {})
            by_priority.setdefault(asker.priority, {})[asker.key] = asker
            self._add(asker.queue, asker, 1)

    def drop(self, key: PodKey) -> None:
        """Let a pod be nominated no more, if it was."""
        node = self._node_of.pop(key, None)
        if node is None:
            return
        asker = self._on_node[node].pop(key)
        if asker.queue is not None:
            del self._by_priority[asker.queue][asker.priority][key]
            self._add(asker.queue, asker, -1)

    def node_of(self, key: PodKey) -> str | None:
        """Return the node to which a pod is nominated."""
        return self._node_of.get(key)

    def everywhere(self) -> frozenset[object]:
        """Return who is nominated to which node, and what of it matters to others."""
        return frozenset(
            [
                (node, _as_others_see(asker))
                for node, askers in self._on_node.items()
                for asker in askers.values()
            ]
        )

    def of_queue(self, queue: QueueName) -> frozenset[object]:
        """Return the nominated pods of a quota, and what of them matters to others."""
        by_priority = self._by_priority.get(queue, {}).values()
        return frozenset([_as_others_see(each) for own in by_priority for each in own.values()])

    def before(self, asker: Asker, node: str) -> Iterator[Asker]:
        """Yield those on *node* that count before *asker*."""
        for other in self._on_node.get(node, {}).values():
            if self._counts_before(other, asker):
                yield other

    def behind(self, asker: Asker, node: str) -> list[Asker]:
        """Return those on *node* that are less important than *asker*."""
        others = self._on_node.get(node, {}).values()
        return [other for other in others if other.priority < asker.priority]

    def counted(self, asker: Asker, use: QuotaUse, leaving: Amounts | None) -> Nominated:
        """Return what counts before *asker*.

        Of its own quota those that come before it count, of other quotas all, if the quota is not
        over its min in *use*. Where what is *leaving* counts as free, those of the others count
        too, as far as it is for them.
        """
        mine = asker.queue
        own, named = list(self._zero), set[int]()
        by_priority = {} if mine is None else self._by_priority.get(mine, {})
        for priority, askers in by_priority.items():
            if priority >= asker.priority:
                for other in askers.values():
                    if self._counts_before(other, asker):
                        _include(own, other.charge)
                        named.update(other.named)
        within, over = list(own), list(self._zero)
        for queue, sums in self._sums.items():
            if queue != mine:
                for amounts in sums.values():
                    _include(over if use.is_over_min[queue] else within, amounts)
        if leaving is not None:
            _include(within, list(map(min, over, leaving)))
        return Nominated(tuple(own), tuple(within), frozenset(named))

    def promised_to(self, queue: QueueName) -> Amounts:
        """Return what all nominated pods of a quota ask for."""
        total = list(self._zero)
        for amounts in self._sums.get(queue, {}).values():
            _include(total, amounts)
        return tuple(total)

    def _counts_before(self, other: Asker, asker: Asker) -> bool:
        """Return whether *other*, which is nominated, goes first.

        Of equally important pods it does. But if both were nominated, only one may be in the way of
        the other, or both would wait for ever; by turn, that is the one that has its turn before.
        """
        if other.priority != asker.priority or other.key == asker.key:
            return other.priority > asker.priority
        if self._by_turn and asker.key in self._were_nominated:
            return other.turn < asker.turn
        return True

    def _add(self, queue: QueueName, asker: Asker, sign: int) -> None:
        sums = self._sums.setdefault(queue, {})
        amounts = sums.setdefault(asker.priority, list(self._zero))
        _include(amounts, [sign * amount for amount in asker.charge])
        if not self._by_priority[queue][asker.priority]:
            del sums[asker.priority]
            if not sums:
                del self._sums[queue]


def _as_others_see(asker: Asker) -> Hashable:
    ports = asker.pod_set.constraints.host_ports
    return (asker.turn, asker.requests, asker.charge, asker.named, ports)


def _include(total: list[int], amounts: Amounts | list[int]) -> None:
    for axis, amount in enumerate(amounts):
        total[axis] += amount
