"""The pods that hold nodes, by node and by importance, kept up to date as they come and go.

Who has to give way is looked for among the least important first. So nodes are also kept in the
order of their least important pod with a quota: a search for the cheapest node mostly ends at the
first of them.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey
from fairlead.policy.elastic_quota.asker import pod_title
from fairlead.policy.elastic_quota.charges import Charges

Cheapest: TypeAlias = tuple[int, int, str]  # priority, start (negative), and the node


class Holder(NamedTuple):
    """A pod that has a node; sorted, the most important comes first.

    That is the one with the highest priority, then the one that started first, then by name.
    """

    order: tuple[int, int, str]
    key: PodKey
    queue: QueueName | None
    priority: int
    started_ms: int
    requests: Amounts
    charge: Amounts
    is_leaving: bool

    @property
    def title(self) -> str:
        """What people call it: ``namespace/name``."""
        return self.order[2]


class HolderIndex:
    """The holders of one state on each of its nodes, through all its changes."""

    def __init__(self, state: ClusterState, charges: Charges, *, with_leaving: bool) -> None:
        """Follow *state*; who is leaving is a holder still, or not."""
        self._state = state
        self._charges = charges
        self._with_leaving = with_leaving
        self._on_node: dict[str, tuple[Holder, ...]] = {}
        self._leaving: dict[str, tuple[Holder, ...]] = {}
        self._nodes_of: dict[QueueName | None, dict[str, None]] = {}
        self._priorities: dict[QueueName | None, Counter[int]] = {}
        self._cheapest: list[Cheapest] = []
        self._cheapest_of: dict[str, Cheapest] = {}
        self._generations: dict[str, tuple[Node, int]] = {}
        self._marks: dict[str, int] = {}
        self._fingerprint = 0
        self._read_at = 0
        self._nodes_moment = 0

    def nodes_moment(self) -> int:
        """Return a number that grows whenever a node comes or goes, and with it who is there."""
        self._catch_up()
        return self._nodes_moment

    def fingerprint(self) -> int:
        """Return a number that is the same whenever all nodes and who holds them are the same.

        So what was true of them once is known to be true again after a trial was undone. Different
        ones have the same number once in about 2**60 times.
        """
        self._catch_up()
        return self._fingerprint

    def on(self, node: str) -> tuple[Holder, ...]:
        """Return who holds *node*, the most important first."""
        self._catch_up()
        return self._on_node.get(node, ())

    def leaving(self, node: str) -> tuple[Holder, ...]:
        """Return who is leaving *node*."""
        self._catch_up()
        return self._leaving.get(node, ())

    def lowest_priority(self, queue: QueueName | None) -> int | None:
        """Return the priority of the least important pod of a quota; None if it has no pod."""
        self._catch_up()
        return min(self._priorities.get(queue, ()), default=None)

    def nodes_of(self, queue: QueueName | None) -> Sequence[str]:
        """Return the nodes on which pods of a quota (None: pods without one) are, by name."""
        self._catch_up()
        return sorted(self._nodes_of.get(queue, ()))

    def cheapest_first(self) -> Sequence[Cheapest]:
        """Return the nodes that hold pods with a quota, that of the least important pod first."""
        self._catch_up()
        return self._cheapest

    def _catch_up(self) -> None:
        changes = self._state.books.changes
        if self._read_at != changes.moment:
            for node in changes.since(self._read_at):
                self._read(node)
            self._read_at = changes.moment

    def _read(self, node: str) -> None:
        if (node in self._on_node) != (node in self._state.nodes):
            self._nodes_moment += 1
        self._forget(node)
        if node not in self._state.nodes:
            return
        there = [self._holder(key) for key in self._state.books.use(node).pods]
        holders = tuple(
            sorted([each for each in there if self._with_leaving or not each.is_leaving])
        )
        self._leaving[node] = tuple([each for each in there if each.is_leaving])
        self._on_node[node] = holders
        self._mark(node, there)
        for each in holders:
            self._nodes_of.setdefault(each.queue, {})[node] = None
            self._priorities.setdefault(each.queue, Counter())[each.priority] += 1
        for each in reversed(holders):
            if each.queue is not None:
                key = (each.priority, -each.started_ms, node)
                self._cheapest_of[node] = key
                insort(self._cheapest, key)
                break

    def _mark(self, node: str, there: Sequence[Holder]) -> None:
        """Take a node into the fingerprint: which it is, and who is there, as they are."""
        facts = self._state.nodes[node]
        known = self._generations.get(node)
        if known is None or known[0] is not facts:
            known = self._generations[node] = (facts, 1 if known is None else known[1] + 1)
        workloads, serial = self._state.workloads, self._charges.serial
        held = [(e.key, e.started_ms, e.is_leaving, serial(workloads[e.key[0]])) for e in there]
        mark = self._marks[node] = hash((node, known[1], tuple(sorted(held))))
        self._fingerprint += mark

    def _forget(self, node: str) -> None:
        self._fingerprint -= self._marks.pop(node, 0)
        self._leaving.pop(node, None)
        for each in self._on_node.pop(node, ()):
            self._nodes_of[each.queue].pop(node, None)
            priorities = self._priorities[each.queue]
            priorities[each.priority] -= 1
            if not priorities[each.priority]:
                del priorities[each.priority]
        key = self._cheapest_of.pop(node, None)
        if key is not None:
            del self._cheapest[bisect_left(self._cheapest, key)]

    def _holder(self, key: PodKey) -> Holder:
        name, pod = key
        workload = self._state.workloads[name]
        placed = self._state.runs[name].pods[pod]
        at = workload.pod_sets.set_index[pod]
        return Holder(
            order=(-workload.priority, placed.started_ms, pod_title(workload, pod)),
            key=key,
            queue=workload.queue if workload.queue in self._state.queues else None,
            priority=workload.priority,
            started_ms=placed.started_ms,
            requests=workload.pod_sets[at].requests,
            charge=self._charges.of(workload, at).amounts,
            is_leaving=placed.phase == "leaving",
        )
