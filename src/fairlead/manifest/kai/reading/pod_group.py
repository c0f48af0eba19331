"""Reads KAI's ``PodGroup`` (scheduling.run.ai/v2alpha2): pods that are scheduled as one job."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypeVar

from fairlead.manifest.core.read_length import protection_ms, warn_of_negative
from fairlead.manifest.core.read_metadata import Metadata, read_metadata
from fairlead.manifest.kai.objects import KaiPodGroupObject
from fairlead.manifest.kai.reading.sub_groups import least_pods, read_sub_groups, requires_topology
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import FieldError, duration_of, timestamp_of
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import Path, quote
from fairlead.model.workload import SubGroup

QUEUE_LABELS: Final = ("kai.scheduler/queue", "runai/queue")  # the second is the old name
LAST_START: Final = "kai.scheduler/last-start-timestamp"
STALE_SINCE: Final = "kai.scheduler/stale-podgroup-timestamp"
PREEMPTION_DELAY: Final = "kai.scheduler/preemption-delay"

Preemptibility: TypeAlias = Literal["preemptible", "non-preemptible", ""]
PREEMPTIBILITIES: Final[Mapping[str, Preemptibility]] = {
    "preemptible": "preemptible",
    "non-preemptible": "non-preemptible",
    "": "",
}

_IGNORED: Final = (
    "backoffLimit",
    "completions",
    "markUnschedulable",
    "parallelism",
)
_BACKOFFS: Final = (-1, 1)

T = TypeVar("T")


def read_kai_pod_group(top: Cursor) -> KaiPodGroupObject | None:
    """Read a PodGroup; None if it has no usable name. Its queue may also stand in a label."""
    top.ignore("apiVersion", "kind", "status")
    metadata = read_metadata(top)
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
    queue, queue_path = _queue(spec, metadata)
    group = KaiPodGroupObject(
        source=top.source,
        identity=metadata.identity,
        namespace=metadata.namespace,
        name=metadata.name,
        queue=queue,
        queue_path=queue_path,
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
    top.finish()
    return group if group.name else None


def labelled_queue(labels: Mapping[str, str]) -> tuple[str, Path]:
    """Return the queue that labels name, and in which of them; "" and the usual one if none does.

    A label without a value names none.
    """
    label = next((label for label in QUEUE_LABELS if labels.get(label)), QUEUE_LABELS[0])
    return labels.get(label, ""), ("metadata", "labels", label)


def _queue(spec: Cursor, metadata: Metadata) -> tuple[str, Path]:
    """Return the queue of the group, and where it is named, or should be."""
    named: tuple[str, Path] = (spec.text("queue", ""), ("spec", "queue"))
    labelled = labelled_queue(metadata.labels)
    return labelled if labelled[0] and not named[0] else named


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


_LIST: Final = "subGroups"


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
            fix = "remove it, or write minSubGroup: how many of those below must start"
            spec.warn((_LIST, at, "minMember"), "no-effect", message, fix)


def _refuse_too_many(spec: Cursor, place: Path, wanted: int, there: int) -> None:
    if wanted > there:
        message = f"found the number {wanted}, expected at most {there}: so many sub-groups are "
        message += "directly below"
        fix = "lower it, or add sub-groups" if there else "remove it, or add sub-groups"
        spec.error(place, "out-of-range", message, fix)
