"""From pods with their owners to PodGroups, as KAI's pod grouper makes them.

What every group gets is here; what depends on the kind of the owner is in `rows`. KAI updates a
group with each event of a pod; here all pods of one group come from one owner, so that there is
nothing to update.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

import msgspec

from fairlead.manifest.core.objects import Identity, Object, PodObject, full_name
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.stable_names import stable_uid
from fairlead.manifest.kai.assembly.jobs import DEFAULT_QUEUE, GROUP_NAME, SUB_GROUP_LABEL
from fairlead.manifest.kai.assembly.priority import CLASS_LABEL
from fairlead.manifest.kai.assembly.workload import PREEMPTIBILITY_LABEL
from fairlead.manifest.kai.grouping.rows import ROWS, Row, row_of
from fairlead.manifest.kai.objects import KaiNames, KaiPodGroupObject
from fairlead.manifest.kai.reading.pod_group import PREEMPTIBILITIES, Preemptibility

SKIP: Final = "kai.scheduler/skip-podgrouper"
REQUIRED_TOPOLOGY: Final = "kai.scheduler/topology-required-placement"
PROJECT: Final = "project"  # a label: an old way to name the queue


class Grouper:
    """Groups pods under KAI's *names*; *classes* are the priority classes that there are."""

    def __init__(self, names: KaiNames, classes: Set[str]) -> None:
        """Group with these labels and priority classes."""
        self._names = names
        self._classes = classes

    def grouped(self, pods: Iterable[PodObject], owners: Sequence[OwnerObject]) -> list[Object]:
        """Return *pods*, each naming its group, and the groups that they name.

        *owners* are those of all of them, from their controller to the top.
        """
        found: list[Object] = []
        groups: dict[str, KaiPodGroupObject] = {}
        for pod in pods:
            if _is_skipped(pod, owners):
                found.append(pod)
                continue
            row = row_of(pod, owners)
            found.append(_member(pod, row))
            if row.name not in groups:
                groups[row.name] = self._group(pod, owners, row)
        return [*groups.values(), *found]

    def _group(self, pod: PodObject, owners: Sequence[OwnerObject], row: Row) -> KaiPodGroupObject:
        top = owners[-1]
        labels = dict(top.labels)
        pool = self._names.pool_label
        if pool not in labels and pool in pod.labels:
            labels[pool] = pod.labels[pool]
        queue, is_named = self._queue(pod, top)
        is_of_pod = self._is_queue_of_pod(pod, top)
        if is_of_pod:
            label = self._names.labelled_queue(pod.labels)[1][-1]
            labels[str(label)] = pod.labels[str(label)]
        group = KaiPodGroupObject(
            source=pod.source if is_of_pod else top.source,
            namespace=pod.namespace,
            name=row.name,
            queue=queue,
            is_queue_named=is_named,
            min_member=row.min_member,
            priority_class=row.wanted_class or self._class(pod, _named_by(owners), row),
            preemptibility=_preemptibility(pod, _named_by(owners)),
            created_ms=top.created_ms,
            sub_groups=row.sub_groups,
            labels=labels,
            topology=REQUIRED_TOPOLOGY in top.annotations,
        )
        identity = Identity(uid=stable_uid(f"PodGroup/{full_name(group)}"), owners=(row.owner,))
        return msgspec.structs.replace(group, identity=identity)

    def _is_queue_of_pod(self, pod: PodObject, top: OwnerObject) -> bool:
        """Return whether a label of the pod names the queue, and none of its owner."""
        names = self._names
        return not names.labelled_queue(top.labels)[0] and bool(names.labelled_queue(pod.labels)[0])

    def _queue(self, pod: PodObject, top: OwnerObject) -> tuple[str, bool]:
        """Return the queue of a group, and whether anything names it; "": a label of the group."""
        labelled = self._names.labelled_queue
        if labelled(top.labels)[0] or labelled(pod.labels)[0]:
            return "", True
        project = top.labels.get(PROJECT) or pod.labels.get(PROJECT)
        if not project:
            return DEFAULT_QUEUE, False
        pool = pod.labels.get(self._names.pool_label)
        return (f"{project}-{pool}" if pool else project), True

    def _class(self, pod: PodObject, owners: Sequence[OwnerObject], row: Row) -> str:
        """Return the first priority class that is named and exists.

        Where none of those that are named exists, the first: a finding says so, as for any group.
        """
        given = [each.labels.get(CLASS_LABEL, "") for each in owners]
        named = [*filter(None, [*given, pod.labels.get(CLASS_LABEL, ""), pod.priority_class])]
        existing = [each for each in named if each in self._classes]
        return next(iter([*existing, *named]), row.fallback_class)


def _named_by(owners: Sequence[OwnerObject]) -> Sequence[OwnerObject]:
    """Return the owners whose labels count: all, from the pod upward, or the top one alone.

    KAI looks at all of them where the kind at the top has no row of its own.
    """
    return owners[-1:] if owners[-1].title in ROWS else owners


def _is_skipped(pod: PodObject, owners: Sequence[OwnerObject]) -> bool:
    """Return whether the pod grouper has to leave a pod alone: it has its own group."""
    marks: list[Mapping[str, str]] = [pod.annotations, *[each.annotations for each in owners]]
    return any(each.get(SKIP) == "true" for each in marks)


def _member(pod: PodObject, row: Row) -> PodObject:
    """Return a pod that names its group, and its part of it."""
    labels = pod.labels
    if row.sub_groups:
        labels = {**labels, SUB_GROUP_LABEL: row.sub_group}
    annotations = {**pod.annotations, GROUP_NAME: row.name}
    return msgspec.structs.replace(pod, labels=labels, annotations=annotations)


def _preemptibility(pod: PodObject, owners: Sequence[OwnerObject]) -> Preemptibility:
    for labels in (*[each.labels for each in owners], pod.labels):
        text = labels.get(PREEMPTIBILITY_LABEL, "")
        if text and text in PREEMPTIBILITIES:
            return PREEMPTIBILITIES[text]
    return ""
