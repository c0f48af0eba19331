"""Reads the pod sets of a Kueue Workload: pods that are alike, and how many of them have quota."""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.manifest.core.read_pod_spec import read_node_name, read_pod_spec
from fairlead.manifest.kueue.objects import KueuePodSet
from fairlead.manifest.kueue.reading.admission import Admission, admit
from fairlead.manifest.kueue.reading.shared_fields import given_fields
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import quote

_DEFAULT_POD_SET: Final = "main"
_TOPOLOGY: Final = "topologyRequest"
# With one of these a workload waits, because nobody here knows where its pods would fit.
_REQUIRED_TOPOLOGY: Final = (
    "required",
    "podSetSliceRequiredTopology",
    "podsetSliceRequiredTopologyConstraints",
)
# These do not say where pods are to run.
_TOPOLOGY_LABELS: Final = frozenset({"podIndexLabel", "subGroupIndexLabel", "subGroupCount"})


def read_pod_sets(
    spec: Cursor,
    namespace: str,
    admission: Admission | None,
    reclaimable: Mapping[str, int],
) -> tuple[KueuePodSet, ...]:
    """Read ``podSets`` below *spec*, with what *admission* grants each of them.

    *reclaimable* is how many pods of each have finished early and gave back their quota.
    """
    pod_sets: dict[str, KueuePodSet] = {}
    items = spec.items("podSets")
    refused = 0
    for item in items:
        pod_set = _pod_set(item, namespace)
        if pod_set is None:
            refused += 1
            continue
        if pod_set.name in pod_sets:
            item.error(
                "name",
                "duplicate-entry",
                f"found the pod set {quote(pod_set.name)} a second time, expected each name once",
                "rename or remove one of the two",
            )
        pod_sets[pod_set.name] = _granted(item, pod_set, admission, reclaimable)
    if not items and not spec.is_refused("podSets"):
        spec.error("podSets", "missing-field", "found no pod sets, expected one", "add podSets")
    for item in [each for each in items if each.has("minCount")][1:]:
        item.warn(
            "minCount",
            "contradiction",
            "found a second pod set with minCount, expected one at most: Kueue refuses that",
            "leave it to one pod set, or split the workload",
        )
    if admission and not refused:
        _warn_of_unknown(admission, pod_sets)
    return tuple(pod_sets.values())


def _pod_set(item: Cursor, namespace: str) -> KueuePodSet | None:
    """Read a pod set; None if its name or count was refused, so that no remark rests on them."""
    template = item.mapping("template", required=True)
    metadata = template.mapping("metadata")
    metadata.ignore(*metadata.keys())  # a template has no name, and what it has is not ours
    labels = metadata.text_map("labels")
    spec = template.mapping("spec")
    pod = read_pod_spec(spec, namespace=namespace, labels=labels)
    read_node_name(spec)  # which means nothing in a template
    unsupported = {*pod.constraints.unsupported}
    wishes = _topology_wishes(item.mapping(_TOPOLOGY))
    if not wishes.isdisjoint(_REQUIRED_TOPOLOGY):
        unsupported.add(_TOPOLOGY)
        wishes = set()
    count = item.integer("count", None if item.has("count") else 1, minimum=0, maximum=MAX_COUNT)
    name = item.text("name", None if item.has("name") else _DEFAULT_POD_SET)
    most = MAX_COUNT if count is None else count
    min_count = item.integer("minCount", most, minimum=0, maximum=most)
    if count is None or name is None or not item.keys():  # without a template, which is told
        return None
    return KueuePodSet(
        name=name,
        count=count,
        min_count=min_count,
        requests=pod.requests,
        labels=labels,
        constraints=msgspec.structs.replace(
            pod.constraints, unsupported=tuple(sorted(unsupported))
        ),
        without_effect=given_fields(item, _TOPOLOGY) if wishes else (),
    )


def _topology_wishes(topology: Cursor) -> set[str]:
    """Return the fields that say where in the topology pods are to run."""
    keys = topology.keys()
    topology.ignore(*keys)
    return {key for key in keys if topology.has(key)} - _TOPOLOGY_LABELS


def _granted(
    item: Cursor,
    pod_set: KueuePodSet,
    admission: Admission | None,
    reclaimable: Mapping[str, int],
) -> KueuePodSet:
    """Return *pod_set* with what the admission grants it, and without pods that have finished."""
    reclaimed = reclaimable.get(pod_set.name, 0)
    if admission:
        assignment = admission.assignments.get(pod_set.name)
        if assignment:
            pod_set = admit(pod_set, assignment, reclaimed)
        elif pod_set.count:
            item.warn(
                (),
                "missing-reference",
                f"found no assignment for the pod set {quote(pod_set.name)} in status.admission; "
                "its pods have no quota",
                "add it to status.admission.podSetAssignments",
            )
    left = max(0, pod_set.count - reclaimed)
    return msgspec.structs.replace(
        pod_set, count=left, min_count=min(left, max(0, pod_set.min_count - reclaimed))
    )


def _warn_of_unknown(admission: Admission, pod_sets: Mapping[str, KueuePodSet]) -> None:
    for name, assignment in admission.assignments.items():
        if name not in pod_sets:
            assignment.at.warn(
                "name",
                "missing-reference",
                f"found an assignment for {quote(name)}, which is no pod set of this workload",
                "remove it, or correct the name",
            )
