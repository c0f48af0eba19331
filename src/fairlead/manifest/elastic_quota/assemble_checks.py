"""Checks on ElasticQuotas among each other, with the pods they hold and the nodes there are."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fairlead.manifest.core.objects import (
    ByResource,
    NodeObject,
    PodObject,
    ResourceQuotaObject,
    is_live,
)
from fairlead.manifest.core.read_gpu_share import FRACTION, MEMORY
from fairlead.manifest.core.tree_checks import place
from fairlead.manifest.elastic_quota.objects import ElasticQuotaObject, PluginPodGroupObject
from fairlead.manifest.elastic_quota.read_quota import is_counted
from fairlead.manifest.finding import Findings
from fairlead.manifest.translate.family import Mirror
from fairlead.model.quantity import show_amount
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks

_HARD: Final = ("spec", "hard")
_NAMESPACE: Final = ("metadata", "namespace")
_ZERO_UNLESS_LISTED: Final = ("cpu", "memory", "ephemeral-storage")
_UNLIMITED_HERE: Final = (
    "it is unlimited here, and 0 for the capacity-scheduling plugin and with --faithful"
)
_ZERO_HERE: Final = (
    "the settings want it to be 0, as for the capacity-scheduling plugin, "
    "so no pod that asks for it can start"
)


def one_per_namespace(
    quotas: Sequence[ElasticQuotaObject], findings: Findings
) -> list[ElasticQuotaObject]:
    """Return the first quota of each namespace; a second one is an error that names both."""
    by_namespace: dict[str, ElasticQuotaObject] = {}
    for quota in quotas:
        first = by_namespace.setdefault(quota.namespace, quota)
        if first is not quota:
            quota.source.error(
                findings,
                "duplicate-object",
                _NAMESPACE,
                f"found a second quota in namespace {quota.namespace}, expected one; "
                f"the first is {first.name} at {place(first.source, _NAMESPACE)}",
                "put both into one object, or move one to another namespace",
            )
    return list(by_namespace.values())


def _warn_of_unlisted(
    quota: ElasticQuotaObject, asked: ByResource, quirks: PluginQuirks, findings: Findings
) -> None:
    """Warn about a resource in use that a given max leaves out: unlimited here, 0 elsewhere.

    The proposal says unlimited; the capacity-scheduling plugin takes cpu, memory and
    ephemeral-storage that are not listed for 0, and so do we where that quirk is wanted.
    """
    if quota.max is None:
        return
    code, consequence = "peer-differs", _UNLIMITED_HERE
    if quirks.max_core_zero:
        code, consequence = "unusable", _ZERO_HERE
    for resource in _ZERO_UNLESS_LISTED:
        in_use = quota.min.get(resource, 0) or asked.get(resource, 0)
        if resource not in quota.max and in_use:
            quota.source.warn(
                findings,
                code,
                ("spec", "max"),
                f"found no {resource} in max; {consequence}",
                f"add {resource} to max, to mean the same everywhere",
            )


def _advise_on_empty_pool(
    quotas: Sequence[ElasticQuotaObject], asked: Mapping[str, ByResource], findings: Findings
) -> None:
    """Point at each namespace whose pods request a resource that is in no quota's min.

    Where no quota guarantees anything at all, that is reported once.
    """
    pool = {resource for quota in quotas for resource, least in quota.min.items() if least}
    if quotas and not pool:
        quotas[0].source.advise(
            findings,
            "unusable",
            ("spec", "min"),
            "found no min above 0 in any quota; the pool is the sum of all min, "
            "so no pod that asks for anything can start where there is a quota",
            "write what is guaranteed into the min of a quota",
        )
        return
    for quota in quotas:
        lacking = {name for name, amount in asked.get(quota.namespace, {}).items() if amount}
        for resource in sorted(lacking - pool):
            quota.source.advise(
                findings,
                "unusable",
                ("spec", "min"),
                f"found pods that ask for {resource}, which is in no quota's min; "
                "the pool is the sum of all min, so no further pod can get any",
                f"add {resource} to the min of a quota",
            )


def _advise_on_overcommitment(
    quotas: Sequence[ElasticQuotaObject], nodes: Sequence[NodeObject], findings: Findings
) -> None:
    """Point at each resource of which more is guaranteed in total than all ready nodes have.

    Without any node in the input nothing is said.
    """
    if not nodes:
        return
    for resource in sorted({name for quota in quotas for name in quota.min}):
        total = sum(quota.min.get(resource, 0) for quota in quotas)
        capacity = sum(node.allocatable.get(resource, 0) for node in nodes if node.ready)
        if total > capacity:
            largest = max(quotas, key=lambda quota: quota.min.get(resource, 0))
            largest.source.advise(
                findings,
                "overcommitted",
                ("spec", "min", resource),
                f"found {show_amount(resource, total)} {resource} guaranteed in total, more than "
                f"the {show_amount(resource, capacity)} of all ready nodes; "
                "not every namespace can get its min at once",
                "lower this min or another one, or add nodes",
            )


def advise_elastic_quota(
    mirror: Mirror, settings: ElasticQuotaSettings, findings: Findings
) -> None:
    """Warn of resources that a quota does not list or a ResourceQuota denies; advise on quotas."""
    quotas = {each.namespace: each for each in mirror.of(ElasticQuotaObject).values()}
    asked = _asked_by_namespace(mirror.of(PodObject).values(), quotas)
    for namespace, quota in quotas.items():
        _warn_of_unlisted(quota, asked[namespace], settings.quirks, findings)
    groups = mirror.of(PluginPodGroupObject).values()
    _advise_on_empty_pool(list(quotas.values()), _with_least(asked, groups), findings)
    nodes = list(mirror.of(NodeObject).values())
    _advise_on_overcommitment(list(quotas.values()), nodes, findings)
    _warn_of_lower_hard(quotas, mirror.of(ResourceQuotaObject).values(), findings)


def _warn_of_lower_hard(
    quotas: Mapping[str, ElasticQuotaObject],
    rivals: Iterable[ResourceQuotaObject],
    findings: Findings,
) -> None:
    """Warn where the API server refuses pods that an ElasticQuota lets run: min <= max <= hard.

    A max that leaves a resource out is no claim to all of it, so only the min is compared there.
    """
    for rival in sorted(rivals, key=lambda each: each.key()):
        quota = quotas.get(rival.namespace)
        if quota is None:
            continue
        for resource, hard in sorted(rival.requests.items()):
            for key, amounts in (("min", quota.min), ("max", quota.max or {})):
                amount = amounts.get(resource, 0)
                if amount > hard:
                    shown, least = show_amount(resource, amount), show_amount(resource, hard)
                    quota.source.warn(
                        findings,
                        "ill-matched",
                        ("spec", key, resource),
                        f"found {key} {shown} {resource} above the hard limit {least} of the "
                        f"ResourceQuota {rival.name} at {place(rival.source, _HARD)}; "
                        "the API server refuses pods beyond that",
                        f"raise hard or lower {key}: min <= max <= hard",
                    )


def _asked_by_namespace(
    pods: Iterable[PodObject], quotas: Mapping[str, ElasticQuotaObject]
) -> dict[str, dict[str, int]]:
    """Return what the live pods of each namespace with a quota ask for, as far as it is counted."""
    asked: dict[str, dict[str, int]] = {namespace: {} for namespace in quotas}
    for pod in pods:
        if pod.namespace in asked and is_live(pod):
            own = asked[pod.namespace]
            for resource, amount in pod.requests.items():
                if is_counted(resource):
                    own[resource] = own.get(resource, 0) + amount
    return asked


def _with_least(
    asked: Mapping[str, ByResource], groups: Iterable[PluginPodGroupObject]
) -> dict[str, ByResource]:
    """Return *asked* with what gangs say they need at least, be it that no pod asks for it."""
    found: dict[str, ByResource] = dict(asked)
    for group in groups:
        if group.namespace in found:
            found[group.namespace] = {**(group.min_resources or {}), **found[group.namespace]}
    return found


def warn_of_gpu_shares(pods: Iterable[PodObject], findings: Findings) -> None:
    """Report once that parts of a device, which KAI's annotations ask for, are passed over."""
    asking = [pod for pod in pods if pod.gpu_share is not None and is_live(pod)]
    if not asking:
        return
    first, others = asking[0], len(asking) - 1
    annotation = FRACTION if FRACTION in first.annotations else MEMORY
    where = f", here and in {others} other pod{'s' if others > 1 else ''}" if others else ""
    first.source.warn(
        findings,
        "no-effect",
        ("metadata", "annotations", annotation),
        f"found {annotation}{where}, which has no effect: only KAI shares devices",
        "ask for whole devices in a container, such as nvidia.com/gpu: 1",
    )
