"""How much of a node's quota others use.

Kueue counts what is borrowed, never from whom: quota that rises to a cohort is one pool. Still a
team asks how much of its quota is away. This module keeps books that answer: what the children of
a cohort borrow, and what the cohort itself lends upward, comes from the cohort's own quota first,
since nobody else waits for it; the rest comes from the children that leave quota idle, in
proportion to what each leaves idle. No decision depends on it.
"""

from collections import defaultdict
from collections.abc import Sequence

from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from fairlead.model.axes import Amounts


def lent_quota(tree: QuotaTree, nodes: Sequence[QuotaNode]) -> dict[str, Amounts]:
    """Return for each of *nodes*, those of *tree* with parents first, what it lends, per axis.

    Nothing is lent that is retained or used, and a root lends nothing. At every cohort the books
    balance: what its children lend and what it gives of its own is what its children borrow, less
    what it borrows itself, and what it lends. (A root that has less than is used borrows that from
    nobody.) A child's part is exact to one base unit. Cost: O(nodes x axes).
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
            lent.update(zip(children, zip(*columns, strict=True), strict=True))
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
