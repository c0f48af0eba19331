"""Reads Kueue's Workload: what is wanted, and what of it has quota."""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.kueue.objects import KueueWorkloadObject, PriorityClassKind
from fairlead.manifest.kueue.reading.admission import Admission, read_admission, read_reclaimable
from fairlead.manifest.kueue.reading.pod_sets import read_pod_sets
from fairlead.manifest.kueue.reading.shared_fields import given_fields
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_COUNT
from fairlead.manifest.text.path import Path

_MAX_EXECUTION: Final = "maximumExecutionTimeSeconds"
_GATES: Final = "preemptionGates"
_RESERVED = "QuotaReserved"
_ADMITTED = "Admitted"
_SOURCES: Final[Mapping[str, PriorityClassKind]] = {
    "": "",
    "kueue.x-k8s.io/workloadpriorityclass": "WorkloadPriorityClass",
    "scheduling.k8s.io/priorityclass": "PriorityClass",
}
_CLASS_KINDS: Final[Mapping[str, PriorityClassKind]] = {
    "WorkloadPriorityClass": "WorkloadPriorityClass",
    "PriorityClass": "PriorityClass",
}
# Only after these does an evicted workload queue up behind those that came meanwhile.
_REQUEUING_REASONS: Final = frozenset({"PodsReadyTimeout", "AdmissionCheck"})
_PREEMPTING_REASON: Final = "WaitingForPreemptedWorkloads"
_ANNOTATIONS: Final = ("kueue.x-k8s.io/admission-gated-by", "kueue.x-k8s.io/priority-boost")


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that holds, or is known not to."""

    reason: str
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
            reason=item.text("reason", ""), since_ms=item.timestamp("lastTransitionTime", None)
        )
        if holds in found:
            found[holds][name] = condition
    return Conditions(true=found["True"], false=found["False"])


def read_kueue_workload(top: Cursor) -> KueueWorkloadObject | None:
    """Read a Workload of v1beta2 or v1beta1; None if it has no usable name."""
    top.ignore("apiVersion", "kind")
    metadata = read_metadata(top)
    spec, status = top.mapping("spec"), top.mapping("status")
    status.ignore(*status.keys())  # a status may have fields of later versions
    conditions = read_conditions(status)
    admission = _admission(status, conditions.true)
    priority_class, class_path, class_kind = _priority_class(spec)
    pod_sets = read_pod_sets(spec, metadata.namespace, admission, read_reclaimable(status))
    found = KueueWorkloadObject(
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
        active=spec.boolean("active", True),
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
        without_effect=(
            *_annotations_without_effect(metadata.annotations),
            *given_fields(spec, _MAX_EXECUTION),
            *_closed_gates(spec, status),
            *(path for pod_set in pod_sets for path in pod_set.without_effect),
        ),
    )
    top.finish()
    return found if metadata.name else None


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
