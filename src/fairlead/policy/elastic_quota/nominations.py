"""Who waits on a node for others to leave it, by node and by quota.

The sums by quota and priority are kept, so that asking for those that count before a pod costs the
quotas that have any, however many pods are nominated.
"""

from collections.abc import Hashable, Iterator, Sequence, Set
from operator import sub
from typing import Final, NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.workload import PodKey
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.quota_books import QuotaUse


class Nominated(NamedTuple):
    """What the nominated pods ask for that count before one pod, without that pod."""

    in_quota: Amounts
    everywhere: Amounts
    beyond_mins: Amounts  # what those of other quotas ask for besides; not in ``everywhere``
    named: frozenset[int]  # axes that those of its own quota name


class Nominations:
    """Nominated pods; those on a node that nobody knows count nowhere."""

    def __init__(self, nodes: Set[str], size: int, *, keeps_promises: bool) -> None:
        """Begin with none; *nodes* are those that are known, *size* is the number of axes.

        Whoever *keeps_promises* leaves a node to a pod of another quota, or of none, that waits for
        it, however unimportant that is: else one makes room, the next takes it, and the first makes
        room again.
        """
        self._nodes = nodes
        self.keeps_promises: Final = keeps_promises
        self.changes = 0  # how often anything here changed
        self._zero: Amounts = (0,) * size
        self._node_of: dict[PodKey, str] = {}
        self._keep_away: set[PodKey] = set()  # who is not to be near some others
        self._were_nominated: dict[PodKey, str] = {}  # before this plan, and to which node
        self._on_node: dict[str, dict[PodKey, Asker]] = {}
        self._by_priority: dict[QueueName, dict[int, dict[PodKey, Asker]]] = {}
        self._sums: dict[QueueName, dict[int, list[int]]] = {}

    def begin(self, asker: Asker, node: str) -> None:
        """Take in a pod that was nominated to *node* by an earlier plan."""
        self.put(asker, node)
        if asker.key in self._node_of:
            self._were_nominated[asker.key] = node

    def put(self, asker: Asker, node: str) -> None:
        """Nominate a pod to *node*, instead of where it was."""
        self.drop(asker.key)
        if node not in self._nodes:
            return
        self.changes += 1
        self._node_of[asker.key] = node
        self._on_node.setdefault(node, {})[asker.key] = asker
        if asker.pod_set.constraints.pod_anti_affinity:
            self._keep_away.add(asker.key)
        if asker.queue is not None:
            by_priority = self._by_priority.setdefault(asker.queue, {})
            by_priority.setdefault(asker.priority, {})[asker.key] = asker
            self._add(asker.queue, asker, 1)

    def drop(self, key: PodKey) -> None:
        """Let a pod be nominated no more, if it was."""
        node = self._node_of.pop(key, None)
        if node is None:
            return
        self.changes += 1
        asker = self._on_node[node].pop(key)
        self._keep_away.discard(key)
        if asker.queue is not None:
            del self._by_priority[asker.queue][asker.priority][key]
            self._add(asker.queue, asker, -1)

    def node_of(self, key: PodKey) -> str | None:
        """Return the node to which a pod is nominated."""
        return self._node_of.get(key)

    def was_nominated_to(self, key: PodKey, node: str) -> bool:
        """Return whether a pod waited for *node* before this plan, and so has its turn there."""
        return self._were_nominated.get(key) == node

    def who_waits_where(self) -> frozenset[object]:
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
        by_turn = self.was_nominated_to(asker.key, node)
        for other in self._on_node.get(node, {}).values():
            if self._goes_first(other, asker, by_turn=by_turn):
                yield other

    def before_any(self, askers: Sequence[Asker], node: str) -> list[Asker]:
        """Return those on *node* that count before one of *askers*, which are to be there together.

        Who is less important than another of them, and not before that one, may wait there no more.
        """
        firsts = {other.key: other for asker in askers for other in self.before(asker, node)}
        displaced = {other.key for asker in askers for other in self.behind(asker, node)}
        return [other for key, other in firsts.items() if key not in displaced]

    def behind(self, asker: Asker, node: str) -> list[Asker]:
        """Return those on *node* that are less important than *asker*, and do not go first."""
        first = {other.key for other in self.before(asker, node)}
        return [
            other
            for key, other in self._on_node.get(node, {}).items()
            if other.priority < asker.priority and key not in first
        ]

    def that_may_repel(self, asker: Asker) -> Iterator[tuple[Asker, str]]:
        """Yield those that count before *asker* and may have to be apart from it; their nodes."""
        by_turn = asker.key in self._were_nominated
        keeps_away = bool(asker.pod_set.constraints.pod_anti_affinity)
        for key in self._node_of if keeps_away else self._keep_away:
            node = self._node_of[key]
            other = self._on_node[node][key]
            if self._goes_first(other, asker, by_turn=by_turn):
                yield other, node

    def counted(self, asker: Asker, use: QuotaUse) -> Nominated:
        """Return what counts before *asker*.

        Of its own quota those that come before it do, of another all, as far as they are within its
        min in *use*.
        """
        mine = asker.queue
        own, named = list(self._zero), set[int]()
        by_turn = asker.key in self._were_nominated
        by_priority = {} if mine is None else self._by_priority.get(mine, {})
        for priority, askers in by_priority.items():
            if priority >= asker.priority:
                for other in askers.values():
                    if self._goes_first(other, asker, by_turn=by_turn):
                        _include(own, other.charge)
                        named.update(other.named)
        within, beyond = list(own), list(self._zero)
        for queue in self._sums:
            if queue != mine:
                rightful = self.rightful(queue, use)
                _include(within, rightful)
                _include(beyond, list(map(sub, self.promised_to(queue), rightful)))
        return Nominated(tuple(own), tuple(within), tuple(beyond), frozenset(named))

    def promised_to(self, queue: QueueName) -> Amounts:
        """Return what all nominated pods of a quota ask for."""
        total = list(self._zero)
        for amounts in self._sums.get(queue, {}).values():
            _include(total, amounts)
        return tuple(total)

    def rightful(self, queue: QueueName, use: QuotaUse) -> Amounts:
        """Return how much of what is promised to a quota is within its min.

        By the plugin's reading that is all, unless the quota is over its min in anything.
        """
        promised = self.promised_to(queue)
        if not self.keeps_promises:
            return self._zero if use.is_over_min[queue] else promised
        return tuple(map(min, promised, use.left_of_min(queue)))

    def _goes_first(self, other: Asker, asker: Asker, *, by_turn: bool) -> bool:
        """Return whether *other*, which is nominated, comes before *asker*.

        It does if it is as important. Where promises are kept, it does too if it is of another
        quota, or of none. But of two that wait for the same, the one that has its turn before goes
        first (*by_turn*), or each would be in the way of the other for ever.
        """
        if other.key == asker.key:
            return False
        if self.keeps_promises and by_turn:
            return other.turn < asker.turn
        is_promised = self.keeps_promises and other.queue != asker.queue
        return is_promised or other.priority >= asker.priority

    def _add(self, queue: QueueName, asker: Asker, sign: int) -> None:
        sums = self._sums.setdefault(queue, {})
        amounts = sums.setdefault(asker.priority, list(self._zero))
        _include(amounts, [sign * amount for amount in asker.charge])
        if not self._by_priority[queue][asker.priority]:
            del sums[asker.priority]
            if not sums:
                del self._sums[queue]


def _as_others_see(asker: Asker) -> Hashable:
    wanted = asker.pod_set
    around = (wanted.constraints.host_ports, wanted.constraints.pod_anti_affinity, wanted.labels)
    return (asker.turn, asker.requests, asker.charge, asker.named, around)


def _include(total: list[int], amounts: Amounts | list[int]) -> None:
    for axis, amount in enumerate(amounts):
        total[axis] += amount
