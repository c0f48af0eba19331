"""Warns of what decides in Kueue who runs, and has no effect here yet.

A cluster may have a thousand workloads with such a field, so each field is told once for all
objects of a kind.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from fairlead.manifest.core.tree_checks import Sourced
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assembly.objects import KueueObjects
from fairlead.manifest.kueue.objects import ClusterQueueObject
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path
from fairlead.policy.kueue.settings import KueueOptions

_NO_CHECKS = "no workload waits for admission checks"
_NO_BLOCK = "workloads are admitted while the pods of others are not ready"
CONSEQUENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # ClusterQueue
        "admissionChecks": _NO_CHECKS,
        "admissionChecksStrategy": _NO_CHECKS,
        "concurrentAdmissionPolicy": "a workload stays with the flavors that it is admitted with",
        # LocalQueue
        "wallTimePolicy": "no queue is stopped when its hours are used up",
        # ResourceFlavor
        "resourceWeights": "all resources of all flavors count alike in a share",
        "topologyName": "quota is granted without checking nodes",
        # Workload
        "kueue.x-k8s.io/admission-gated-by": "the workload is not held back",
        "kueue.x-k8s.io/priority-boost": "the priority stays what it is",
        "maximumExecutionTimeSeconds": "the workload is not stopped after that time",
        "preemptionGates": "the workload may preempt even while its gates are closed",
        "topologyRequest": "quota is granted without checking nodes",
        # Configuration
        "blockAdmission": _NO_BLOCK,
        "deviceClassMappings": "resource claims use no quota",
        "enable": _NO_BLOCK,  # of waitForPodsReady in v1beta1, where that blocks by default
        "excludeResourcePrefixes": "resources with these prefixes use quota too",
        "multiKueue": "no workload is sent to another cluster",
        "quotaCheckStrategy": "a workload that asks for a resource without quota waits",
        "transformations": "a pending workload requests what its pods request",
    }
)
"""Every field that is known and has no effect yet, with what happens instead."""

# By the names that users write.
_FAIR_SHARING_ONLY: Final[Mapping[str, str]] = {
    "minRunTime": "min_run_time_ms",
    "preemptionDelay": "preemption_delay_ms",
    "preemptionCooldown": "preemption_cooldown_ms",
    "priorityOverride": "priority_override",
}


class _Noted(Sourced, Protocol):
    """An object that knows which of its fields have no effect."""

    @property
    def without_effect(self) -> tuple[Path, ...]:
        """Where they are."""


def warn_of_no_effect(objects: KueueObjects, findings: Findings) -> None:
    """Report each field that has no effect at the first object of its kind that has it, by name."""
    _warn_once("ClusterQueue", objects.cluster_queues.values(), findings)
    _warn_once("LocalQueue", objects.local_queues.values(), findings)
    _warn_once("ResourceFlavor", objects.flavors.values(), findings)
    _warn_once("Workload", objects.unfinished_workloads(), findings)
    if objects.configuration:
        _warn_once("Configuration", [objects.configuration], findings)
    if objects.settings.admission_fair_sharing is None:
        _warn_of_usage_based_admission(objects.cluster_queues.values(), findings)
    if objects.own_settings and not objects.settings.fair_sharing:
        _warn_of_options(objects.own_settings.source, objects.settings.options, findings)


def _warn_of_usage_based_admission(
    queues: Iterable[ClusterQueueObject], findings: Findings
) -> None:
    asking = [each for each in queues if each.rules.usage_based_admission]
    if asking:
        others = _other_objects("ClusterQueue", len(asking) - 1)
        asking[0].source.report(
            findings,
            "warning",
            "no-effect",
            ("spec", "admissionScope", "admissionMode"),
            f"found UsageBasedAdmissionFairSharing{others}, which has no effect without "
            "admissionFairSharing in a Configuration",
            "add the Configuration of Kueue to the input",
        )


def _warn_once(kind: str, objects: Iterable[_Noted], findings: Findings) -> None:
    firsts: dict[str, tuple[Source, Path]] = {}
    owners: dict[str, set[int]] = {}  # an object may have a field in several places
    for at, each in enumerate(objects):
        for path in each.without_effect:
            field = str(path[-1])
            firsts.setdefault(field, (each.source, path))
            owners.setdefault(field, set()).add(at)
    for field, (source, path) in firsts.items():
        where = _other_objects(kind, len(owners[field]) - 1)
        source.report(
            findings,
            "warning",
            "no-effect",
            path,
            f"found {field}{where}; Fairlead ignores this field: {CONSEQUENCES[field]}",
            "nothing to do if you write it for Kueue; it changes no answer here",
        )


def _other_objects(kind: str, others: int) -> str:
    return f", here and in {others} other {kind}{'s' if others > 1 else ''}" if others else ""


def _warn_of_options(source: Source, options: KueueOptions, findings: Findings) -> None:
    for field, name in _FAIR_SHARING_ONLY.items():
        if getattr(options, name) != getattr(KueueOptions(), name):
            source.report(
                findings,
                "warning",
                "no-effect",
                ("spec", "kueue", field),
                f"found {field}, which has no effect while fair sharing is off",
                "add a Configuration with fairSharing to the input, or remove it",
            )
