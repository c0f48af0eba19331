"""Orders the nodes of a forest so that whole levels can be summed at once."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias, TypeVar

Family: TypeAlias = tuple[int, slice]
"""The position of a parent, and those of its children."""


class Named(Protocol):
    """A node that names its parent; None: a root."""

    @property
    def name(self) -> str: ...

    @property
    def parent(self) -> str | None: ...


Node = TypeVar("Node", bound=Named)


def parents_first(nodes: Iterable[Node]) -> tuple[list[Node], dict[str, int], list[Family]]:
    """Return the nodes level by level, siblings together; their positions; and their families.

    An unknown parent, a cycle or a name used twice is a ``ValueError``. Cost: O(n).
    """
    children: dict[str | None, list[Node]] = defaultdict(list)
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


def _unreachable(children: Mapping[str | None, list[Node]]) -> str:
    """Return why no root leads to these parents."""
    names = {node.name for siblings in children.values() for node in siblings}
    unknown = sorted(str(parent) for parent in children if parent not in names)
    if unknown:
        return f"parent {unknown[0]!r} does not exist"
    return f"parent {min(map(str, children))!r} is its own ancestor or below one that is"
