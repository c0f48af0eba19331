"""Which queue may use which quota: Kueue's tree of quota, lending and borrowing limits.

Every node may contribute quota. What a lending limit holds back is *retained*: only the node's own
subtree can use it. The rest is available to the parent, and through the parent the siblings can
borrow it, each at most up to its own borrowing limit. Amounts are kept per axis (flavor x
resource), and the axes never mix until shares are compared, so the tree is a bundle of independent
columns.

The tree counts; it does not decide what starts or is preempted. A root has no parent that its
limits could act on: they change neither what is available nor any share. Names and parents must be
valid already: an unknown parent, a cycle or a name used twice is a ``ValueError``.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from fairlead.fairness.dominant_share import (
    LEAST_RANK,
    DominantShare,
    Rank,
    borrowing_ratio,
    dominant_share,
    rank_of,
    weigh,
)
from fairlead.fairness.quota_axis import NO_PARENT, QuotaAxis, Ranks, ResourceAxes
from fairlead.fairness.quota_node import QuotaNode, parents_first
from fairlead.model.axes import Amounts

__all__ = ["OF_A_ROOT", "Prospect", "QuotaNode", "QuotaTree"]


class Prospect(msgspec.Struct, frozen=True, gc=False):
    """The borrowing and rank of a node if more were used below it."""

    borrows: bool  # on an axis that it lists and more is used of
    rank: Rank
    noticed: tuple[tuple[int, int], ...]  # by axis, how much more its parent would count; may be 0


OF_A_ROOT = Prospect(False, LEAST_RANK, ())  # no parent to borrow from


class QuotaTree:
    """Quota and usage of a forest of nodes, kept current as workloads come and go.

    Usage is charged at leaves. What exceeds a node's retained quota is passed on to its parent,
    so the state is a function of the leaves' sums alone: charging and discharging the same
    amounts, in any order, leads back to the same state.
    """

    def __init__(
        self,
        axis_resources: Sequence[str],
        nodes: Iterable[QuotaNode],
        usage: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        """A tree whose leaves use *usage* (absent: nothing). Cost: O(nodes x axes)."""
        ordered, self._index, families = parents_first(nodes)
        self._parents = [NO_PARENT] * len(ordered)
        for parent, children in families:
            self._parents[children] = [parent] * (children.stop - children.start)
        self._inner = {parent for parent, _ in families}
        self._names = list(self._index)
        self._weights = [node.weight for node in ordered]
        self._float_weights = [float(node.weight) for node in ordered]
        # Of all that changes, a share depends on the node's own usage alone.
        self._ranks = Ranks([None] * len(ordered))
        usage_rows = self._usage_rows(usage or {}, (0,) * len(axis_resources))
        self._axes = [
            QuotaAxis(
                axis,
                ordered,
                self._parents,
                families,
                [row[axis] for row in usage_rows],
                self._ranks,
            )
            for axis in range(len(axis_resources))
        ]
        # Alphabetical, so that the first resource to reach the worst ratio is the dominant one.
        names = sorted(set(axis_resources))
        self._resources = [
            ResourceAxes(
                name, [a for a, r in zip(self._axes, axis_resources, strict=True) if r == name]
            )
            for name in names
        ]
        self._columns = _columns(self._resources)
        self._is_plain = len(self._resources) == len(self._axes)  # one flavor of each resource

    def copy(self) -> "QuotaTree":
        """Return a tree of the same quota and usage, whose usage changes independently."""
        twin, ranks = QuotaTree.__new__(QuotaTree), Ranks(self._ranks.now.copy())
        axes = {id(axis): axis.copy(ranks) for axis in self._axes}
        resources = [resource.on(axes) for resource in self._resources]
        own = {"_ranks": ranks, "_axes": list(axes.values()), "_resources": resources}
        vars(twin).update(vars(self) | own | {"_columns": _columns(resources)})
        return twin

    def charge(self, name: str, amounts: Sequence[int]) -> None:
        """Add usage to a leaf. Cost: O(axes + depth x axes touched)."""
        leaf = self._leaf(name)
        for axis, amount in zip(self._axes, amounts, strict=True):
            if amount:
                axis.shift(leaf, amount)

    def discharge(self, name: str, amounts: Sequence[int]) -> None:
        """Subtract usage from a leaf: the exact inverse of ``charge``, at the same cost."""
        leaf = self._leaf(name)
        for axis, amount in zip(self._axes, amounts, strict=True):
            if amount:
                axis.shift(leaf, -amount)
                assert axis.usage[leaf] >= 0, f"{name}: discharged more than was charged"

    def charge_axes(self, name: str, amounts: Iterable[tuple[int, int]]) -> None:
        """Add usage to a leaf on some axes, by their index. Cost: O(depth x axes touched)."""
        leaf = self._leaf(name)
        for number, amount in amounts:
            self._axes[number].shift(leaf, amount)

    def discharge_axes(self, name: str, amounts: Iterable[tuple[int, int]]) -> None:
        """Subtract usage from a leaf: the exact inverse of ``charge_axes``, at the same cost."""
        leaf = self._leaf(name)
        for number, amount in amounts:
            self._axes[number].shift(leaf, -amount)

    def changes(self) -> list[str]:
        """Return the nodes whose usage changed since the last call; an undone change is none.

        If everything was undone, the earlier rank is known again. It serves one reader, because
        each change is returned once. Cost: O(nodes touched since x axes).
        """
        ranks = self._ranks
        changed: set[int] = set()
        for axis in self._axes:
            changed |= axis.changes()
        for node, rank in ranks.before.items():
            if node not in changed and rank is not None:
                ranks.now[node] = rank
        ranks.before.clear()
        return [self._names[node] for node in changed]

    def subtree(self, name: str) -> Amounts:
        """Return the quota of the node itself plus what its children do not retain."""
        node = self._index[name]
        return tuple(axis.subtree[node] for axis in self._axes)

    def retained(self, name: str) -> Amounts:
        """Return the part of the subtree quota that the lending limit keeps from the parent."""
        node = self._index[name]
        return tuple(axis.retained[node] for axis in self._axes)

    def potential(self, name: str) -> Amounts:
        """Return what the node could use at most if no other node used anything."""
        node = self._index[name]
        return tuple(axis.potential(node) for axis in self._axes)

    def charged(self, name: str) -> Amounts:
        """Return what is charged to a leaf; else what its children use beyond retained quota."""
        node = self._index[name]
        return tuple(axis.usage[node] for axis in self._axes)

    def available(self, name: str) -> Amounts:
        """Return what the node can still use now; negative if more is in use than is allowed.

        Charging an amount lowers it by exactly that amount. Cost: O(depth x axes).
        """
        node = self._index[name]
        return tuple(axis.available(node) for axis in self._axes)

    def is_exceeded(self, name: str) -> bool:
        """Return whether the node uses more than allowed on any axis. Cost: O(depth x axes)."""
        node = self._index[name]
        return any(axis.available(node) < 0 for axis in self._axes)

    def fits(self, name: str, request: Sequence[int]) -> bool:
        """Return whether every requested amount is available; a request of 0 is ignored."""
        node = self._index[name]
        return all(
            amount <= 0 or amount <= axis.available(node)
            for axis, amount in zip(self._axes, request, strict=True)
        )

    def lacking(self, name: str, request: Iterable[tuple[int, int]]) -> list[int]:
        """Return the axes on which more is requested than is available. Cost: that of `fits`."""
        node, axes = self._index[name], self._axes
        lacking = []
        for number, amount in request:
            if amount > 0 and amount > axes[number].available(node):
                lacking.append(number)
        return lacking

    def available_on(self, name: str, axis: int) -> int:
        """Return what the node can still use now on one axis. Cost: O(depth)."""
        return self._axes[axis].available(self._index[name])

    def potential_on(self, name: str, axis: int) -> int:
        """Return what the node could use at most on one axis."""
        return self._axes[axis].potential(self._index[name])

    def charged_on(self, name: str, axis: int) -> int:
        """Return what is charged to the node on one axis."""
        return self._axes[axis].usage[self._index[name]]

    def subtree_on(self, name: str, axis: int) -> int:
        """Return the subtree quota of the node on one axis; for a leaf, its own."""
        return self._axes[axis].subtree[self._index[name]]

    def retained_on(self, name: str, axis: int) -> int:
        """Return the part of the subtree quota on one axis that the lending limit keeps back."""
        return self._axes[axis].retained[self._index[name]]

    def borrow_limit_on(self, name: str, axis: int) -> int | None:
        """Return how much the node may borrow on one axis; None: as much as there is."""
        return self._axes[axis].borrow_limit(self._index[name])

    def ends_at(self, name: str, axis: int) -> str:
        """Return whose borrowing limit bounds what the node can still use; else the root.

        That is the lowest node from *name* upward where a limit lower by one would leave one less.
        """
        node = self._axes[axis].ends_at(self._index[name], of_potential=False)
        return self._names[node]

    def potential_ends_at(self, name: str, axis: int) -> str:
        """Return whose limit bounds what the node could use at most; compare ``ends_at``."""
        node = self._axes[axis].ends_at(self._index[name], of_potential=True)
        return self._names[node]

    def felt_at(self, name: str, leaf: str, axis: int) -> int:
        """Return how much less the node would use if *leaf* below it used nothing of an axis.

        What a node on the way retains does not count above it. Cost: O(depth).
        """
        column, bottom = self._axes[axis], self._index[leaf]
        return -column.noticed_at(self._index[name], bottom, -column.usage[bottom])

    def covering(self, name: str, axis: int, amount: int) -> str | None:
        """Return the lowest node from *name* upward whose quota covers *amount* more, or None.

        What a node retains unused is used first, and only the rest is needed from its ancestors.
        """
        node, column = self._index[name], self._axes[axis]
        while True:
            if column.usage[node] + amount <= column.subtree[node]:
                return self._names[node]
            parent = self._parents[node]
            if parent == NO_PARENT:
                return None
            amount -= max(0, column.retained[node] - column.usage[node])
            node = parent

    def borrows_any(self, name: str, axes: Iterable[int]) -> bool:
        """Return whether the node uses more than its subtree quota on one of *axes*."""
        node = self._index[name]
        for number in axes:
            axis = self._axes[number]
            if axis.usage[node] > axis.subtree[node]:
                return True
        return False

    def listed(self, name: str) -> frozenset[int]:
        """Return the axes for which the node or one below it lists quota."""
        node = self._index[name]
        return frozenset(number for number, axis in enumerate(self._axes) if axis.listed[node])

    def borrowed(self, name: str) -> dict[str, int]:
        """Return what the node borrows, by resource; resources without borrowing are left out.

        An unused flavor does not offset another one. A root has no parent to borrow from.
        """
        node = self._index[name]
        if self._parents[node] == NO_PARENT:
            return {}
        amounts = {resource.name: resource.over(node) for resource in self._resources}
        return {resource: amount for resource, amount in amounts.items() if amount > 0}

    def is_borrowing(self, name: str) -> bool:
        """``bool(borrowed(name))``, at a fraction of the cost."""
        node = self._index[name]
        if self._parents[node] == NO_PARENT:
            return False
        for axis in self._axes:
            if axis.usage[node] > axis.subtree[node] and axis.listed[node]:
                return True
        return False

    def lendable(self, name: str) -> dict[str, int]:
        """Return what the node's parent could use at most, by resource, summed over flavors."""
        parent = self._parents[self._index[name]]
        if parent == NO_PARENT:
            return {}
        return {resource.name: resource.lendable[parent] for resource in self._resources}

    def dominant_share(self, name: str) -> DominantShare:
        """Return the node's share as of now. Cost: O(axes)."""
        weight = self._weights[self._index[name]]
        return dominant_share(self.borrowed(name), self.lendable(name), weight)

    def rank(self, name: str) -> Rank:
        """Return ``dominant_share(name).rank``, kept until the node's usage changes.

        Cost: O(1); O(axes) the first time, and after a charge below that reached the node.
        """
        node = self._index[name]
        rank = self._ranks.now[node]
        if rank is None:
            rank = self._ranks.now[node] = self._rank(node)
        return rank

    def rank_without(self, name: str, leaf: str, less: Sequence[tuple[int, int]]) -> Rank:
        """Return the rank that the node would have if *leaf*, at or below it, used *less*, by axis.

        All usage stays as it is. Cost: O(axes + depth x axes of less).
        """
        node, bottom = self._index[name], self._index[leaf]
        noticed = []
        for number, amount in less:
            axis = self._axes[number]
            change = axis.noticed_at(node, bottom, -amount)
            axis.usage[node] += change
            noticed.append(change)
        rank = self._rank(node)
        for (number, _), change in zip(less, noticed, strict=True):
            self._axes[number].usage[node] -= change
        return rank

    def prospect(self, name: str, more: Sequence[tuple[int, int]]) -> Prospect:
        """Return borrowing and rank of the node if it used *more* by axis, none below 0.

        Usage stays as it is. What its parent would count leads to the parent's prospect, and so on
        upward, as if the lowest node were charged. A root borrows nothing, whatever it uses. Cost:
        O(axes).
        """
        node, axes = self._index[name], self._axes
        parent = self._parents[node]
        if parent == NO_PARENT:
            return OF_A_ROOT
        # Nothing is used less, so the rank is at least that of now.
        rank = self._ranks.now[node] or self.rank(name)
        noticed, borrows = [], False
        for number, amount in more:
            axis = axes[number]
            used, retained = axis.usage[node], axis.retained[node]
            later = used + amount
            over = later - axis.subtree[node]
            if over > 0 and axis.listed[node]:
                borrows = True
                if self._is_plain:
                    ratio = borrowing_ratio(over, axis.lendable[parent])
                    rank = max(rank, rank_of(ratio, self._float_weights[node]))
            if retained:  # only what exceeds it reaches the parent, now and later
                amount = max(later, retained) - max(used, retained)
            noticed.append((number, amount))
        if not self._is_plain:
            rank = self._rank_with(node, more)
        return Prospect(borrows, rank, tuple(noticed))

    def _rank_with(self, node: int, more: Sequence[tuple[int, int]]) -> Rank:
        """Return the rank of a node if it used *more*."""
        for number, amount in more:
            self._axes[number].usage[node] += amount
        rank = self._rank(node)
        for number, amount in more:
            self._axes[number].usage[node] -= amount
        return rank

    def dominant_shares(self) -> dict[str, DominantShare]:
        """Return the share of every node: ``dominant_share`` for all, at a fraction of the cost.

        Cost: O(nodes x axes), with arithmetic only where something is borrowed.
        """
        parents = self._parents
        worst = [0.0] * len(parents)
        dominant: list[str | None] = [None] * len(parents)
        borrowing = [False] * len(parents)
        for resource in self._resources:
            lendable = resource.lendable
            for node, amount in resource.overs().items():
                parent = parents[node]
                if parent == NO_PARENT:
                    continue
                borrowing[node] = True
                ratio = borrowing_ratio(amount, lendable[parent])
                if ratio > worst[node]:
                    worst[node] = ratio
                    dominant[node] = resource.name
        shares = map(weigh, worst, self._weights, dominant, borrowing)
        return dict(zip(self._index, shares, strict=True))

    def _rank(self, node: int) -> Rank:
        """Return the rank of the share, in one loop: no search does anything as often as this."""
        parent = self._parents[node]
        if parent == NO_PARENT:
            return LEAST_RANK
        worst = 0.0
        for columns, lendable in self._columns:
            over = 0
            for usage, subtree, listed in columns:
                beyond = usage[node] - subtree[node]
                if beyond > 0 and listed[node]:
                    over += beyond
            if over:
                worst = max(worst, borrowing_ratio(over, lendable[parent]))
        return rank_of(worst, self._float_weights[node])

    def _usage_rows(
        self, usage: Mapping[str, Sequence[int]], nothing: Sequence[int]
    ) -> list[Sequence[int]]:
        """Return what is charged at each node itself, in the order of the nodes."""
        rows = [nothing] * len(self._parents)
        for name, amounts in usage.items():
            rows[self._index[name]] = amounts
        assert all(rows[node] is nothing for node in self._inner), "usage is charged at leaves"
        return rows

    def _leaf(self, name: str) -> int:
        node = self._index[name]
        assert node not in self._inner, f"{name} has children: usage is charged at leaves"
        return node


def _columns(
    resources: Sequence[ResourceAxes],
) -> list[tuple[list[tuple[list[int], list[int], list[bool]]], dict[int, int]]]:
    """Return usage, quota and listing of each flavor by resource, and what can be lent."""
    return [
        ([(axis.usage, axis.subtree, axis.listed) for axis in each.axes], each.lendable)
        for each in resources
    ]
