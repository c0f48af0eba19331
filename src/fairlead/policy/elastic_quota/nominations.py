"""Who waits on a node for others to leave it, by node and by quota.

The sums by quota and priority are kept, so that asking for those that count before a pod costs the
quotas that have any, however many pods are nominated.
"""

from collections.abc import Iterator, Set
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

    def __init__(self, nodes: Set[str], size: int) -> None:
        """Begin with none; *nodes* are those that are known, *size* is the number of axes."""
        self._nodes = nodes
        self._zero: Amounts = (0,) * size
        self._node_of: dict[PodKey, str] = {}
        self._on_node: dict[str, dict[PodKey, Asker]] = {}
        self._by_priority: dict[QueueName, dict[int, dict[PodKey, Asker]]] = {}
        self._sums: dict[QueueName, dict[int, list[int]]] = {}

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

    def everywhere(self) -> frozenset[tuple[PodKey, str]]:
        """Return who is nominated to which node."""
        return frozenset(self._node_of.items())

    def of_queue(self, queue: QueueName) -> frozenset[PodKey]:
        """Return the nominated pods of a quota."""
        return frozenset([key for own in self._by_priority.get(queue, {}).values() for key in own])

    def before(self, asker: Asker, node: str) -> Iterator[Asker]:
        """Yield those on *node* that are as important as *asker*, or more; not itself."""
        for key, other in self._on_node.get(node, {}).items():
            if other.priority >= asker.priority and key != asker.key:
                yield other

    def behind(self, asker: Asker, node: str) -> list[Asker]:
        """Return those on *node* that are less important than *asker*."""
        others = self._on_node.get(node, {}).values()
        return [other for other in others if other.priority < asker.priority]

    def counted(self, asker: Asker, use: QuotaUse, *, also_over_min: bool) -> Nominated:
        """Return what counts before *asker*.

        Of its own quota those that are as important count, of other quotas all, if the quota is
        not over its min in *use*, or *also_over_min*.
        """
        own = list(self._zero)
        named: set[int] = set()
        mine = asker.queue
        sums = self._sums.get(mine, {}) if mine is not None else {}
        for priority, amounts in sums.items():
            if mine is not None and priority >= asker.priority:
                _include(own, amounts)
                for other in self._by_priority[mine][priority].values():
                    if other.key != asker.key:
                        named.update(other.named)
        if mine is not None and asker.key in self._node_of:
            _include(own, [-amount for amount in asker.charge])
        everywhere = list(own)
        for queue, sums in self._sums.items():
            if queue != mine and (also_over_min or not use.is_over_min[queue]):
                for amounts in sums.values():
                    _include(everywhere, amounts)
        return Nominated(tuple(own), tuple(everywhere), frozenset(named))

    def _add(self, queue: QueueName, asker: Asker, sign: int) -> None:
        sums = self._sums.setdefault(queue, {})
        amounts = sums.setdefault(asker.priority, list(self._zero))
        _include(amounts, [sign * amount for amount in asker.charge])
        if not self._by_priority[queue][asker.priority]:
            del sums[asker.priority]
            if not sums:
                del self._sums[queue]


def _include(total: list[int], amounts: Amounts | list[int]) -> None:
    for axis, amount in enumerate(amounts):
        total[axis] += amount
