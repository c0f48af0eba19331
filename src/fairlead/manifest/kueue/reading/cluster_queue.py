"""Reads Kueue's ClusterQueue, in both versions of its API."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.core.read_selector import read_label_selector
from fairlead.manifest.kueue.objects import ClusterQueueObject, CohortObject, FlavorQuota
from fairlead.manifest.kueue.reading.shared_fields import (
    given_fields,
    read_fair_weight,
    read_renamed,
)
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import words
from fairlead.manifest.text.path import Path, quote
from fairlead.model.axes import Axis
from fairlead.model.quantity import show_amount
from fairlead.model.queue import (
    BorrowPolicy,
    BorrowWithinCohort,
    ClusterQueue,
    FlavorFungibility,
    FlavorSearch,
    Preference,
    QueueingStrategy,
    QueuePreemption,
    ReclaimWithinCohort,
    ResourceGroup,
    StopPolicy,
    WithinClusterQueue,
)

STOP_POLICIES: Final[Mapping[str, StopPolicy]] = words(StopPolicy)
_WITHIN: Final[Mapping[str, WithinClusterQueue]] = words(WithinClusterQueue)
_RECLAIM: Final[Mapping[str, ReclaimWithinCohort]] = words(ReclaimWithinCohort)
_BORROW: Final[Mapping[str, BorrowPolicy]] = words(BorrowPolicy)
_PREFERENCES: Final[Mapping[str, Preference]] = words(Preference)
_STRATEGIES: Final[Mapping[str, QueueingStrategy]] = words(QueueingStrategy)
# v1beta1 says what to do instead of when to stop; it means the same.
_SEARCH_BORROW: Final[Mapping[str, FlavorSearch]] = {
    **words(FlavorSearch),
    "Borrow": "MayStopSearch",
}
_SEARCH_PREEMPT: Final[Mapping[str, FlavorSearch]] = {
    **words(FlavorSearch),
    "Preempt": "MayStopSearch",
}
_ADMISSION_MODES: Final = {"UsageBasedAdmissionFairSharing": True, "NoAdmissionFairSharing": False}


@reads_named
def read_cluster_queue(top: Cursor, metadata: Metadata) -> ClusterQueueObject:
    """Read a ClusterQueue of v1beta2 or v1beta1."""
    is_old = top.text("apiVersion", "").endswith("/v1beta1")
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
    return ClusterQueueObject(
        source=top.source,
        name=metadata.name,
        cohort=cohort,
        weight=weight,
        created_ms=metadata.created_ms,
        quotas=read.quotas,
        rules=rules,
        reservations=tuple(_reservations(top.mapping("status"))),
        without_effect=without_effect,
    )


def _reservations(status: Cursor) -> Iterator[tuple[Axis, int]]:
    """Yield what the status says is reserved of each flavor and resource."""
    status.ignore(*status.keys())
    for item in status.items("flavorsReservation"):
        item.ignore(*item.keys())
        flavor = item.text("name", "")
        for each in item.items("resources"):
            each.ignore(*each.keys())
            resource = each.text("name", "")
            yield Axis(resource, flavor), each.quantity("total", resource, 0)


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


_NOMINAL: Final = "nominalQuota"
_MOST_GROUPS: Final = 16
_MOST_ENTRIES: Final = 64  # flavors of a group, and resources of one


class QuotaOwner(msgspec.Struct, frozen=True, kw_only=True):
    """What decides which limits an object may have."""

    parent_field: str  # as the user writes it, such as cohortName
    has_parent: bool
    lends_at_most_guaranteed: bool  # a ClusterQueue; a Cohort also lends what its children lend it


class ResourceGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The groups in the order of writing, and every quota in them."""

    groups: tuple[ResourceGroup, ...]
    quotas: tuple[FlavorQuota, ...]


def read_resource_groups(spec: Cursor, owner: QuotaOwner) -> ResourceGroups:
    """Read ``resourceGroups`` below *spec*. What is wrong becomes findings."""
    items = spec.items("resourceGroups")
    _warn_if_many(spec, "resourceGroups", len(items), _MOST_GROUPS)
    groups: list[ResourceGroup] = []
    quotas: list[FlavorQuota] = []
    seen_resources: set[str] = set()
    seen_flavors: set[str] = set()
    for item in items:
        covered = _covered_resources(item, seen_resources)
        flavors = item.items("flavors") if _is_there(item, "flavors") else []
        if not flavors and item.has("flavors") and not item.is_refused("flavors"):
            item.error("flavors", "missing-field", "found no flavors, expected one", "add flavors")
        _warn_if_many(item, "flavors", len(flavors), _MOST_ENTRIES)
        names = []
        for flavor in flavors:
            name = flavor.text("name")
            _refuse_second(flavor, "name", name, seen_flavors, "flavor")
            names.append(name)
            quotas.extend(_flavor_quotas(flavor, name, covered, owner))
        groups.append(ResourceGroup(resources=covered, flavors=tuple(names)))
    return ResourceGroups(groups=tuple(groups), quotas=tuple(quotas))


