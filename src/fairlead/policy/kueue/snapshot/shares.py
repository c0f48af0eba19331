"""What each ClusterQueue and Cohort has, uses, borrows, lends and could take by Kueue's rules."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from operator import add

import msgspec

from fairlead.fairness.dominant_share import DominantShare
from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.queue import ClusterQueue, Cohort, Queue
from fairlead.model.state import ClusterState


def lent_quota(tree: QuotaTree, nodes: Sequence[QuotaNode]) -> dict[str, Amounts]:
    """Return for each of *nodes*, those of *tree* with parents first, what it lends, per axis.

    Kueue counts what is borrowed, never from which queue: quota that rises to a cohort is one pool.
    Still a team asks how much of its quota others use. So what the children of a cohort borrow, and
    what the cohort itself lends upward, is taken from the cohort's own quota first, since no other
    queue waits for it; the rest from children that leave quota idle, in proportion to that. No
    decision depends on it.

    Nothing is lent that is retained or used, and a root lends nothing. At every cohort the books
    balance: what its children lend and what it gives of its own is what its children borrow, less
    what it borrows itself, and what it lends. (A root that has less than is used borrows that from
    no node.) A child's part is exact to one base unit. Cost: O(nodes x axes).
    """
    families: defaultdict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if node.parent is not None:
            families[node.parent].append(node.name)
    lent: dict[str, Amounts] = {
        node.name: (0,) * len(node.guaranteed) for node in nodes if node.parent is None
    }
    for node in nodes:
        children = families.get(node.name)
        if children:
            standings = [_standings(tree, child) for child in children]
            columns = [
                _children_lend(own, lends, column)
                for own, lends, *column in zip(
                    node.guaranteed, lent[node.name], *standings, strict=True
                )
            ]
            # Without an axis there is no column to say how many children there are.
            parts = zip(*columns, strict=True) if columns else [()] * len(children)
            lent.update(zip(children, parts, strict=True))
    return lent


def _standings(tree: QuotaTree, name: str) -> list[int]:
    """Return, per axis, what the node leaves idle of what its parent sees; negative: it borrows."""
    quotas = zip(tree.subtree(name), tree.retained(name), tree.charged(name), strict=True)
    return [subtree - max(retained, charged) for subtree, retained, charged in quotas]


def _children_lend(own: int, parent_lends: int, standings: Sequence[int]) -> list[int]:
    """Return what each child lends on one axis, where the parent brings *own*."""
    idle = [max(0, standing) for standing in standings]
    total = sum(idle)
    borrowed = total - sum(standings)
    from_children = min(total, max(0, borrowed + parent_lends - own))
    # Rounding the running total, not each part, keeps every error below one unit.
    parts, seen, given = [], 0, 0
    for amount in idle:
        seen += amount
        part = from_children * seen // total - given if seen else 0
        parts.append(part)
        given += part
    return parts


class KueueShare(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one node of the tree, an entry per quota axis (flavor x resource)."""

    queue: QueueName
    subtree: Amounts  # its own quota and what its children lend
    retained: Amounts  # the part that its parent never sees
    charged: Amounts  # of a cohort: what its children use beyond what they retain
    borrowed: Amounts  # 0 at a root, which has nothing to borrow from
    lent: Amounts  # what others use of the quota that its parent sees
    available: Amounts  # negative after quota was taken away under running work
    potential: Amounts  # the most it could ever hold
    listed: frozenset[int]  # axes on which it, or a node below it, has quota
    share: DominantShare


class KueueShares:
    """Quota, usage and dominant share of every node, and the tree they come from."""

    def __init__(self, state: ClusterState):
        """Set up the quota tree of *state*. Cost: O(nodes x axes)."""
        self._state = state
        self._names = state.tree_order()
        usage: dict[str, Amounts] = {
            name: _charged_to(state, name)
            for name in self._names
            if not isinstance(state.queues[name].extension, Cohort)
        }
        resources = [axis.resource for axis in state.axes.axes]
        self._nodes = [quota_node(state, state.queues[name]) for name in self._names]
        self.tree = QuotaTree(resources, self._nodes, usage)

    def rows(self) -> list[KueueShare]:
        """Return the numbers of every node, parents before children, siblings by name."""
        shares = self.tree.dominant_shares()
        lent = lent_quota(self.tree, self._nodes)
        return [self._row(name, shares[name], lent[name]) for name in self._names]

    def _row(self, name: QueueName, share: DominantShare, lent: Amounts) -> KueueShare:
        tree = self.tree
        charged, subtree = tree.charged(name), tree.subtree(name)
        has_parent = self._state.queues[name].parent is not None
        return KueueShare(
            queue=name,
            subtree=subtree,
            retained=tree.retained(name),
            charged=charged,
            borrowed=tuple(
                max(0, u - s) if has_parent else 0 for u, s in zip(charged, subtree, strict=True)
            ),
            lent=lent,
            available=tree.available(name),
            potential=tree.potential(name),
            listed=tree.listed(name),
            share=share,
        )


def _charged_to(state: ClusterState, queue: QueueName) -> Amounts:
    """Return what counts against the quota of *queue*, evicted workloads included."""
    sums = state.sums[queue]
    return tuple(map(add, sums.allocated, sums.leaving))


def quota_node(state: ClusterState, queue: Queue) -> QuotaNode:
    """Return *queue* as the quota tree sees it."""
    rules = queue.extension
    assert isinstance(rules, ClusterQueue | Cohort), queue.name
    axes = [axis for group in rules.resource_groups for axis in group.axes()]
    places = [state.axes.index(axis.resource, axis.flavor) for axis in axes]
    return QuotaNode(
        name=queue.name,
        parent=queue.parent,
        weight=queue.weights[0] if queue.weights else Decimal(1),
        guaranteed=tuple(amount or 0 for amount in queue.guaranteed),
        borrow_limit=queue.borrow_limit,
        lend_limit=queue.lend_limit,
        listed=frozenset(place for place in places if place is not None),
    )
