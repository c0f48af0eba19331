"""The objects of the capacity-scheduling plugin as read, before they are put together."""

from typing import ClassVar

from fairlead.manifest.core.objects import (
    ByResource,
    NamespacedObject,
)


class ElasticQuotaObject(NamespacedObject, frozen=True, kw_only=True):
    """An ``ElasticQuota``; ``max`` is None when the object has none at all."""

    kind: ClassVar = "ElasticQuota"
    group: str = ""  # of its API, which is one of two
    min: ByResource
    max: ByResource | None
    created_ms: int = 0


class PluginPodGroupObject(NamespacedObject, frozen=True, kw_only=True):
    """The ``PodGroup`` that goes with ElasticQuota."""

    kind: ClassVar = "PodGroup"
    min_member: int
    min_resources: ByResource | None = None
    schedule_timeout_s: int | None = None
    schedule_started_ms: int | None = None  # when its pods were last tried, as its status says
    created_ms: int = 0
