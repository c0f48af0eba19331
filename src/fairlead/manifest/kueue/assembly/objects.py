"""The objects of a cluster that Kueue's rules read, by name."""

from collections.abc import Mapping

import msgspec

from fairlead.manifest.core.objects import NamespaceObject, PriorityClassObject, SettingsObject
from fairlead.manifest.core.tree_checks import refuse_cycles
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.objects import (
    ClusterQueueObject,
    CohortObject,
    FlavorObject,
    KueueSettingsObject,
    KueueWorkloadObject,
    LocalQueueObject,
    WorkloadPriorityClassObject,
)
from fairlead.manifest.kueue.reading.configuration import KUEUE_SECTION
from fairlead.manifest.translate.family import Mirror
from fairlead.policy.kueue.settings import KueueSettings


class KueueObjects(msgspec.Struct, frozen=True, kw_only=True):
    """What there is for Kueue's rules. Local queues and workloads go by ``namespace/name``."""

    cluster_queues: Mapping[str, ClusterQueueObject]
    cohorts: Mapping[str, CohortObject]
    flavors: Mapping[str, FlavorObject]
    local_queues: Mapping[str, LocalQueueObject]
    workloads: Mapping[str, KueueWorkloadObject]
    workload_classes: Mapping[str, WorkloadPriorityClassObject]
    priority_classes: Mapping[str, PriorityClassObject]
    namespaces: Mapping[str, NamespaceObject]
    configuration: KueueSettingsObject | None
    own_settings: SettingsObject | None

    @property
    def settings(self) -> KueueSettings:
        """What Kueue's Configuration says, with what our own Settings add."""
        settings = self.configuration.settings if self.configuration else KueueSettings()
        if self.own_settings is None:
            return settings
        own: KueueSettings = self.own_settings.sections[KUEUE_SECTION]
        return msgspec.structs.replace(settings, options=own.options, faithful=own.faithful)

    def unfinished_workloads(self) -> list[KueueWorkloadObject]:
        """Return the workloads that hold or want something."""
        return [each for each in self.workloads.values() if not each.finished]


def refuse_cohort_cycles(cohorts: Mapping[str, CohortObject], findings: Findings) -> None:
    """Report an error for each cycle of cohorts."""
    refuse_cycles(list(cohorts.values()), "Cohort", lambda each: each.parent_path, findings)


def kueue_objects(mirror: Mirror, cohorts: Mapping[str, CohortObject]) -> KueueObjects:
    """Return the objects of *mirror*, of its cohorts only *cohorts*. Copies nothing."""
    return KueueObjects(
        cluster_queues=mirror.of(ClusterQueueObject),
        cohorts=cohorts,
        flavors=mirror.of(FlavorObject),
        local_queues=mirror.of(LocalQueueObject),
        workloads=mirror.of(KueueWorkloadObject),
        workload_classes=mirror.of(WorkloadPriorityClassObject),
        priority_classes=mirror.of(PriorityClassObject),
        namespaces=mirror.of(NamespaceObject),
        configuration=mirror.single(KueueSettingsObject),
        own_settings=mirror.single(SettingsObject),
    )
