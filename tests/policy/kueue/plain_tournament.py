"""The tournament as its rules are told: everything anew at each turn, nothing remembered."""

from collections.abc import Mapping, Sequence
from functools import cmp_to_key

from fairlead.fairness.dominant_share import DominantShare
from fairlead.model.axes import Amounts, QueueName
from fairlead.policy.kueue.cycle.order import Head, OrderGates
from tests.fairness.reference_quota_tree import QuotaWorld, ReferenceTree, compare


class PlainTournament:
    """One tournament among *heads*, who are at least one."""

    def __init__(
        self,
        world: QuotaWorld,
        usage: Mapping[str, Amounts],
        heads: Sequence[Head],
        gates: OrderGates,
    ) -> None:
        self.parents = {node.name: node.parent for node in world.nodes}
        self.heads = heads
        self.gates = gates
        self.with_head = {
            head.name: ReferenceTree(
                world.axis_resources, world.nodes, {**usage, head.queue: _sum(usage, head)}
            )
            for head in heads
        }

    def winner(self) -> Head:
        """The winner of the tree whose name comes first, of those that have a head."""
        found = self.best(min(self.root(head.queue) for head in self.heads))
        assert found is not None
        return found

    def root(self, name: str) -> str:
        parent = self.parents[name]
        return name if parent is None else self.root(parent)

    def best(self, name: str) -> Head | None:
        """Who stands for a node: its own head, or the best of those who stand for its children."""
        own = [head for head in self.heads if head.queue == name]
        children = [child for child, parent in self.parents.items() if parent == name]
        sides = [(child, head) for child in children if (head := self.best(child)) is not None]
        if not sides:
            return own[0] if own else None
        return min(sides, key=cmp_to_key(self.compared))[1]

    def compared(self, a: tuple[str, Head], b: tuple[str, Head]) -> int:
        """-1 if *a* goes before *b*, rule by rule."""
        gates, (a_side, a_head), (b_side, b_head) = self.gates, a, b
        if gates.preemptors_first and a_head.is_preempting != b_head.is_preempting:
            return -1 if a_head.is_preempting else 1
        a_borrows, b_borrows = self.borrows(a_side, a_head), self.borrows(b_side, b_head)
        if gates.non_borrowing_first and a_borrows != b_borrows:
            return -1 if b_borrows else 1
        by_share = compare(self.share(a_side, a_head), self.share(b_side, b_head))
        if by_share != 0:
            return by_share
        if gates.priority_first and a_head.priority != b_head.priority:
            return -1 if a_head.priority > b_head.priority else 1
        if a_head.queued_ms != b_head.queued_ms:
            return -1 if a_head.queued_ms < b_head.queued_ms else 1
        return -1 if a_head.name < b_head.name else 1

    def borrows(self, side: str, head: Head) -> bool:
        tree = self.with_head[head.name]
        listed = tree.listed(side)
        return any(
            axis in listed and tree.usage(side, axis) > tree.subtree(side, axis)
            for axis, _ in head.usage
        )

    def share(self, side: str, head: Head) -> DominantShare:
        return self.with_head[head.name].dominant_share(side)


def charged(
    usage: Mapping[str, Amounts], queue: QueueName, more: Sequence[tuple[int, int]]
) -> Amounts:
    """What a ClusterQueue uses with *more*."""
    row = list(usage[queue])
    for axis, amount in more:
        row[axis] += amount
    return tuple(row)


def _sum(usage: Mapping[str, Amounts], head: Head) -> Amounts:
    return charged(usage, head.queue, head.usage)
