"""The plugin's kinds, its section of the settings, and how its objects are translated."""

from typing import Final

from fairlead.manifest.bundle import Bundle, Kind, SettingsSection, one_object
from fairlead.manifest.elastic_quota.family import ElasticQuotaFamily
from fairlead.manifest.elastic_quota.read_options import (
    ELASTIC_QUOTA_SECTION,
    read_elastic_quota_options,
)
from fairlead.manifest.elastic_quota.read_quota import read_elastic_quota, read_plugin_pod_group

_QUOTA: Final[Kind] = one_object(read_elastic_quota, "v1alpha1", is_queue=True)
_POD_GROUP: Final[Kind] = one_object(read_plugin_pod_group, "v1alpha1")

ELASTIC_QUOTA: Final = Bundle(
    policy="elastic-quota",
    queues="ElasticQuota",
    kinds={
        ("scheduling.x-k8s.io", "ElasticQuota"): _QUOTA,
        ("scheduling.x-k8s.io", "PodGroup"): _POD_GROUP,
        ("scheduling.sigs.k8s.io", "ElasticQuota"): _QUOTA,
        ("scheduling.sigs.k8s.io", "PodGroup"): _POD_GROUP,
    },
    section=SettingsSection(
        name=ELASTIC_QUOTA_SECTION, title="elastic-quota", read=read_elastic_quota_options
    ),
    family=ElasticQuotaFamily,
)