def _covered_resources(group: Cursor, seen: set[str]) -> tuple[str, ...]:
    if not _is_there(group, "coveredResources"):
        return ()
    listed = group.texts("coveredResources")
    if group.is_refused("coveredResources"):
        return ()
    if not listed:
        group.error(
            "coveredResources",
            "missing-field",
            "found no covered resources, expected at least one",
            "add the resources that the flavors have quota for, such as [cpu, memory]",
        )
    _warn_if_many(group, "coveredResources", len(listed), _MOST_ENTRIES)
    for name in listed:
        _refuse_second(group, "coveredResources", name, seen, "resource")
    return listed


def _refuse_second(at: Cursor, key: str, name: str, seen: set[str], what: str) -> None:
    if name in seen:
        at.error(
            key,
            "duplicate-entry",
            f"found the {what} {quote(name)} a second time, expected it in one resource group only",
            "list it once",
        )
    elif name:  # a missing name is reported already
        seen.add(name)


def _flavor_quotas(
    flavor: Cursor, name: str, covered: tuple[str, ...], owner: QuotaOwner
) -> list[FlavorQuota]:
    if not _is_there(flavor, "resources"):
        return []
    quotas = [_quota(item, name, owner) for item in flavor.items("resources")]
    listed = tuple(quota.resource for quota in quotas)
    is_told = not covered or not all(listed) or flavor.is_refused("resources")
    if listed != covered and not is_told:
        flavor.error(
            "resources",
            "contradiction",
            f"found the resources {_listed(listed)}, "
            f"expected those of coveredResources in the same order: {_listed(covered)}",
            "list each covered resource once, in that order",
        )
    return quotas


def _is_there(at: Cursor, key: str) -> bool:
    """Return whether a field is there; a missing one is reported, unless *at* was no mapping."""
    if not at.has(key):
        at.mapping(key, required=True)
    return at.has(key)


def _quota(item: Cursor, flavor: str, owner: QuotaOwner) -> FlavorQuota:
    resource = item.text("name")
    nominal = item.quantity(_NOMINAL, resource, None) if _is_there(item, _NOMINAL) else None
    quota = FlavorQuota(
        flavor=flavor,
        resource=resource,
        guaranteed=nominal or 0,
        borrow_limit=item.quantity("borrowingLimit", resource, None),
        lend_limit=item.quantity("lendingLimit", resource, None),
    )
    for key, limit in (
        ("borrowingLimit", quota.borrow_limit),
        ("lendingLimit", quota.lend_limit),
    ):
        if limit is not None and not owner.has_parent:
            item.error(
                key,
                "contradiction",
                f"found a {key}, expected none without {owner.parent_field}: "
                "there is no other queue to borrow from or lend to",
                f"remove it, or add {owner.parent_field}",
            )
    if owner.lends_at_most_guaranteed and nominal is not None and quota.lend_limit is not None:
        _check_lending(item, quota, quota.lend_limit)
    return quota


def _check_lending(item: Cursor, quota: FlavorQuota, lend_limit: int) -> None:
    if lend_limit > quota.guaranteed:
        guaranteed = show_amount(quota.resource, quota.guaranteed)
        item.error(
            "lendingLimit",
            "contradiction",
            f"found {show_amount(quota.resource, lend_limit)}, "
            f"expected at most the nominalQuota of {guaranteed}",
            f"write {guaranteed} or less, or remove it to lend everything",
        )


def _warn_if_many(at: Cursor, key: str, count: int, most: int) -> None:
    if count > most:
        at.warn(
            key,
            "out-of-range",
            f"found {count} entries, more than the {most} that Kueue takes",
            "split them up before you apply this to a cluster",
        )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote, names[:8])) + (", ..." if len(names) > 8 else "") or "none"


@reads_named
def read_cohort(top: Cursor, metadata: Metadata) -> CohortObject:
    """Read a Cohort of v1beta2, v1beta1 or v1alpha1."""
    is_old = top.text("apiVersion", "").endswith("/v1alpha1")
    top.ignore("status")
    spec = top.mapping("spec")
    # v1alpha1 began with parent and renamed it later, so either is right there.
    has_old_name = is_old and spec.has("parent")
    names = ("parent", "parentName") if has_old_name else ("parentName", "parent")
    parent_field, parent = read_renamed(spec, *names)
    owner = QuotaOwner(
        parent_field=parent_field, has_parent=bool(parent), lends_at_most_guaranteed=False
    )
    read = read_resource_groups(spec, owner)
    weight = read_fair_weight(spec)
    return CohortObject(
        source=top.source,
        name=metadata.name,
        parent=parent,
        parent_path=("spec", parent_field),
        weight=weight,
        created_ms=metadata.created_ms,
        quotas=read.quotas,
        resource_groups=read.groups,
    )
