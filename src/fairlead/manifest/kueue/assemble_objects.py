"""The Kueue objects of one input by name, each name once."""

import msgspec

from fairlead.manifest.collection import Collection
from fairlead.manifest.core.core_objects import CoreObjects, by_name, core_objects, full_name
from fairlead.manifest.core.tree_checks import only_one, refuse_cycles
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import (
    ClusterQueueObject,
    CohortObject,
    FlavorObject,
    KueueSettingsObject,
    KueueWorkloadObject,
    LocalQueueObject,
    OwnSettingsObject,
    PriorityClassObject,
)
from fairlead.policy.kueue.settings import KueueSettings


class KueueObjects(msgspec.Struct, frozen=True, kw_only=True):
    """What an input holds for Kueue's rules, sorted by name, so that no order of files matters.

    Local queues and workloads go by ``namespace/name``; finished workloads are left out.
    """

    cluster_queues: dict[str, ClusterQueueObject]
    cohorts: dict[str, CohortObject]
    flavors: dict[str, FlavorObject]
    local_queues: dict[str, LocalQueueObject]
    workloads: dict[str, KueueWorkloadObject]
    workload_classes: dict[str, PriorityClassObject]
    core: CoreObjects
    configuration: KueueSettingsObject | None
    own_settings: OwnSettingsObject | None

    @property
    def settings(self) -> KueueSettings:
        """What Kueue's Configuration says, with what our own Settings add."""
        settings = self.configuration.settings if self.configuration else KueueSettings()
        if self.own_settings is None:
            return settings
        own = self.own_settings.kueue
        return msgspec.structs.replace(settings, options=own.options, faithful=own.faithful)


def unique_objects(objects: Collection, findings: Findings) -> KueueObjects:
    """Return the objects by name. A name twice, or a cycle of cohorts, is an error."""
    cohorts = by_name(objects.of(CohortObject), "Cohort", lambda each: each.name, findings)
    refuse_cycles(list(cohorts.values()), "Cohort", lambda each: each.parent_path, findings)
    workloads = by_name(objects.of(KueueWorkloadObject), "Workload", full_name, findings)
    return KueueObjects(
        cluster_queues=by_name(
            objects.of(ClusterQueueObject), "ClusterQueue", lambda each: each.name, findings
        ),
        cohorts=cohorts,
        flavors=by_name(
            objects.of(FlavorObject), "ResourceFlavor", lambda each: each.flavor.name, findings
        ),
        local_queues=by_name(
            objects.of(LocalQueueObject), "LocalQueue", _local_queue_name, findings
        ),
        workloads={name: each for name, each in workloads.items() if not each.finished},
        workload_classes=by_name(
            [each for each in objects.of(PriorityClassObject) if each.for_workloads],
            "WorkloadPriorityClass",
            lambda each: each.name,
            findings,
        ),
        core=core_objects(objects, findings),
        configuration=only_one(objects.of(KueueSettingsObject), "Configuration", findings),
        own_settings=only_one(objects.of(OwnSettingsObject), "Settings", findings),
    )


def _local_queue_name(found: LocalQueueObject) -> str:
    return f"{found.local_queue.namespace}/{found.local_queue.name}"
