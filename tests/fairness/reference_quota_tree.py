"""The quota tree as its formulas are written: recursive, slow, nothing remembered.

The fast tree must equal it on every input; random inputs come from here too.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec
from hypothesis import strategies as st

from fairlead.fairness.dominant_share import DominantShare
from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from fairlead.model.axes import Amounts


class ReferenceTree:
    def __init__(
        self,
        axis_resources: Sequence[str],
        nodes: Sequence[QuotaNode],
        usage: Mapping[str, Sequence[int]],
    ) -> None:
        self.axis_resources = axis_resources
        self.nodes = {node.name: node for node in nodes}
        self.leaf_usage = usage

    def children(self, name: str) -> list[str]:
        return [node.name for node in self.nodes.values() if node.parent == name]

    def subtree(self, name: str, axis: int) -> int:
        lent = [self.subtree(c, axis) - self.retained(c, axis) for c in self.children(name)]
        return self.nodes[name].guaranteed[axis] + sum(lent)

    def retained(self, name: str, axis: int) -> int:
        limit = self.nodes[name].lend_limit[axis]
        return 0 if limit is None else max(0, self.subtree(name, axis) - limit)

    def usage(self, name: str, axis: int) -> int:
        children = self.children(name)
        if not children:
            return self.leaf_usage[name][axis] if name in self.leaf_usage else 0
        return sum(max(0, self.usage(c, axis) - self.retained(c, axis)) for c in children)

    def available(self, name: str, axis: int) -> int:
        node = self.nodes[name]
        subtree, used = self.subtree(name, axis), self.usage(name, axis)
        if node.parent is None:
            return subtree - used
        retained = self.retained(name, axis)
        from_parent = self.available(node.parent, axis)
        limit = node.borrow_limit[axis]
        if limit is not None:
            from_parent = min(from_parent, (subtree - retained) - max(0, used - retained) + limit)
        return max(0, retained - used) + from_parent

    def potential(self, name: str, axis: int) -> int:
        node = self.nodes[name]
        if node.parent is None:
            return self.subtree(name, axis)
        reach = self.retained(name, axis) + self.potential(node.parent, axis)
        limit = node.borrow_limit[axis]
        return reach if limit is None else min(reach, self.subtree(name, axis) + limit)

    def listed(self, name: str) -> set[int]:
        below = [self.listed(child) for child in self.children(name)]
        return set(self.nodes[name].listed).union(*below)

    def dominant_share(self, name: str) -> DominantShare:
        node = self.nodes[name]
        over: dict[str, int] = {}
        if node.parent is not None:
            for axis in self.listed(name):
                resource = self.axis_resources[axis]
                excess = max(0, self.usage(name, axis) - self.subtree(name, axis))
                over[resource] = over.get(resource, 0) + excess
        ratios = {
            resource: float(amount) * 1000.0 / float(lendable)
            for resource, amount in over.items()
            if (lendable := self.lendable(node.parent, resource)) > 0
        }
        ratio = max(ratios.values(), default=0.0)
        weight = float(node.weight)
        return DominantShare(
            ratio=ratio,
            weight=node.weight,
            share=0.0 if ratio == 0 else math.inf if weight == 0 else ratio / weight,
            dominant=min(r for r in ratios if ratios[r] == ratio) if ratio else None,
            borrowing=any(amount > 0 for amount in over.values()),
        )

    def lendable(self, parent: str | None, resource: str) -> int:
        assert parent is not None
        axes = [axis for axis, name in enumerate(self.axis_resources) if name == resource]
        return sum(self.potential(parent, axis) for axis in axes)


def compare(a: DominantShare, b: DominantShare) -> int:
    """-1, 0 or 1, case by case as the rule is told."""
    a_weightless = a.weight == 0 and a.ratio != 0
    b_weightless = b.weight == 0 and b.ratio != 0
    if a_weightless and b_weightless:
        return (a.ratio > b.ratio) - (a.ratio < b.ratio)
    if a_weightless or b_weightless:
        return 1 if a_weightless else -1
    return (a.share > b.share) - (a.share < b.share)


class QuotaWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A random forest and what its leaves use."""

    axis_resources: tuple[str, ...]
    nodes: tuple[QuotaNode, ...]
    usage: dict[str, Amounts]

    @property
    def leaves(self) -> list[str]:
        parents = {node.parent for node in self.nodes}
        return [node.name for node in self.nodes if node.name not in parents]

    def tree(self) -> QuotaTree:
        return QuotaTree(self.axis_resources, self.nodes, self.usage)

    def amounts(self) -> st.SearchStrategy[Amounts]:
        """What a workload may ask for: small, often nothing on an axis."""
        return st.tuples(*[st.integers(0, 6)] * len(self.axis_resources))

    @staticmethod
    def halves(row: Amounts) -> list[Amounts]:
        """Two charges that sum to the row."""
        return [tuple(a // 2 for a in row), tuple(a - a // 2 for a in row)]


WEIGHTS = [Decimal(text) for text in ("0", "0.5", "1", "1", "2", "3.7")]
LIMITS = st.none() | st.integers(0, 8)


@st.composite
def quota_worlds(draw: st.DrawFn) -> QuotaWorld:
    axis_resources = draw(st.lists(st.sampled_from(["cpu", "gpu"]), min_size=1, max_size=3))
    nodes: list[QuotaNode] = []
    for position in range(draw(st.integers(1, 8))):
        parent = draw(st.none() | st.sampled_from(nodes)) if nodes else None
        nodes.append(draw(_node(f"n{position}", parent, len(axis_resources))))
    world = QuotaWorld(axis_resources=tuple(axis_resources), nodes=tuple(nodes), usage={})
    row = st.tuples(*[st.integers(0, 15)] * len(axis_resources))
    usage = {leaf: draw(row) for leaf in world.leaves if draw(st.booleans())}
    return msgspec.structs.replace(world, usage=usage)


@st.composite
def _node(draw: st.DrawFn, name: str, parent: QuotaNode | None, axes: int) -> QuotaNode:
    listed = draw(st.frozensets(st.integers(0, axes - 1)))
    return QuotaNode(
        name=name,
        parent=None if parent is None else parent.name,
        weight=draw(st.sampled_from(WEIGHTS)),
        guaranteed=tuple(draw(st.integers(0, 10)) if axis in listed else 0 for axis in range(axes)),
        borrow_limit=tuple(draw(LIMITS) if axis in listed else None for axis in range(axes)),
        lend_limit=tuple(draw(LIMITS) if axis in listed else None for axis in range(axes)),
        listed=listed,
    )
