"""Reads Kueue's ClusterQueue, in both versions of its API."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.core.read_selector import read_label_selector
from fairlead.manifest.kueue.objects import ClusterQueueObject
from fairlead.manifest.kueue.reading.resource_groups import QuotaOwner, read_resource_groups
from fairlead.manifest.kueue.reading.shared_fields import (
    given_fields,
    read_fair_weight,
    read_renamed,
)
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import Path
from fairlead.model.queue import (
    BorrowWithinCohort,
    ClusterQueue,
    FlavorFungibility,
    QueuePreemption,
    ResourceGroup,
)

StopPolicy: TypeAlias = Literal["None", "Hold", "HoldAndDrain"]
Within: TypeAlias = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
Reclaim: TypeAlias = Literal["Never", "LowerPriority", "Any"]
Borrow: TypeAlias = Literal["Never", "LowerPriority"]
Search: TypeAlias = Literal["MayStopSearch", "TryNextFlavor"]
Preference: TypeAlias = Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"]
Strategy: TypeAlias = Literal["BestEffortFIFO", "StrictFIFO"]

STOP_POLICIES: Final[Mapping[str, StopPolicy]] = {
    "None": "None",
    "Hold": "Hold",
    "HoldAndDrain": "HoldAndDrain",
}
_WITHIN: Final[Mapping[str, Within]] = {
    "Never": "Never",
    "LowerPriority": "LowerPriority",
    "LowerOrNewerEqualPriority": "LowerOrNewerEqualPriority",
}
_RECLAIM: Final[Mapping[str, Reclaim]] = {
    "Never": "Never",
    "LowerPriority": "LowerPriority",
    "Any": "Any",
}
_BORROW: Final[Mapping[str, Borrow]] = {"Never": "Never", "LowerPriority": "LowerPriority"}
_SEARCH: Final[Mapping[str, Search]] = {
    "MayStopSearch": "MayStopSearch",
    "TryNextFlavor": "TryNextFlavor",
}
# v1beta1 says what to do instead of when to stop; it means the same.
_SEARCH_BORROW: Final[Mapping[str, Search]] = {**_SEARCH, "Borrow": "MayStopSearch"}
_SEARCH_PREEMPT: Final[Mapping[str, Search]] = {**_SEARCH, "Preempt": "MayStopSearch"}
_PREFERENCES: Final[Mapping[str, Preference]] = {
    "BorrowingOverPreemption": "BorrowingOverPreemption",
    "PreemptionOverBorrowing": "PreemptionOverBorrowing",
}
_STRATEGIES: Final[Mapping[str, Strategy]] = {
    "BestEffortFIFO": "BestEffortFIFO",
    "StrictFIFO": "StrictFIFO",
}
_ADMISSION_MODES: Final = {"UsageBasedAdmissionFairSharing": True, "NoAdmissionFairSharing": False}


def read_cluster_queue(top: Cursor) -> ClusterQueueObject | None:
    """Read a ClusterQueue of v1beta2 or v1beta1; None if it has no usable name."""
    is_old = top.text("apiVersion", "").endswith("/v1beta1")
    top.ignore("kind", "status")
    metadata = read_metadata(top)
    spec = top.mapping("spec")
    names = ("cohort", "cohortName") if is_old else ("cohortName", "cohort")
    cohort_field, cohort = read_renamed(spec, *names)
    owner = QuotaOwner(
        parent_field=cohort_field, has_parent=bool(cohort), lends_at_most_guaranteed=True
    )
    read = read_resource_groups(spec, owner)
    weight = read_fair_weight(spec)
    rules = _rules(spec, read.groups)
    without_effect = _without_effect(spec, rules)
    top.finish()
    if not metadata.name:
        return None
    return ClusterQueueObject(
        source=top.source,
        name=metadata.name,
        cohort=cohort,
        weight=weight,
        created_ms=metadata.created_ms,
        quotas=read.quotas,
        rules=rules,
        without_effect=without_effect,
    )


def _rules(spec: Cursor, groups: tuple[ResourceGroup, ...]) -> ClusterQueue:
    selects = spec.has("namespaceSelector")
    selector = read_label_selector(spec.mapping("namespaceSelector"))
    scope = spec.mapping("admissionScope")
    return ClusterQueue(
        resource_groups=groups,
        queueing_strategy=spec.choice("queueingStrategy", _STRATEGIES, "BestEffortFIFO"),
        namespace_selector=selector if selects else None,
        fungibility=_fungibility(spec.mapping("flavorFungibility")),
        preemption=_preemption(spec.mapping("preemption")),
        stop_policy=spec.choice("stopPolicy", STOP_POLICIES, "None"),
        usage_based_admission=scope.choice("admissionMode", _ADMISSION_MODES, False),
        admission_checks=_admission_checks(spec),
    )


def _without_effect(spec: Cursor, rules: ClusterQueue) -> tuple[Path, ...]:
    checks = ("admissionChecks", "admissionChecksStrategy") if rules.admission_checks else ()
    return given_fields(spec, *checks, "concurrentAdmissionPolicy")


def _fungibility(given: Cursor) -> FlavorFungibility:
    return FlavorFungibility(
        when_can_borrow=given.choice("whenCanBorrow", _SEARCH_BORROW, "MayStopSearch"),
        when_can_preempt=given.choice("whenCanPreempt", _SEARCH_PREEMPT, "TryNextFlavor"),
        preference=given.choice("preference", _PREFERENCES, "BorrowingOverPreemption"),
    )


def _preemption(given: Cursor) -> QueuePreemption:
    borrow = given.mapping("borrowWithinCohort")
    preemption = QueuePreemption(
        within_cluster_queue=given.choice("withinClusterQueue", _WITHIN, "Never"),
        reclaim_within_cohort=given.choice("reclaimWithinCohort", _RECLAIM, "Never"),
        borrow_within_cohort=BorrowWithinCohort(
            policy=borrow.choice("policy", _BORROW, "Never"),
            max_priority_threshold=borrow.integer("maxPriorityThreshold", None),
        ),
    )
    policy = preemption.borrow_within_cohort.policy
    if policy != "Never" and preemption.reclaim_within_cohort == "Never":
        borrow.error(
            "policy",
            "contradiction",
            f"found {policy}, expected Never while reclaimWithinCohort is Never",
            "set reclaimWithinCohort too, or remove borrowWithinCohort",
        )
    return preemption


def _admission_checks(spec: Cursor) -> tuple[str, ...]:
    checks = list(spec.texts("admissionChecks"))  # v1beta1 has this plain list as well
    for check in spec.mapping("admissionChecksStrategy").items("admissionChecks"):
        check.ignore("onFlavors")
        checks.append(check.text("name"))
    return tuple(dict.fromkeys(checks))
