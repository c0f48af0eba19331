"""Reads Kueue's Workload: what is wanted, and what of it has quota."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from fairlead.manifest.core.device_claims import device_claims_of
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_pod_spec import read_node_name, read_pod_spec
from fairlead.manifest.kueue.objects import KueuePodSet, KueueWorkloadObject, PriorityClassKind
from fairlead.manifest.kueue.reading.shared_fields import given_fields
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import words
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import Path, quote
from fairlead.model.quantity import show_amount
from fairlead.model.workload import AdmissionCheck


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """What one pod set was granted; ``at`` is where that is written, for remarks."""

    at: Cursor
    flavors: Mapping[str, str]
    usage: Mapping[str, int]  # of all pods together
    count: int | None  # None: as many as the pod set has


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """The queue that pays, and what each pod set was granted, by its name."""

    cluster_queue: str
    assignments: Mapping[str, Assignment]


def read_admission(status: Cursor) -> Admission | None:
    """Read ``admission`` below *status*; None if there is none."""
    if not status.has("admission"):
        return None
    admission = status.mapping("admission")
    assignments = {}
    for item in admission.items("podSetAssignments"):
        item.ignore(*item.keys())  # a status may have fields of later versions
        assignments[item.text("name", "main")] = Assignment(
            at=item,
            flavors=item.text_map("flavors"),
            usage=item.quantities("resourceUsage"),
            count=item.integer("count", None, minimum=0),
        )
    return Admission(cluster_queue=admission.text("clusterQueue"), assignments=assignments)


def read_reclaimable(status: Cursor) -> dict[str, int]:
    """Return how many pods of each set have finished early and gave back their quota."""
    return {
        item.text("name"): item.integer("count", minimum=0)
        for item in status.items("reclaimablePods")
    }


def admit(pod_set: KueuePodSet, assignment: Assignment, reclaimed: int) -> KueuePodSet:
    """Return *pod_set* as it was admitted, less *reclaimed* pods that gave back their quota.

    What one pod costs becomes the total divided by the count of the admission. If that leaves a
    rest, the pod's own requests stand, with a warning.
    """
    count = pod_set.count if assignment.count is None else assignment.count
    if count > pod_set.count:
        assignment.at.warn(
            "count",
            "contradiction",
            f"found {count} admitted pods, but the pod set {quote(pod_set.name)} "
            f"has {pod_set.count}; the others are left out",
            "update the status, or the count of the pod set",
        )
    return msgspec.structs.replace(
        pod_set,
        requests={**pod_set.requests, **_cost_of_one(pod_set, assignment, count)},
        admitted=max(0, min(count, pod_set.count) - reclaimed),
        flavors=assignment.flavors,
    )


def _cost_of_one(pod_set: KueuePodSet, assignment: Assignment, count: int) -> dict[str, int]:
    costs = {}
    for resource, total in assignment.usage.items():
        if count and total % count == 0:
            costs[resource] = total // count
        elif total:
            requested = show_amount(resource, pod_set.requests.get(resource, 0))
            assignment.at.warn(
                ("resourceUsage", resource),
                "contradiction",
                f"found {show_amount(resource, total)}, which {count} pods cannot share evenly; "
                f"each is charged the {requested} that it requests",
                "check resourceUsage and count against each other",
            )
    return costs


_DEFAULT_POD_SET: Final = "main"
_TOPOLOGY: Final = "topologyRequest"
# With one of these a workload waits, because Fairlead cannot tell where its pods would fit.
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
    if count is None or name is None or not item.keys():  # no template: a finding says so
        return None
    return KueuePodSet(
        name=name,
        count=count,
        min_count=min_count,
        requests=pod.requests,
        demand=pod.demand,
        device_claims=device_claims_of(template.value.get("spec")),
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


_MAX_EXECUTION: Final = "maximumExecutionTimeSeconds"
_GATES: Final = "preemptionGates"
_RESERVED = "QuotaReserved"
_ADMITTED = "Admitted"
_DEACTIVATION: Final = "DeactivationTarget"  # true until Kueue has set active to false
_BY_KUEUE: Final = "DeactivatedDueTo"
_SOURCES: Final[Mapping[str, PriorityClassKind]] = {
    "": "",
    "kueue.x-k8s.io/workloadpriorityclass": "WorkloadPriorityClass",
    "scheduling.k8s.io/priorityclass": "PriorityClass",
}
_CLASS_KINDS: Final[Mapping[str, PriorityClassKind]] = words(
    Literal["WorkloadPriorityClass", "PriorityClass"]
)
# Only after these does an evicted workload queue up behind those that came meanwhile.
_REQUEUING_REASONS: Final = frozenset({"PodsReadyTimeout", "AdmissionCheck"})
_PREEMPTING_REASON: Final = "WaitingForPreemptedWorkloads"
_REPLACEMENT_FOR: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
_ANNOTATIONS: Final = ("kueue.x-k8s.io/admission-gated-by", "kueue.x-k8s.io/priority-boost")


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that holds, or is known not to."""

    reason: str
    message: str = ""
    since_ms: int | None


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of an object by type; unknown ones are in neither."""

    true: Mapping[str, Condition]
    false: Mapping[str, Condition]


def read_conditions(status: Cursor) -> Conditions:
    """Read the conditions below *status*.

    Whoever writes a status may add to it, so fields that we do not know are no mistake.
    """
    found: dict[str, dict[str, Condition]] = {"True": {}, "False": {}}
    for item in status.items("conditions"):
        item.ignore(*item.keys())
        name, holds = item.text("type"), item.text("status")
        condition = Condition(
            reason=item.text("reason", ""),
            message=item.text("message", ""),
            since_ms=item.timestamp("lastTransitionTime", None),
        )
        if holds in found:
            found[holds][name] = condition
    return Conditions(true=found["True"], false=found["False"])


@reads_named
def read_kueue_workload(top: Cursor, metadata: Metadata) -> KueueWorkloadObject:
    """Read a Workload of v1beta2 or v1beta1."""
    spec, status = top.mapping("spec"), top.mapping("status")
    status.ignore(*status.keys())  # a status may have fields of later versions
    conditions = read_conditions(status)
    admission = _admission(status, conditions.true)
    priority_class, class_path, class_kind = _priority_class(spec)
    pod_sets = read_pod_sets(spec, metadata.namespace, admission, read_reclaimable(status))
    checks = _checks(status)
    is_active = spec.boolean("active", True) and _DEACTIVATION not in conditions.true
    return KueueWorkloadObject(
        source=top.source,
        identity=metadata.identity,
        namespace=metadata.namespace,
        name=metadata.name,
        local_queue=spec.text("queueName", ""),
        pod_sets=pod_sets,
        priority=spec.integer("priority", None, minimum=-MAX_COUNT - 1, maximum=MAX_COUNT),
        priority_class=priority_class,
        priority_class_path=("spec", *class_path),
        priority_class_kind=class_kind,
        active=is_active,
        finished="Finished" in conditions.true,
        evicted="Evicted" in conditions.true,
        created_ms=metadata.created_ms,
        admitted_ms=_admitted_ms(conditions.true, metadata.created_ms) if admission else None,
        admitted_by=admission.cluster_queue if admission else "",
        requeued_ms=_requeued_ms(conditions.true),
        back_off_until_ms=_back_off_until_ms(status),
        preempted_ms=_preempted_ms(conditions.true),
        preempting=admission is None and _is_preempting(conditions.false),
        max_execution_s=spec.integer(_MAX_EXECUTION, None, minimum=1),
        replaces=_replaces(metadata),
        awaits_checks=admission is not None and _awaits_checks(conditions, checks),
        checks=checks,
        deactivated_by="" if is_active else _deactivated_by(conditions),
        without_effect=(
            *_annotations_without_effect(metadata.annotations),
            *given_fields(spec, _MAX_EXECUTION),
            *_closed_gates(spec, status),
            *(path for pod_set in pod_sets for path in pod_set.without_effect),
        ),
    )


def _admission(status: Cursor, conditions: Mapping[str, Condition]) -> Admission | None:
    """Return the admission if the conditions agree that quota is reserved."""
    admission = read_admission(status)
    is_reserved = _RESERVED in conditions or _ADMITTED in conditions
    if is_reserved and admission is None:
        status.warn(
            "conditions",
            "contradiction",
            f"found {_RESERVED}, but no status.admission; the workload counts as pending",
            "add status.admission, or remove the condition",
        )
    elif admission is not None and not is_reserved:
        status.warn(
            "admission",
            "contradiction",
            f"found an admission without a true {_RESERVED}; the workload counts as pending",
            f'add the condition {_RESERVED} with status "True", or remove the admission',
        )
        return None
    return admission


def _checks(status: Cursor) -> tuple[AdmissionCheck, ...]:
    """Return what the admission checks say, by name."""
    checks = []
    for item in status.items("admissionChecks"):
        item.ignore(*item.keys())  # a status may have fields of later versions
        name, state = item.text("name", ""), item.text("state", "Pending")
        checks.append(AdmissionCheck(name=name, state=state, message=item.text("message", "")))
    return tuple(sorted(checks, key=lambda each: each.name))


def _awaits_checks(conditions: Conditions, checks: Sequence[AdmissionCheck]) -> bool:
    """Return whether a workload with quota is not admitted yet.

    Without checks Kueue admits it in the write that reserves its quota, so a status that is silent
    about both was written by hand.
    """
    is_said = _ADMITTED in conditions.false or any(each.state != "Ready" for each in checks)
    return is_said and _ADMITTED not in conditions.true


def _deactivated_by(conditions: Conditions) -> str:
    """Return why Kueue deactivated the workload, in its words; "": its owner did.

    The target says it for a moment, before the eviction; what was never admitted has no eviction.
    """
    told = [
        conditions.true.get(_DEACTIVATION),
        conditions.true.get("Evicted"),
        conditions.false.get("Requeued"),
        conditions.false.get(_RESERVED),
    ]
    for condition in filter(None, told):
        cause = condition.reason.removeprefix(_BY_KUEUE)
        if condition is told[0] or cause != condition.reason:
            return f"{cause}: {condition.message}" if condition.message else cause
    return ""


def _admitted_ms(conditions: Mapping[str, Condition], created_ms: int) -> int:
    condition = conditions.get(_RESERVED) or conditions[_ADMITTED]
    return created_ms if condition.since_ms is None else condition.since_ms


def _requeued_ms(conditions: Mapping[str, Condition]) -> int | None:
    evicted = conditions.get("Evicted")
    if evicted is None or evicted.reason not in _REQUEUING_REASONS:
        return None
    return evicted.since_ms


def _preempted_ms(conditions: Mapping[str, Condition]) -> int | None:
    """Return when it gave way; Kueue takes the condition back when it has quota again."""
    condition = conditions.get("Preempted")
    return None if condition is None else condition.since_ms


def _back_off_until_ms(status: Cursor) -> int | None:
    state = status.mapping("requeueState")
    state.ignore(*state.keys())  # a status may have fields of later versions
    return state.timestamp("requeueAt", None)


def _is_preempting(false: Mapping[str, Condition]) -> bool:
    """Return whether the workload waits for the quota of others that give way to it."""
    reserved = false.get(_RESERVED)
    return reserved is not None and reserved.reason == _PREEMPTING_REASON


def _replaces(metadata: Metadata) -> str:
    """Return the slice of the same elastic job that the workload takes the place of."""
    name = metadata.annotations.get(_REPLACEMENT_FOR, "")
    older = name if not name or "/" in name else f"{metadata.namespace}/{name}"
    return "" if older == f"{metadata.namespace}/{metadata.name}" else older


def _annotations_without_effect(annotations: Mapping[str, str]) -> tuple[Path, ...]:
    return tuple(("metadata", "annotations", name) for name in _ANNOTATIONS if name in annotations)


def _closed_gates(spec: Cursor, status: Cursor) -> tuple[Path, ...]:
    """Tell where the gates are that keep others from being preempted, if one is closed.

    A gate is closed until the status says that it is open.
    """
    gates = {gate.text("name") for gate in spec.items(_GATES)}
    for state in status.items(_GATES):
        state.ignore(*state.keys())
        if state.text("position", "") == "Open":
            gates.discard(state.text("name", ""))
    return given_fields(spec, _GATES) if gates else ()


def _priority_class(spec: Cursor) -> tuple[str, Path, PriorityClassKind]:
    """Return the priority class as either version of the API gives it: name, place and kind."""
    old_name = spec.text("priorityClassName", "")
    old_kind = spec.choice("priorityClassSource", _SOURCES, "")
    if not spec.has("priorityClassRef"):
        return old_name, ("priorityClassName",), old_kind
    reference = spec.mapping("priorityClassRef")
    reference.ignore("group")  # the kind says the same
    kind = reference.choice("kind", _CLASS_KINDS)
    return reference.text("name"), ("priorityClassRef", "name"), kind
