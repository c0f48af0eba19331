"""One axis (flavor x resource) of the quota tree, as columns indexed by node.

The axes never mix: each holds the quota of every node, how much of it is retained, and the usage.
Nodes are numbers here, parents before children; names and shares belong to the tree.
"""

from collections.abc import Mapping
from operator import sub

from fairlead.fairness.dominant_share import Rank
from fairlead.fairness.quota_node import Family, QuotaNode

NO_PARENT = -1  # the parent of a root


class Ranks:
    """The known ranks of the nodes, and those known before their usage changed."""

    __slots__ = ("before", "now")

    def __init__(self, now: list[Rank | None]) -> None:
        self.now = now  # None: to be computed
        self.before: dict[int, Rank | None] = {}  # of nodes touched since `QuotaTree.changes`


class QuotaAxis:
    """One axis of the tree: a column per quantity, indexed by node, parents before children."""

    __slots__ = (
        "borrow_limits",
        "lendable",
        "listed",
        "nodes",
        "number",
        "parents",
        "ranks",
        "retained",
        "subtree",
        "usage",
        "usage_before",
        "ways",
    )

    def __init__(
        self,
        axis: int,
        nodes: list[QuotaNode],
        parents: list[int],
        families: list[Family],
        usage: list[int],
        ranks: Ranks,
    ) -> None:
        """Take over *usage*, which holds the sums of the leaves, and complete it.

        *ranks* belongs to the tree: an entry is removed when the usage of its node changes.
        """
        self.number = axis
        self.nodes = nodes
        self.ranks = ranks
        self.parents = parents
        self.subtree = [node.guaranteed[axis] for node in nodes]
        self.listed = [axis in node.listed for node in nodes]
        self.borrow_limits = [node.borrow_limit[axis] for node in nodes]
        self.retained = [0] * len(nodes)
        self.usage = usage
        self.usage_before: dict[int, int] = {}  # of nodes touched since `changes`
        self._gather(families)
        self.ways = self._ways()
        self.lendable: dict[int, int] = {}  # the potential of each node that has children
        for parent, _ in families:
            self.lendable[parent] = self.potential(parent)

    def copy(self, ranks: Ranks) -> "QuotaAxis":
        """Return the same column for another tree, with usage of its own."""
        twin = QuotaAxis.__new__(QuotaAxis)  # field by field: `copy` takes four times as long
        twin.number, twin.nodes, twin.parents = self.number, self.nodes, self.parents
        twin.subtree, twin.retained, twin.listed = self.subtree, self.retained, self.listed
        twin.lendable, twin.borrow_limits, twin.ways = self.lendable, self.borrow_limits, self.ways
        twin.usage = self.usage.copy()
        twin.usage_before = {}
        twin.ranks = ranks
        return twin

    def _gather(self, families: list[Family]) -> None:
        """Sum quota and usage from the leaves to the roots, one family at a time."""
        axis, nodes = self.number, self.nodes
        subtree, retained, usage, listed = self.subtree, self.retained, self.usage, self.listed
        # Correct for leaves; that of a parent is set once its children are summed.
        for position, node in enumerate(nodes):
            limit = node.lend_limit[axis]
            if limit is not None:
                retained[position] = max(0, subtree[position] - limit)
        for parent, children in reversed(families):
            kept = sum(retained[children])
            used = sum(usage[children])
            if kept:
                used -= sum(map(min, usage[children], retained[children]))
            subtree[parent] += sum(subtree[children]) - kept
            usage[parent] = used
            listed[parent] = listed[parent] or any(listed[children])
            limit = nodes[parent].lend_limit[axis]
            if limit is not None:
                retained[parent] = max(0, subtree[parent] - limit)

    def _ways(self) -> list[tuple[int, ...]]:
        """From each node upward, the nodes that retain something or have a limit, then the root."""
        ways: list[tuple[int, ...]] = []
        for node, parent in enumerate(self.parents):
            if parent == NO_PARENT:
                ways.append((node,))
            elif self.retained[node] or self.borrow_limits[node] is not None:
                ways.append((node, *ways[parent]))
            else:
                ways.append(ways[parent])
        return ways

    def potential(self, node: int) -> int:
        """Return what the node could use at most; the values of its ancestors must be known."""
        parent = self.parents[node]
        if parent == NO_PARENT:
            return self.subtree[node]
        reach = self.retained[node] + self.lendable[parent]
        limit = self.borrow_limits[node]
        return reach if limit is None else min(reach, self.subtree[node] + limit)

    def borrow_limit(self, node: int) -> int | None:
        """Return how much the node may borrow; None: as much as there is."""
        return self.borrow_limits[node]

    def shift(self, node: int, amount: int) -> None:
        """Change the usage of a leaf, and of its ancestors as far as it reaches them."""
        parents, ranks, before = self.parents, self.ranks.now, self.usage_before
        usage, retained = self.usage, self.retained
        while node != NO_PARENT and amount:
            used = usage[node]
            if node not in before:
                before[node] = used
                self.ranks.before.setdefault(node, ranks[node])
            ranks[node] = None
            later = usage[node] = used + amount
            kept = retained[node]
            if kept:  # only what exceeds it reaches the parent, now and later
                amount = max(later, kept) - max(used, kept)
            node = parents[node]

    def changes(self) -> set[int]:
        """Return the nodes whose usage changed since the last call. Cost: those touched since."""
        usage, before = self.usage, self.usage_before
        changed = {node for node, amount in before.items() if usage[node] != amount}
        before.clear()
        return changed

    def noticed(self, node: int, amount: int) -> int:
        """Return by how much the usage of the parent would change with that of the node.

        A parent counts only what exceeds the child's retained quota, so it changes by as much as
        that excess does. One rule for both signs makes removing the inverse of adding.
        """
        retained = self.retained[node]
        if not retained:  # true for most nodes; usage is never below 0
            return amount
        used = self.usage[node] - retained
        return max(0, used + amount) - max(0, used)

    def noticed_at(self, top: int, leaf: int, amount: int) -> int:
        """Return by how much the usage of *top* would change with that of *leaf* below it."""
        retained, parents = self.retained, self.parents
        while leaf != top:
            if retained[leaf]:
                amount = self.noticed(leaf, amount)
            leaf = parents[leaf]
        return amount

    def available(self, node: int) -> int:
        """Return what the node can still use; may be negative.

        Seen from the node, each borrowing limit on the way to the root bounds the sum of the unused
        retained quota so far and the room under that limit. Cost: the nodes on the way that retain
        something or have a limit.
        """
        way = self.ways[node]
        root = way[-1]
        reach = self.subtree[root] - self.usage[root]
        if len(way) == 1:
            return reach
        slack = 0
        bound: int | None = None
        for node in way[:-1]:
            retained, limit = self.retained[node], self.borrow_limits[node]
            beyond = self.usage[node] - retained
            if beyond < 0:
                slack -= beyond
            if limit is not None:
                room = slack + self.subtree[node] - retained - max(0, beyond) + limit
                bound = room if bound is None else min(bound, room)
        reach += slack
        return reach if bound is None else min(bound, reach)

    def ends_at(self, node: int, *, of_potential: bool) -> int:
        """Return the lowest node upward whose limit bounds what *node* can use; else the root.

        A borrowing limit leaves quota + limit - usage. If that is all that a node can use, the
        limit counts. The potential is what is available if nothing is used. Cost: O(depth^2).
        """
        while (parent := self.parents[node]) != NO_PARENT:
            limit = self.borrow_limit(node)
            if limit is not None:
                used = 0 if of_potential else self.usage[node]
                most = self.potential(node) if of_potential else self.available(node)
                if self.subtree[node] + limit - used == most:
                    return node
            node = parent
        return node

    def overs(self) -> dict[int, int]:
        """Return the usage above the quota, for every node that lists the axis and has some."""
        listed = self.listed
        return {
            node: over
            for node, over in enumerate(map(sub, self.usage, self.subtree))
            if over > 0 and listed[node]
        }


