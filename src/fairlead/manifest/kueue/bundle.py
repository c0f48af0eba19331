"""Kueue's kinds, its section of the settings, and how its objects are translated."""

from typing import Final

from fairlead.manifest.bundle import Bundle, SettingsSection, one_object
from fairlead.manifest.kueue.family import KueueFamily
from fairlead.manifest.kueue.reading.cluster_queue import read_cluster_queue, read_cohort
from fairlead.manifest.kueue.reading.configuration import (
    KUEUE_SECTION,
    read_kueue_configuration,
    read_kueue_options,
)
from fairlead.manifest.kueue.reading.local_queue import (
    read_flavor,
    read_local_queue,
    read_workload_priority_class,
)
from fairlead.manifest.kueue.reading.workload import read_kueue_workload

_GROUP: Final = "kueue.x-k8s.io"
_BETA: Final = ("v1beta2", "v1beta1")

KUEUE: Final = Bundle(
    policy="kueue",
    queues="Kueue ClusterQueue",
    kinds={
        (_GROUP, "ClusterQueue"): one_object(read_cluster_queue, *_BETA, is_queue=True),
        (_GROUP, "Cohort"): one_object(read_cohort, *_BETA, "v1alpha1", is_queue=True),
        (_GROUP, "LocalQueue"): one_object(read_local_queue, *_BETA),
        (_GROUP, "ResourceFlavor"): one_object(read_flavor, *_BETA),
        (_GROUP, "Workload"): one_object(read_kueue_workload, *_BETA),
        (_GROUP, "WorkloadPriorityClass"): one_object(read_workload_priority_class, *_BETA),
        ("config.kueue.x-k8s.io", "Configuration"): one_object(read_kueue_configuration, *_BETA),
    },
    section=SettingsSection(name=KUEUE_SECTION, title="kueue", read=read_kueue_options),
    family=KueueFamily,
)
