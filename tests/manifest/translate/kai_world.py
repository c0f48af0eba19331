"""Random changes under KAI's rules: queues in a tree, pod groups, shards, parts of GPUs."""

from typing import ClassVar, Final

from tests.manifest.translate.api_server import POD, KindKey, Object
from tests.manifest.translate.tree_world import TreeWorld
from tests.manifest.translate.world import (
    CLASSES,
    GPU,
    NAMESPACES,
    NODES,
    SPOILS,
    Spoils,
    Steps,
)

QUEUE: Final = KindKey("scheduling.run.ai", "Queue")
GROUP: Final = KindKey("scheduling.run.ai", "PodGroup")
SHARD: Final = KindKey("kai.scheduler", "SchedulingShard")

QUEUES: Final = ("top", "left", "right", "small")
GROUPS: Final = ("g1", "g2", "g3")
POOL: Final = "kai.scheduler/node-pool"
GPU_GROUP: Final = "runai-gpu-group"
RESERVATIONS: Final = "kai-resource-reservation"


class KaiWorld(TreeWorld):
    """A cluster that KAI schedules."""

    tree = QUEUE
    parent_field = "parentQueue"
    spoils: ClassVar[Spoils] = {
        **SPOILS,
        QUEUE: ((("spec", "resources", "gpu", "quota"), "many"),),
        GROUP: ((("spec", "minMember"), "two"),),
        SHARD: ((("spec", "placementStrategy"), "anywhere"),),
    }

    def begin(self) -> None:
        """Make two queues below a third, and pod groups."""
        super().begin()
        for name, parent in (("top", ""), ("left", "top"), ("right", "top")):
            self.server.create(self.new_queue(name, parent))
        for _ in range(6):
            self.change_group()

    def steps(self) -> Steps:
        """Return what may happen, with weights."""
        return [
            *super().steps(),
            (2, self.change_group),
            (1, self.remove_group),
            (2, self.change_queue),
            (1, self.remove_queue),
            (1, self.swap_parents),
            (1, self.change_shard),
            (1, self.reserve_device),
        ]

    def new_pod(self, namespace: str, name: str) -> Object:
        """Return a pod of a group, a pod on its own, or one of another scheduler."""
        pod = super().new_pod(namespace, name)
        metadata, spec = pod["metadata"], pod["spec"]
        labels, annotations = metadata["labels"], metadata["annotations"]
        spec["schedulerName"] = self.pick("kai-scheduler", "kai-scheduler", "other-scheduler")
        if self.maybe(6):
            where = labels if self.maybe(3) else annotations
            where["pod-group-name"] = self.pick("g1", *GROUPS)
        if self.maybe(9):
            labels["kai.scheduler/queue"] = self.pick("left", "right", "left", "right", *QUEUES)
        if self.maybe(3):
            spec["priorityClassName"] = self.pick("train", "build", *CLASSES)
        if self.maybe(1):
            labels["kai.scheduler/subgroup-name"] = "workers"
        if self.maybe(1):
            labels[POOL] = "fast"
        return pod

    def add_wishes(self, pod: Object) -> None:
        """Let a pod ask for more than others, perhaps for part of a GPU."""
        super().add_wishes(pod)
        if self.maybe(5):
            pod["spec"]["containers"][0]["resources"]["requests"].pop(GPU, None)
            annotations = pod["metadata"]["annotations"]
            key, share = self.pick(("gpu-fraction", "0.5"), ("gpu-memory", "1000"))
            annotations[key] = share
            if self.maybe(2):
                annotations["gpu-fraction-num-devices"] = "2"

    def new_node(self, name: str) -> Object:
        """Return a node, perhaps in a pool, perhaps with GPUs of known memory."""
        node = super().new_node(name)
        if self.maybe(5):
            node["metadata"]["labels"]["nvidia.com/gpu.memory"] = self.pick("2000", "4000")
        if self.maybe(1):
            node["metadata"]["labels"][POOL] = "fast"
        return node

    def mark_devices(self, pod: Object) -> None:
        """Write on a pod that shares a device which one it is, as a rule."""
        annotations, labels = pod["metadata"]["annotations"], pod["metadata"]["labels"]
        if ("gpu-fraction" in annotations or "gpu-memory" in annotations) and self.maybe(8):
            labels[GPU_GROUP] = self.pick("g0", "g1")

    # Groups.

    def new_group(self, namespace: str, name: str) -> Object:
        """Return a pod group."""
        spec: Object = {
            "queue": self.pick("left", "left", "right", "right", *QUEUES, "gone"),
            "minMember": self.pick(1, 1, 1, 2, 3),
        }
        if self.maybe(4):
            spec["priorityClassName"] = self.pick("train", "inference", "build", *CLASSES)
        if self.maybe(2):
            spec["preemptibility"] = self.pick("preemptible", "non-preemptible")
        if self.maybe(1):
            spec["subGroups"] = [{"name": "workers", "minMember": 1}]
        metadata: Object = {"namespace": namespace, "name": name, "labels": {}, "annotations": {}}
        if self.maybe(1):
            metadata["labels"][POOL] = "fast"
        return {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": metadata,
            "spec": spec,
        }

    def change_group(self) -> None:
        """A pod group comes, or changes its queue, its minimum or its class."""
        self.toggle(self.new_group(self.pick(*NAMESPACES), self.pick(*GROUPS)))

    def remove_group(self) -> None:
        """A pod group is gone; its pods may stay, and another may have its name at once."""
        key = self.some(GROUP)
        if key is not None:
            self.server.remove(key)
            if self.maybe(2):
                self.server.create(self.new_group(key.namespace, key.name))

    # Queues.

    def new_queue(self, name: str, parent: str) -> Object:
        """Return a queue."""
        spec: Object = {
            "resources": {
                "cpu": self.shares(-1, 0, 1000, 2000),
                "memory": self.shares(-1, -1, 4000),
                "gpu": self.shares(-1, 0, 1),
            },
            "priority": self.pick(100, 100, 200),
        }
        if parent:
            spec["parentQueue"] = parent
        if self.maybe(1):
            spec["reclaimMinRuntime"] = "1m"
        queue: Object = {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name, "labels": {POOL: "fast"} if self.maybe(1) else {}},
            "spec": spec,
        }
        if self.maybe(1):
            queue["status"] = {"requested": {"cpu": "1"}, "allocated": {"cpu": "500m"}}
        return queue

    def shares(self, *quotas: int) -> Object:
        """Return what a queue has of one resource."""
        return {
            "quota": self.pick(*quotas),
            "limit": self.pick(-1, -1, -1, 4000),
            "overQuotaWeight": self.pick(0, 1, 2),
        }

    def change_queue(self) -> None:
        """A queue comes, or changes its quota, and perhaps its parent."""
        name = self.pick(*QUEUES)
        usual = "" if name == "top" else "top"
        self.toggle(self.new_queue(name, self.pick(usual, usual, usual, "", *QUEUES, "gone")))

    def remove_queue(self) -> None:
        """A queue is gone."""
        key = self.some(QUEUE)
        if key is not None:
            self.server.remove(key)

    # Shards and devices.

    def change_shard(self) -> None:
        """A shard comes, changes or goes."""
        key = self.some(SHARD) if self.maybe(5) else None
        if key is not None:
            self.server.remove(key)
            return
        name, pool = self.pick(("all", ""), ("fast", "fast"))
        strategy = self.pick("binpack", "spread")
        self.toggle(
            {
                "apiVersion": "kai.scheduler/v1",
                "kind": "SchedulingShard",
                "metadata": {"name": name},
                "spec": {
                    "partitionLabelValue": pool,
                    "placementStrategy": {"gpu": strategy, "cpu": strategy},
                },
            }
        )

    def reserve_device(self) -> None:
        """KAI keeps a device for its sharers with a pod of its own, or gives it back."""
        key = self.some(POD, where=lambda pod: pod["metadata"]["namespace"] == RESERVATIONS)
        if key is not None and self.maybe(5):
            self.server.remove(key)
            return
        labels = {GPU_GROUP: self.pick("g0", "g1")} if self.maybe(8) else {}
        self.server.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "namespace": RESERVATIONS,
                    "name": self.pick("keep-1", "keep-2"),
                    "labels": labels,
                    "annotations": {},
                },
                "spec": {
                    "schedulerName": "other-scheduler",
                    "nodeName": self.pick(*NODES),
                    "containers": [{"name": "main", "resources": {"limits": {GPU: "1"}}}],
                },
                "status": {"phase": "Running"},
            }
        )
