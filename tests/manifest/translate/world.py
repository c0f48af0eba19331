"""Random changes of a small cluster, the same for every rule set: nodes, pods, and their mistakes.

A world changes objects on the server, as users, kubelets, controllers and other schedulers do. It
knows nothing of what the translator was told. Names come from small pools, so that objects meet:
a pod names a group that is not there yet, a name is used again, two queues want to be the parent
of each other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from tests.manifest.translate.api_server import (
    ATTACH_LIMITS,
    BUDGET,
    CLAIM,
    FINISHED,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    STORAGE_CLASS,
    VOLUME,
    ApiServer,
    Key,
    KindKey,
    Object,
    condition,
    is_bound,
    is_terminating,
    key_of,
    timestamp,
)
from tests.manifest.translate.owner_world import (
    DEPLOYMENT,
    JOB,
    OWNER_NAMES,
    OWNERS,
    STATUSES,
    new_owner_object,
    reference_to,
)
from tests.manifest.translate.places import ABSENT, Path, container_of, put_at
from tests.manifest.translate.volume_world import new_volume_object, volumes_of_pod

Steps: TypeAlias = Sequence[tuple[int, Callable[[], None]]]
T = TypeVar("T")

NAMESPACES: Final = ("a", "b")
NODES: Final = ("n1", "n2", "n3")
PODS: Final = tuple(f"p{number}" for number in range(8))
APPS: Final = ("web", "db", "cron")
CLASSES: Final = ("high", "low")
NEW_RESOURCES: Final = ("example.com/nic", "example.com/fpga", "amd.com/gpu")
GPU: Final = "nvidia.com/gpu"

Spoils: TypeAlias = Mapping[KindKey, Sequence[tuple[Path, Any]]]

SPOILS: Final[Spoils] = {
    POD: (
        (("metadata", "annotations", "gpu-fraction"), "lots"),
        (("spec", "containers", 0, "resources", "requests", "cpu"), "many"),
    ),
    NODE: ((("status", "allocatable", "cpu"), "many"),),
    NAMESPACE: ((("metadata", "labels"), "none"),),
    PRIORITY_CLASS: ((("value",), "big"),),
    BUDGET: ((("spec", "selector"), "all"),),
    CLAIM: ((("spec", "accessModes"), "all"),),
    VOLUME: ((("spec", "claimRef"), "mine"),),
    STORAGE_CLASS: ((("volumeBindingMode",), "Later"),),
    JOB: ((("spec", "parallelism"), "many"),),
    DEPLOYMENT: ((("spec", "replicas"), "many"),),
}
"""What makes an object of each kind malformed: a value that no reader accepts at a path."""


class World:
    """The objects of one cluster, and what may happen to them next."""

    spoils: ClassVar[Spoils] = SPOILS
    owned: ClassVar[tuple[KindKey, ...]] = (POD, *OWNERS)

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.random = Random(0)
        self._spoilt: dict[Key, list[tuple[Path, Any, Any]]] = {}  # path, bad value, good value

    def begin(self) -> None:
        """Make what most clusters have: nodes, and pods that wait."""
        for name in NODES[:2]:
            self.server.create(self.new_node(name))
        for _ in range(self.random.randrange(8)):
            self.add_pod()
        for _ in range(self.random.randrange(6)):
            self.change_volumes()

    def steps(self) -> Steps:
        """Return what may happen, with weights."""
        return [
            (8, self.add_pod),
            (1, self.delete_pod),
            (3, self.end_pod),
            (1, self.replace_pod),
            (1, self.relabel_pod),
            (1, self.resize_pod),
            (2, self.run_pod),
            (1, self.finish_pod),
            (2, self.bind_elsewhere),
            (1, self.add_node),
            (2, self.change_node),
            (1, self.remove_node),
            (1, self.change_others),
            (3, self.change_volumes),
            (2, self.change_owner),
            (1, self.report_owner),
            (1, self.remove_owner),
            (2, self.adopt),
            (1, self.spoil),
            (1, self.repair),
        ]

    def step(self, random: Random) -> None:
        """Let one thing happen."""
        self.random = random
        steps = self.steps()
        happens = random.choices([each for _, each in steps], [weight for weight, _ in steps])[0]
        happens()

    def maybe(self, chance_of_ten: int) -> bool:
        """Return True in so many of ten cases."""
        return self.random.randrange(10) < chance_of_ten

    def pick(self, *values: T) -> T:
        """Return one of *values*."""
        return self.random.choice(values)

    def some(self, *kinds: KindKey, where: Callable[[Object], bool] | None = None) -> Key | None:
        """Return the key of any object of *kinds* that *where* is true of; None if none is."""
        keys = self.server.keys(*kinds)
        if where is not None:
            keys = [key for key in keys if where(self.server.objects[key])]
        return self.random.choice(keys) if keys else None

    def change(self, key: Key | None, change: Callable[[Object], None]) -> None:
        """Update an object, if it is there."""
        if key is not None:
            self.server.update(key, change)

    def toggle(self, value: Object) -> None:
        """Create an object, or update that of its name to the same spec, labels and value."""
        key = key_of(value)
        if self.server.create(value) is not None:
            return

        def changed(stored: Object) -> None:
            own = {"metadata", "status", "apiVersion", "kind"}
            stored.update({name: each for name, each in value.items() if name not in own})
            for name in ("labels", "annotations"):
                if name in value["metadata"]:
                    stored["metadata"][name] = value["metadata"][name]

        self.server.update(key, changed)

    # Pods.

    def new_pod(self, namespace: str, name: str) -> Object:
        """Return a pod that waits; rule sets add what they read of it."""
        usual = {"cpu": "1", "memory": "1Gi"}
        spec: Object = {"containers": [{"name": "main", "resources": {"requests": usual}}]}
        labels = {"app": self.pick(*APPS)}
        if self.maybe(4):
            labels["tier"] = self.pick("1", "2")
        pod: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"namespace": namespace, "name": name, "labels": labels, "annotations": {}},
            "spec": spec,
            "status": {"phase": "Pending"},
        }
        if self.maybe(5):
            self.add_wishes(pod)
        return pod

    def add_wishes(self, pod: Object) -> None:
        """Let a pod ask for more than others, so that it is not like them."""
        spec = pod["spec"]
        spec["containers"][0]["resources"]["requests"] = self.requests()
        if self.maybe(1):
            spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": self.pick(80, 81)}]
        if self.maybe(2):
            kind = self.pick("podAffinity", "podAntiAffinity", "podAntiAffinity")
            spec["affinity"] = {kind: {_REQUIRED: [self.pod_term()]}}
        if self.maybe(3):
            spec["volumes"] = volumes_of_pod(self)
        if self.random.randrange(20) == 0:
            spec["nodeSelector"] = {"zone": self.pick("a", "b")}
        if self.maybe(2):
            spec["tolerations"] = [{"operator": "Exists"}]
        if self.maybe(3):
            spec["priorityClassName"] = self.pick(*CLASSES)
        if self.random.randrange(20) == 0:
            spec["schedulingGates"] = [{"name": "example.com/wait"}]

    def requests(self) -> dict[str, str]:
        """Return what a pod asks for; now and then a resource that was never seen."""
        found = {"cpu": self.pick("500m", "1", "2"), "memory": self.pick("1Gi", "2Gi")}
        if self.maybe(2):
            found[GPU] = "1"
        if self.random.randrange(25) == 0:
            found[self.pick(*NEW_RESOURCES)] = "1"
        return found

    def pod_term(self) -> Object:
        """Return what a pod may require of its neighbours."""
        selector: Object = {"matchLabels": {"tier": self.pick("1", "2")}}
        if self.maybe(4):
            wanted = {"key": self.pick("app", "tier"), "operator": self.pick("NotIn", "In")}
            selector = {"matchExpressions": [{**wanted, "values": ["web", "1"]}]}
        term: Object = {
            "topologyKey": self.pick("kubernetes.io/hostname", "zone"),
            "labelSelector": selector,
        }
        if self.maybe(2):
            term["namespaceSelector"] = {"matchLabels": {"team": "red"}}
        return term

    def add_pod(self) -> None:
        """A pod is made, waiting or, by others, with a node at once."""
        self.server.create(self.new_pod(self.pick("a", *NAMESPACES), self.pick(*PODS)))

    def delete_pod(self) -> None:
        """A user deletes a pod."""
        key = self.some(POD)
        if key is not None:
            self.server.delete(key)

    def end_pod(self) -> None:
        """A pod that was told to leave has left; its owner may make another."""
        key = self.some(POD, where=is_terminating)
        if key is not None:
            self.server.remove(key)
            if self.maybe(5):
                self.server.create(self.new_pod(key.namespace, self.pick(key.name, *PODS)))

    def replace_pod(self) -> None:
        """A pod is gone at once, and another has its name."""
        key = self.some(POD)
        if key is not None:
            self.server.remove(key)
            self.server.create(self.new_pod(key.namespace, key.name))

    def relabel_pod(self) -> None:
        """Labels and annotations of a pod change: those by which others find it, or its group."""
        key = self.some(POD)
        if key is None:
            return
        metadata = self.new_pod(key.namespace, key.name)["metadata"]

        def relabelled(pod: Object) -> None:
            kept = {k: v for k, v in pod["metadata"]["labels"].items() if "gpu-group" in k}
            pod["metadata"]["labels"] = {**metadata["labels"], **kept}
            share = {k: v for k, v in pod["metadata"]["annotations"].items() if "gpu" in k}
            others = {k: v for k, v in metadata["annotations"].items() if "gpu" not in k}
            pod["metadata"]["annotations"] = {**others, **share}

        self.change(key, relabelled)

    def resize_pod(self) -> None:
        """A pod asks for something else, or is no longer held back, or has other neighbours."""
        key = self.some(POD)
        if key is None:
            return
        spec = self.new_pod(key.namespace, key.name)["spec"]

        def resized(pod: Object) -> None:
            kept = {k: v for k, v in pod["spec"].items() if k in ("nodeName", "schedulerName")}
            pod["spec"] = {**spec, **kept}

        self.change(key, resized)

    def run_pod(self) -> None:
        """A kubelet starts a pod, perhaps some time after it was bound."""
        key = self.some(POD, where=lambda pod: is_bound(pod) and not is_terminating(pod))

        def running(pod: Object) -> None:
            if pod["status"].get("phase") not in FINISHED:
                pod["status"] |= {"phase": "Running", "startTime": timestamp(self.server.now_ms)}

        self.change(key, running)

    def finish_pod(self) -> None:
        """A pod that runs ends well or badly; a pod that waits may fail too."""
        phase = self.pick(*FINISHED)
        key = self.some(POD, where=lambda pod: is_bound(pod) or self.maybe(1))
        self.change(key, lambda pod: pod["status"].update(phase=phase))

    def bind_elsewhere(self) -> None:
        """Another scheduler binds one of its pods; now and then one of ours."""
        key = self.some(POD, where=lambda pod: self.is_of_others(pod) or self.maybe(1))
        if key is not None:
            uid = self.server.objects[key]["metadata"]["uid"]
            self.server.bind(uid, self.pick(*NODES), self.mark_devices)

    def is_of_others(self, pod: Object) -> bool:
        """Return whether another scheduler has to bind the pod."""
        return bool(pod["spec"].get("schedulerName") == "other-scheduler")

    def mark_devices(self, pod: Object) -> None:
        """Write on a pod which devices it shares; only KAI does."""

    # Owners.

    def change_owner(self) -> None:
        """An owner comes or changes; at times a pod has the name of one that it would make."""
        namespace, name = self.pick(*NAMESPACES), self.pick(*OWNER_NAMES)
        pod, replicas = self.new_pod(namespace, name), self.pick(0, 1, 2)
        of = self.pick(*OWNERS)
        self.toggle(new_owner_object(of, pod, replicas=replicas, is_suspended=self.maybe(2)))
        if self.maybe(2):
            self.server.create(self.new_pod(namespace, f"{name}-0"))

    def report_owner(self) -> None:
        """A controller counts the pods that it made, or sees that a Job is done."""
        status = self.pick(*STATUSES)
        self.change(self.some(*OWNERS), lambda owner: owner.update(status=status))

    def remove_owner(self) -> None:
        """An owner is gone; what it made may stay for a while."""
        key = self.some(*OWNERS)
        if key is not None:
            self.server.remove(key)

    def adopt(self) -> None:
        """A pod or an owner gets a controller, which is there or not, or loses it."""
        key, above = self.some(*self.owned), self.some(*OWNERS)
        references: list[Object] = []
        if above is not None and self.maybe(8):
            uid = self.server.objects[above]["metadata"]["uid"]
            references = [reference_to(above, uid if self.maybe(9) else "gone")]
        self.change(key, lambda each: each["metadata"].update(ownerReferences=references))

    # Nodes.

    def new_node(self, name: str) -> Object:
        """Return a node that is ready, as a rule."""
        offers = {"cpu": self.pick("2", "4"), "memory": self.pick("4Gi", "8Gi"), "pods": "110"}
        if self.maybe(6):
            offers[GPU] = self.pick("1", "2")
        if self.random.randrange(12) == 0:
            offers[self.pick(*NEW_RESOURCES)] = "2"
        labels = {"zone": self.pick("a", "b")}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {},
            "status": {
                "allocatable": offers,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def add_node(self) -> None:
        """A node joins."""
        self.server.create(self.new_node(self.pick(*NODES)))

    def remove_node(self) -> None:
        """A node is gone; its pods stay for a while."""
        key = self.some(NODE)
        if key is not None:
            self.server.remove(key)

    def change_node(self) -> None:
        """A node changes its size, labels, taints or readiness."""
        key = self.some(NODE)
        if key is None:
            return
        other = self.new_node(key.name)
        taint = {"key": "upkeep", "effect": self.pick("NoSchedule", "NoExecute")}
        what = self.pick("size", "size", "labels", "labels", "taints", "cordon", "ready")

        def changed(node: Object) -> None:
            spec = node["spec"]
            if what == "size":
                node["status"]["allocatable"] = other["status"]["allocatable"]
            elif what == "labels":
                node["metadata"]["labels"] = other["metadata"]["labels"]
            elif what == "taints":
                spec["taints"] = [] if spec.get("taints") else [taint]
            elif what == "cordon":
                spec["unschedulable"] = not spec.get("unschedulable", False)
            else:
                is_ready = node["status"]["conditions"][0]["status"] == "True"
                status = "False" if is_ready else "True"
                condition(node, "Ready", status, self.server.now_ms)

        self.change(key, changed)

    # What pods and groups refer to.

    def change_others(self) -> None:
        """A priority class, a namespace or a budget comes, changes or goes."""
        key = self.some(PRIORITY_CLASS, NAMESPACE, BUDGET) if self.maybe(4) else None
        if key is not None:
            self.server.remove(key)
            return
        self.toggle(self.pick(self.new_class, self.new_namespace, self.new_budget)())

    def change_volumes(self) -> None:
        """A volume, a claim or a storage class comes, changes, is being deleted or goes."""
        kinds = (CLAIM, VOLUME, STORAGE_CLASS, ATTACH_LIMITS)
        key = self.some(*kinds) if self.maybe(3) else None
        if key is None:
            self.toggle(new_volume_object(self, NAMESPACES, NODES))
        elif self.maybe(3):
            leaving = {"deletionTimestamp": timestamp(self.server.now_ms)}
            self.change(key, lambda value: value["metadata"].update(leaving))
        else:
            self.server.remove(key)

    def new_class(self) -> Object:
        """Return a priority class."""
        return {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": self.pick(*CLASSES)},
            "value": self.pick(-10, 60, 75, 120),
            "globalDefault": self.maybe(2),
            "preemptionPolicy": self.pick("PreemptLowerPriority", "Never"),
        }

    def new_namespace(self) -> Object:
        """Return a namespace with a label that terms of pods select by."""
        return {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": self.pick(*NAMESPACES),
                "labels": {"team": self.pick("red", "blue")},
            },
        }

    def new_budget(self) -> Object:
        """Return a budget for the pods of one application."""
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"namespace": self.pick(*NAMESPACES), "name": self.pick("one", "two")},
            "spec": {"selector": {"matchLabels": {"app": self.pick(*APPS)}}},
            "status": {"disruptionsAllowed": self.pick(0, 1)},
        }

    # Mistakes.

    # Rule sets with a tree of queues look at the values.
    def has_cycle(self, values: Iterable[Object]) -> bool:  # noqa: ARG002
        """Return whether a queue among *values* is its own ancestor; without a tree none is."""
        return False

    def break_cycles(self) -> None:
        """Let no queue be its own ancestor; without a tree there is nothing to do."""

    def spoil(self) -> None:
        """An object becomes malformed."""
        key = self.some(*self.spoils)
        if key is None or key in self._spoilt:
            return
        path, bad = self.random.choice(self.spoils[key.of])
        container = container_of(self.server.objects[key], path)
        if container is None:
            return
        good = container.get(path[-1], ABSENT) if isinstance(container, dict) else ABSENT
        self._spoilt[key] = [(path, bad, good)]
        self.server.update(key, lambda value: put_at(value, path, bad))

    def repair(self) -> None:
        """A malformed object is corrected, or removed."""
        if self._spoilt:
            key = self.random.choice(sorted(self._spoilt))
            if self.maybe(3) and key in self.server.objects:
                self._spoilt.pop(key)
                self.server.remove(key)
            else:
                self._repair(key)

    def repair_all(self) -> None:
        """Correct every malformed object."""
        for key in sorted(self._spoilt):
            self._repair(key)

    def _repair(self, key: Key) -> None:
        for path, bad, good in self._spoilt.pop(key):
            value = self.server.objects.get(key)
            container = None if value is None else container_of(value, path)
            if isinstance(container, dict) and container.get(path[-1]) == bad:
                self.server.update(key, partial(put_at, path=path, new=good))


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
