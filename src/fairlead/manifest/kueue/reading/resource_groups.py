"""Reads the resource groups of a ClusterQueue or Cohort: which flavor has how much of what.

Kueue wants every flavor of a group to list exactly the covered resources, in the same order, and
each resource and each flavor in one group only. It refuses anything else, and so do we: a quota
that is half written would be taken for a decision.
"""

from typing import Final

import msgspec

from fairlead.manifest.kueue.objects import FlavorQuota
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote
from fairlead.model.quantity import show_amount
from fairlead.model.queue import ResourceGroup

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
