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


class KueueObjects:
    """What there is for Kueue's rules. Local queues and workloads go by ``namespace/name``."""

    def __init__(self, mirror: Mirror, cohorts: Mapping[str, CohortObject]) -> None:
        """Look at the objects of *mirror*, of its cohorts only at *cohorts*. Copies nothing."""
        self._mirror = mirror
        self.cohorts = cohorts
        self.cluster_queues = mirror.of(ClusterQueueObject)
        self.flavors = mirror.of(FlavorObject)
        self.local_queues = mirror.of(LocalQueueObject)
        self.workloads = mirror.of(KueueWorkloadObject)
        self.workload_classes = mirror.of(WorkloadPriorityClassObject)
        self.priority_classes = mirror.of(PriorityClassObject)
        self.namespaces = mirror.of(NamespaceObject)

    @property
    def configuration(self) -> KueueSettingsObject | None:
        """Kueue's Configuration; None: there is none."""
        return self._mirror.single(KueueSettingsObject)

    @property
    def own_settings(self) -> SettingsObject | None:
        """Fairlead's own Settings; None: there are none."""
        return self._mirror.single(SettingsObject)

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
