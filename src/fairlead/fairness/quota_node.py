"""What a queue or cohort contributes to the quota tree, and the nodes in an order to sum them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TypeAlias

import msgspec

from fairlead.model.axes import Amounts, Limits


class QuotaNode(msgspec.Struct, frozen=True, kw_only=True):
    """One queue or cohort with the quota that it contributes, one entry per axis.

    An axis outside ``listed`` is guaranteed 0 and has no limits. It still differs from a listed 0:
    a node's dominant share reads only axes that it, or a node below it, lists.
    """

    name: str
    parent: str | None  # None: a root
    weight: Decimal
    guaranteed: Amounts
    borrow_limit: Limits
    lend_limit: Limits
    listed: frozenset[int]


Family: TypeAlias = tuple[int, slice]
"""The position of a parent, and those of its children."""


def parents_first(
    nodes: Iterable[QuotaNode],
) -> tuple[list[QuotaNode], dict[str, int], list[Family]]:
    """Return the nodes level by level, siblings together; their positions; and their families.

    An unknown parent, a cycle or a name used twice is a ``ValueError``. Cost: O(n).
    """
    children: dict[str | None, list[QuotaNode]] = defaultdict(list)
    for node in nodes:
        children[node.parent].append(node)
    ordered = children.pop(None, [])
    index: dict[str, int] = {}
    families: list[Family] = []
    for position, node in enumerate(ordered):  # grows while it is walked
        name = node.name
        index[name] = position
        if name in children:
            first = len(ordered)
            ordered += children.pop(name)
            families.append((position, slice(first, len(ordered))))
    if children:
        raise ValueError(_unreachable(children))
    if len(index) != len(ordered):
        raise ValueError("two nodes have the same name")
    return ordered, index, families


def _unreachable(children: Mapping[str | None, list[QuotaNode]]) -> str:
    """Return why no root leads to these parents."""
    names = {node.name for siblings in children.values() for node in siblings}
    unknown = sorted(str(parent) for parent in children if parent not in names)
    if unknown:
        return f"parent {unknown[0]!r} does not exist"
    return f"parent {min(map(str, children))!r} is its own ancestor or below one that is"
