"""Which sub-groups of a job must start, where not all of them must.

A job, or a sub-group with others below it, may say how many of those just below are enough. They
are chosen at each level of the tree: those that have what they need before those that lack
something, then by name, as many as must start. So a choice that was begun is finished first, and
the one that is made first depends on names alone.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from fairlead.model.workload import KaiJob, SubGroup


class Branch(NamedTuple):
    """Sub-groups by name, of which as many as ``needed`` must start."""

    needed: int
    below: tuple["Part", ...]


Part: TypeAlias = int | Branch
"""A leaf, by its place among the groups of the job, or what is above some."""


def tree_of(job: KaiJob, leaves: Mapping[str, int]) -> Branch:
    """Return the tree of the sub-groups of *job*; *leaves* are the places of those with pods."""
    below: dict[str | None, list[SubGroup]] = {}
    for each in sorted(job.sub_groups, key=lambda group: group.name):
        below.setdefault(each.parent, []).append(each)

    def branch(name: str | None, needed: int | None) -> Branch:
        parts = tuple(
            leaves[each.name] if each.name in leaves else branch(each.name, each.min_sub_group)
            for each in below[name]
        )
        return Branch(len(parts) if needed is None else min(needed, len(parts)), parts)

    return branch(None, job.min_sub_group)


def needs_all(part: Part) -> bool:
    """Return whether every leaf must start."""
    if isinstance(part, int):
        return True
    return part.needed == len(part.below) and all(map(needs_all, part.below))


def needed_leaves(part: Part, full: Sequence[bool]) -> list[int]:
    """Return the leaves that must have their minimum; *full* says which have it.

    Cost: each level looks at all that is below it.
    """
    if isinstance(part, int):
        return [part]
    first = sorted(part.below, key=lambda each: not _is_full(each, full))[: part.needed]
    return [leaf for each in first for leaf in needed_leaves(each, full)]


def fewest_pods(part: Part, minimums: Sequence[int]) -> int:
    """Return how many pods the choice with the smallest *minimums* needs."""
    if isinstance(part, int):
        return minimums[part]
    return sum(sorted([fewest_pods(each, minimums) for each in part.below])[: part.needed])


def _is_full(part: Part, full: Sequence[bool]) -> bool:
    if isinstance(part, int):
        return full[part]
    return sum([_is_full(each, full) for each in part.below]) >= part.needed