class ResourceAxes:
    """The axes of one resource, one per flavor, and what each node could use of it at most."""

    __slots__ = ("axes", "lendable", "name")

    def __init__(self, name: str, axes: list[QuotaAxis]) -> None:
        self.name = name
        self.axes = axes
        by_flavor = (axis.lendable.values() for axis in axes)
        totals = map(sum, zip(*by_flavor, strict=True))
        self.lendable = dict(zip(axes[0].lendable, totals, strict=True))

    def on(self, axes: Mapping[int, QuotaAxis]) -> "ResourceAxes":
        """Return the same resource on the columns that replace its own, by their identity."""
        twin = ResourceAxes.__new__(ResourceAxes)
        twin.name, twin.lendable = self.name, self.lendable
        twin.axes = [axes[id(axis)] for axis in self.axes]
        return twin

    def over(self, node: int) -> int:
        """Return what the node uses above its quota, summed over the flavors that it lists."""
        total = 0
        for axis in self.axes:
            over = axis.usage[node] - axis.subtree[node]
            if over > 0 and axis.listed[node]:
                total += over
        return total

    def overs(self) -> dict[int, int]:
        """``over`` of every node where it is positive."""
        first, *others = (axis.overs() for axis in self.axes)
        for other in others:
            for node, amount in other.items():
                first[node] = first.get(node, 0) + amount
        return first
