"""Which queues are shown together in one chart, and which of them are drawn as one.

A chart holds a handful of colours. So queues are shown by levels: those at the top, then inside
each inner queue, and all leaves at once; in each group those that matter most are drawn by
themselves and the others together.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from fairlead.sim.measures.summary import Summary

MOST_MEMBERS: Final = 8
"""Queues in one chart, the one for all others included."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Queues of one chart, by name."""

    title: str
    parent: str | None
    members: tuple[str, ...]
    others: tuple[str, ...]


class QueueTree:
    """The queues of a run, in the order of names, with those beneath each."""

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        """Read the tree of queues."""
        self.parents = parents
        self.children: dict[str | None, list[str]] = {}
        for name in sorted(parents):
            self.children.setdefault(parents[name], []).append(name)

    def leaves(self) -> list[str]:
        """Return the queues that have none beneath them."""
        return [name for name in sorted(self.parents) if name not in self.children]

    def inner(self) -> list[str]:
        """Return the queues that have some, from the top down."""
        found, level = [], self.children.get(None, [])
        while level:
            inner = [name for name in level if name in self.children]
            found += inner
            level = [child for name in inner for child in self.children[name]]
        return found


def queue_groups(
    parents: Mapping[str, str | None], weights: Mapping[str, float], most: int
) -> tuple[list[Group], int]:
    """Return at most *most* groups, and how many more there would be.

    The first one has the queues at the top, or of the first level at which there are several. A
    queue alone in its group is not worth a chart, unless there is no other. Of too many groups
    those are left out whose queue has the least weight.
    """
    tree = QueueTree(parents)
    groups = [_group("queues at the top", None, tree.children.get(None, []), weights)]
    groups += [
        _group(f"inside {name}", name, tree.children[name], weights) for name in tree.inner()
    ]
    if tree.inner():
        groups.append(_group("all leaves", None, tree.leaves(), weights))
    groups = [group for group in groups if len(group.members) > 1] or groups[:1]
    heaviest = sorted(groups[1:], key=lambda each: -weights.get(each.parent or "", 0.0))
    kept = {group.title for group in [groups[0], *heaviest[: most - 1]]}
    shown = [group for group in groups if group.title in kept]
    return shown, len(groups) - len(shown)


def queue_weights(summaries: Sequence[Summary], resources: Sequence[str]) -> dict[str, float]:
    """Return how much each queue matters: its largest part of the cluster, held or due.

    It is summed over runs, so that the same queues have the same colours in all of them.
    """
    weights: dict[str, float] = {}
    for summary in summaries:
        for name, row in summary.of_queues.items():
            parts = [
                max(row.allocated[each], row.entitled[each]) / summary.of_cluster.capacity[each]
                for each in resources
                if summary.of_cluster.capacity[each]
            ]
            weights[name] = weights.get(name, 0.0) + max(parts, default=0.0)
    return weights


def _group(
    title: str, parent: str | None, names: Sequence[str], weights: Mapping[str, float]
) -> Group:
    """Return the group of *names*; if there are too many, the light ones are its others."""
    if len(names) <= MOST_MEMBERS:
        return Group(title=title, parent=parent, members=tuple(names), others=())
    by_weight = sorted(names, key=lambda name: (-weights.get(name, 0.0), name))
    kept = set(by_weight[: MOST_MEMBERS - 1])
    return Group(
        title=title,
        parent=parent,
        members=tuple(name for name in names if name in kept),
        others=tuple(name for name in names if name not in kept),
    )
