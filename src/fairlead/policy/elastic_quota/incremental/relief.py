"""What others could leave to one who takes from them, at most: on nodes, and of their quotas.

Nobody is asked whether it would have to; so what is too little even then need not be searched for.
"""

from collections.abc import Callable, Sequence
from operator import add
from typing import Final, NamedTuple

from fairlead.model.axes import QueueName
from fairlead.policy.elastic_quota.nodes.holders import Holder, HolderIndex
from fairlead.policy.elastic_quota.quota.quota_books import QuotaBooks


class Relief(NamedTuple):
    """What holders have, those that may be asked all together."""

    charge: list[int]  # to their quotas
    on_node: dict[str, list[int]]


class Reliefs:
    """Follows the books and the holders of one state; what was asked for is kept."""

    def __init__(self, books: QuotaBooks, holders: HolderIndex) -> None:
        """Begin with nothing known."""
        self._books: Final = books
        self._holders: Final = holders
        self._in_queue: dict[QueueName | None, dict[int, Relief]] = {}
        self._of_borrowers: Relief | None = None

    def forget(self, queue: QueueName | None) -> None:
        """Look again at *queue*, because pods of it came or went; None: at those without quota."""
        self._in_queue.pop(queue, None)
        if queue is not None:
            self._of_borrowers = None

    def less_important(self, queue: QueueName | None, priority: int) -> Relief:
        """Return what pods of *queue* have that are less important than *priority*.

        Cost: the nodes where it has pods, once until it is to be forgotten.
        """
        known = self._in_queue.setdefault(queue, {})
        found = known.get(priority)
        if found is None:
            found = known[priority] = self._sum(
                self._holders.nodes_of(queue),
                lambda each: each.queue == queue and each.priority < priority,
            )
        return found

    def of_borrowers(self) -> Relief:
        """Return what pods of all quotas have that are over their min in anything.

        Cost: every holder, once until pods came or went.
        """
        if self._of_borrowers is None:
            is_over = self._books.later.is_over_min
            nodes = [node for _, _, node in self._holders.cheapest_first()]
            self._of_borrowers = self._sum(
                nodes, lambda each: each.queue is not None and is_over[each.queue]
            )
        return self._of_borrowers

    def _sum(self, nodes: Sequence[str], may_give: Callable[[Holder], bool]) -> Relief:
        charge = [0] * len(self._books.pool)
        on_node: dict[str, list[int]] = {}
        for node in nodes:
            for holder in self._holders.on(node):
                if may_give(holder):
                    charge = list(map(add, charge, holder.charge))
                    before = on_node.get(node)
                    on_node[node] = (
                        list(holder.requests)
                        if before is None
                        else list(map(add, before, holder.requests))
                    )
        return Relief(charge, on_node)
