"""Reads KAI's ``PodGroup`` (scheduling.run.ai/v2alpha2): pods that are scheduled as one job."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_settings import protection_ms, warn_of_negative
from fairlead.manifest.core.tree_checks import cycles
from fairlead.manifest.kai.objects import KaiPodGroupObject
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.fields import FieldError, duration_of, timestamp_of, words
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import Path, quote
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


LAST_START: Final = "kai.scheduler/last-start-timestamp"
STALE_SINCE: Final = "kai.scheduler/stale-podgroup-timestamp"
PREEMPTION_DELAY: Final = "kai.scheduler/preemption-delay"

Preemptibility: TypeAlias = Literal["preemptible", "non-preemptible", ""]
PREEMPTIBILITIES: Final[Mapping[str, Preemptibility]] = words(Preemptibility)

_IGNORED: Final = (
    "backoffLimit",
    "completions",
    "markUnschedulable",
    "parallelism",
)
_BACKOFFS: Final = (-1, 1)

T = TypeVar("T")


@reads_named
def read_kai_pod_group(top: Cursor, metadata: Metadata) -> KaiPodGroupObject:
    """Read a PodGroup. Without a queue in its spec, that of a label counts."""
    top.ignore("status")
    spec = top.mapping("spec", required=True)
    spec.ignore(*_IGNORED)
    _check_backoff(spec)
    sound_groups, needs_topology = read_sub_groups(spec)
    sub_groups = sound_groups or ()
    min_member = spec.integer("minMember", None, minimum=1, maximum=MAX_COUNT)
    min_sub_group = spec.integer("minSubGroup", None, minimum=1, maximum=MAX_COUNT)
    if min_member is not None and min_sub_group is not None:
        message = "found minSubGroup beside minMember, expected one of the two"
        spec.error("minSubGroup", "contradiction", message, "remove one of the two")
    elif sound_groups is not None:
        check_minimums(spec, sound_groups, min_sub_group)
    delay_ms = protection_ms(spec, "preemptionDelay", None)
    return KaiPodGroupObject(
        source=top.source,
        identity=metadata.identity,
        namespace=metadata.namespace,
        name=metadata.name,
        queue=spec.text("queue", ""),
        min_member=min_member or least_pods(sub_groups, min_sub_group),
        min_sub_group=min_sub_group,
        priority_class=spec.text("priorityClassName", ""),
        preemptibility=spec.choice("preemptibility", PREEMPTIBILITIES, ""),
        created_ms=metadata.created_ms,
        started_ms=_annotated(top, metadata, LAST_START, timestamp_of),
        stale_since_ms=_annotated(top, metadata, STALE_SINCE, timestamp_of),
        sub_groups=sub_groups,
        labels=metadata.labels,
        staleness_grace_ms=spec.duration("stalenessGracePeriod", None),
        preemption_delay_ms=_preemption_delay_ms(top, metadata) if delay_ms is None else delay_ms,
        topology=requires_topology(spec) or needs_topology,
    )


def _check_backoff(spec: Cursor) -> None:
    """Warn of a value that KAI documents as not supported; its API server takes any number."""
    backoff = spec.integer("schedulingBackoff", None)
    if backoff is not None and backoff not in _BACKOFFS:
        message = f"found the number {backoff}, expected -1 or 1: KAI supports no other; "
        message += "it changes nothing here"
        spec.warn("schedulingBackoff", "out-of-range", message, "write -1 or 1, or remove it")


def _preemption_delay_ms(top: Cursor, metadata: Metadata) -> int:
    found = _annotated(top, metadata, PREEMPTION_DELAY, duration_of)
    delay_ms = found[0] if found else 0
    if delay_ms < 0:
        place = ("metadata", "annotations", PREEMPTION_DELAY)
        warn_of_negative(top, place, metadata.annotations[PREEMPTION_DELAY])
    return max(0, delay_ms)


def _annotated(top: Cursor, metadata: Metadata, key: str, convert: Callable[[str], T]) -> T | None:
    """Read an annotation that a scheduler wrote; an unreadable one is reported and left out."""
    text = metadata.annotations.get(key)
    if not text:
        return None
    try:
        return convert(text)
    except FieldError as wrong:
        place = ("metadata", "annotations", key)
        top.warn(place, wrong.code, f"{wrong.message}; it is left out", wrong.fix)
        return None


def check_minimums(spec: Cursor, sub_groups: Sequence[SubGroup], min_sub_group: int | None) -> None:
    """Report minimums that KAI refuses, and minimums that it ignores.

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
            fix = "remove it, or write minSubGroup: how many sub-groups below must start"
            spec.warn((_LIST, at, "minMember"), "no-effect", message, fix)


def _refuse_too_many(spec: Cursor, place: Path, wanted: int, there: int) -> None:
    if wanted > there:
        message = f"found the number {wanted}, expected at most {there}: so many sub-groups are "
        message += "directly below"
        fix = "lower it, or add sub-groups" if there else "remove it, or add sub-groups"
        spec.error(place, "out-of-range", message, fix)
