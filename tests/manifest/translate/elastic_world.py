"""Random changes under ElasticQuotas: quotas, two in one namespace at times, and pod groups.

Both are in two API groups, at times under the same name.
"""

from typing import ClassVar, Final

from tests.manifest.translate.api_server import KindKey, Object
from tests.manifest.translate.world import (
    GPU,
    NAMESPACES,
    NEW_RESOURCES,
    SPOILS,
    Spoils,
    Steps,
    World,
)

_API: Final = "scheduling.x-k8s.io"
_OLD_API: Final = "scheduling.sigs.k8s.io"
QUOTA: Final = KindKey(_API, "ElasticQuota")
OLD_QUOTA: Final = KindKey(_OLD_API, "ElasticQuota")
GROUP: Final = KindKey(_API, "PodGroup")
OLD_GROUP: Final = KindKey(_OLD_API, "PodGroup")
GROUPS: Final = ("g1", "g2")


class ElasticWorld(World):
    """A cluster in which namespaces have quotas that others may borrow."""

    spoils: ClassVar[Spoils] = {
        **SPOILS,
        QUOTA: ((("spec", "min", "cpu"), "many"), (("spec", "max"), {"cpu": "1m"})),
        OLD_QUOTA: ((("spec", "min", "cpu"), "many"),),
        GROUP: ((("spec", "minMember"), "two"),),
        OLD_GROUP: ((("spec", "minMember"), "two"),),
    }

    def begin(self) -> None:
        """Make a quota in each namespace, and pod groups."""
        super().begin()
        for _ in range(2):
            self.change_group()
        for namespace in NAMESPACES:
            self.server.create(self.new_quota(namespace, "quota", _API))

    def steps(self) -> Steps:
        """Return what may happen, with weights."""
        return [
            *super().steps(),
            (2, self.change_group),
            (1, self.remove_group),
            (2, self.change_quota),
            (1, self.remove_quota),
        ]

    def new_pod(self, namespace: str, name: str) -> Object:
        """Return a pod of a group, a pod on its own, or one of another scheduler."""
        pod = super().new_pod(namespace, name)
        metadata, spec = pod["metadata"], pod["spec"]
        if self.maybe(3):
            spec["schedulerName"] = self.pick("scheduler-plugins-scheduler", "other-scheduler")
        if self.maybe(5):
            label = self.pick(f"{_API}/pod-group", f"pod-group.{_OLD_API}")
            metadata["labels"][label] = self.pick(*GROUPS)
        if self.maybe(2):
            spec["priority"] = self.pick(0, 5, 100)
        return pod

    def new_quota(self, namespace: str, name: str, api: str) -> Object:
        """Return a quota whose min is within its max."""
        least = {"cpu": self.pick("1", "2"), "memory": self.pick("2Gi", "4Gi")}
        if self.maybe(3):
            least[GPU] = "1"
        if self.random.randrange(12) == 0:
            least[self.pick(*NEW_RESOURCES)] = "1"
        spec: Object = {"min": least}
        if self.maybe(6):
            spec["max"] = {"cpu": self.pick("2", "4"), "memory": "8Gi", GPU: "2"}
        return {
            "apiVersion": f"{api}/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {"namespace": namespace, "name": name},
            "spec": spec,
        }

    def change_quota(self) -> None:
        """A quota comes, beside another perhaps, or changes."""
        name, api = self.pick("quota", "quota", "quota", "second"), self.pick(_API, _API, _OLD_API)
        self.toggle(self.new_quota(self.pick(*NAMESPACES, "c"), name, api))

    def remove_quota(self) -> None:
        """A quota is gone."""
        key = self.some(QUOTA, OLD_QUOTA)
        if key is not None:
            self.server.remove(key)

    def new_group(self, namespace: str, name: str, api: str) -> Object:
        """Return a pod group."""
        spec: Object = {"minMember": self.pick(1, 2, 2, 3)}
        if self.maybe(3):
            spec["minResources"] = {"cpu": self.pick("1", "2")}
        if self.maybe(1):
            spec["minResources"] = {self.pick(*NEW_RESOURCES): "1"}
        if self.maybe(3):
            spec["scheduleTimeoutSeconds"] = self.pick(10, 60)
        return {
            "apiVersion": f"{api}/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"namespace": namespace, "name": name},
            "spec": spec,
        }

    def change_group(self) -> None:
        """A pod group comes, in either API group, or changes its minimum."""
        name, api = self.pick(*GROUPS), self.pick(_API, _API, _OLD_API)
        self.toggle(self.new_group(self.pick(*NAMESPACES), name, api))

    def remove_group(self) -> None:
        """A pod group is gone; its pods may stay."""
        key = self.some(GROUP, OLD_GROUP)
        if key is not None:
            self.server.remove(key)
