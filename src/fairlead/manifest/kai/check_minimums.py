"""Looks for minimums of a KAI PodGroup that cannot be met, or that nothing looks at."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import Path, quote
from fairlead.model.workload import SubGroup

_LIST: Final = "subGroups"


def check_minimums(spec: Cursor, sub_groups: Sequence[SubGroup], min_sub_group: int | None) -> None:
    """Tell of minimums that KAI refuses, and of those that it only lets be.

    It refuses more sub-groups than there are, and both kinds of minimum in one place. One for the
    pods of a sub-group with others below it came in with older versions and is not looked at.
    Cost: one look at each sub-group.
    """
    children = Counter([each.parent for each in sub_groups])
    if min_sub_group is not None:
        _refuse_too_many(spec, ("minSubGroup",), min_sub_group, children[None])
    for at, each in enumerate(sub_groups):
        place: Path = (_LIST, at, "minSubGroup")
        if each.min_sub_group is not None and each.min_member:
            message = "found minSubGroup beside minMember, expected one of the two"
            spec.error(place, "contradiction", message, "remove one of the two")
        elif each.min_sub_group is not None:
            _refuse_too_many(spec, place, each.min_sub_group, children[each.name])
        elif each.min_member and children[each.name]:
            message = (
                f"found minMember of the sub-group {quote(each.name)}, which has others below "
            )
            message += "it; their minimums count, this one does not"
            fix = "remove it, or write minSubGroup: how many of those below must start"
            spec.warn((_LIST, at, "minMember"), "no-effect", message, fix)


def _refuse_too_many(spec: Cursor, place: Path, wanted: int, there: int) -> None:
    if wanted > there:
        message = f"found the number {wanted}, expected at most {there}: so many sub-groups are "
        message += "directly below"
        fix = "lower it, or add sub-groups" if there else "remove it, or add sub-groups"
        spec.error(place, "out-of-range", message, fix)
