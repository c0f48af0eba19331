"""Reads the sub-groups of a KAI PodGroup, a small tree with minimums of its own."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from fairlead.manifest.core.tree_checks import cycles
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import quote
from fairlead.model.workload import SubGroup

_LIST: Final = "subGroups"


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-group as the checks of trees want it, and its place in the list."""

    source: Source
    name: str
    parent: str
    at: int


def read_sub_groups(spec: Cursor) -> tuple[tuple[SubGroup, ...] | None, bool]:
    """Read all sub-groups in their order, and whether one of them requires a topology.

    Where names are double, a parent is missing or sub-groups form a cycle, that is reported, and
    they are None.
    """
    items = spec.items(_LIST)
    found = tuple(_read_sub_group(item) for item in items)
    needs_topology = [requires_topology(item) for item in items]  # reads every one of them
    places = [
        _Place(source=spec.source, name=each.name, parent=each.parent or "", at=at)
        for at, each in enumerate(found)
        if each.name  # else reported already
    ]
    # Each looks for itself, so that one mistake does not hide another.
    checks = (_check_names(spec, places), _check_cycles(spec, places))
    is_sound = len(places) == len(found) and all(checks)
    return (found if is_sound else None), any(needs_topology)


def requires_topology(cursor: Cursor) -> bool:
    """Return whether pods must stand close together; that they should is no constraint."""
    constraint = cursor.mapping("topologyConstraint")
    constraint.text("topology", "")
    constraint.text("preferredTopologyLevel", "")
    return constraint.text("requiredTopologyLevel", "") != ""


def least_pods(sub_groups: Sequence[SubGroup], min_sub_group: int | None) -> int:
    """Return the fewest pods with which a group without ``minMember`` can run.

    A sub-group with others below it needs all of them, or the cheapest ``min_sub_group``; a leaf
    without a minimum needs one pod. Cost: one look at each, and sorting.
    """
    minimums: dict[str | None, list[int]] = defaultdict(list)  # of the children of each
    for each in _children_first(sub_groups):
        if each.min_member is not None and not minimums[each.name]:
            least = each.min_member
        else:
            least = _cheapest(minimums[each.name], each.min_sub_group)
        minimums[each.parent].append(least)
    return max(1, _cheapest(minimums[None], min_sub_group))


def _read_sub_group(item: Cursor) -> SubGroup:
    return SubGroup(
        name=item.text("name"),
        parent=item.text("parent", "") or None,
        min_member=item.integer("minMember", None, minimum=0, maximum=MAX_COUNT),
        min_sub_group=item.integer("minSubGroup", None, minimum=1, maximum=MAX_COUNT),
    )


def _check_names(spec: Cursor, places: Sequence[_Place]) -> bool:
    """Report double names and missing parents; return whether there are none."""
    names: set[str] = set()
    is_sound = True
    for each in places:
        if each.name in names:
            message = f"found the sub-group {quote(each.name)} twice, expected each name once"
            spec.error((_LIST, each.at, "name"), "duplicate-entry", message, "rename one")
            is_sound = False
        names.add(each.name)
    for each in places:
        if each.parent and each.parent not in names:
            message = f"found the parent {quote(each.parent)}, expected another sub-group's name"
            spec.error(
                (_LIST, each.at, "parent"), "missing-parent", message, "correct or remove it"
            )
            is_sound = False
    return is_sound


def _check_cycles(spec: Cursor, places: Sequence[_Place]) -> bool:
    firsts = {each.name: each for each in reversed(places)}  # of a double name
    found = [each for cycle in cycles(list(firsts.values())) for each in cycle]
    for each in found:
        message = f"found the sub-group {quote(each.name)}, which is its own ancestor"
        spec.error((_LIST, each.at, "parent"), "cycle", message, "give it another parent, or none")
    return not found


def _children_first(sub_groups: Sequence[SubGroup]) -> list[SubGroup]:
    """Return every sub-group after all that are below it."""
    below: dict[str | None, list[SubGroup]] = defaultdict(list)
    for each in sub_groups:
        below[each.parent].append(each)
    ordered = list(below[None])
    for each in ordered:  # it grows while it is walked
        ordered.extend(below[each.name])
    return ordered[::-1]


def _cheapest(minimums: list[int], needed: int | None) -> int:
    if not minimums:
        return 1
    return sum(sorted(minimums)[:needed])
