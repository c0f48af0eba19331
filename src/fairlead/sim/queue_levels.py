"""How queues hang together, before it is known that they form a tree: circles, and how deep."""

from collections.abc import Mapping
from typing import Final

MOST_LEVELS: Final = 2000
"""Of queues below each other: no company is that deep, and every job is counted at each of them."""


def in_circles(parents: Mapping[str, str | None]) -> set[str]:
    """Return who is its own ancestor, by the parent of each. Cost: linear, however deep."""
    found: set[str] = set()
    passed: set[str] = set()
    for name in parents:
        way: dict[str, None] = {}  # from here up, in order
        at: str | None = name
        while at is not None and at in parents and at not in passed and at not in way:
            way[at] = None
            at = parents[at]
        if at is not None and at in way:
            steps = list(way)
            found.update(steps[steps.index(at) :])
        passed.update(way)
    return found


def first_too_deep(parents: Mapping[str, str | None]) -> str | None:
    """Return a queue that is deeper than `MOST_LEVELS`, the least deep of those; None: none is."""
    below: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        below.setdefault(parent, []).append(name)
    level = below.get(None, [])
    for _ in range(MOST_LEVELS):
        level = [name for above in level for name in below.get(above, [])]
    return level[0] if level else None
