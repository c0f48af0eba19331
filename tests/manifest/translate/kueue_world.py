"""Random changes under Kueue's rules: quotas by flavor, cohorts, workloads and their conditions."""

from typing import Any, ClassVar, Final

from tests.manifest.translate.api_server import POD, KindKey, Object, condition, timestamp
from tests.manifest.translate.owner_world import OWNERS
from tests.manifest.translate.tree_world import TreeWorld
from tests.manifest.translate.world import (
    GPU,
    NAMESPACES,
    NEW_RESOURCES,
    SPOILS,
    Spoils,
    Steps,
)

_API: Final = "kueue.x-k8s.io"
CLUSTER_QUEUE: Final = KindKey(_API, "ClusterQueue")
COHORT: Final = KindKey(_API, "Cohort")
LOCAL_QUEUE: Final = KindKey(_API, "LocalQueue")
FLAVOR: Final = KindKey(_API, "ResourceFlavor")
WORKLOAD: Final = KindKey(_API, "Workload")
WORKLOAD_CLASS: Final = KindKey(_API, "WorkloadPriorityClass")

QUEUES: Final = ("red", "blue", "green")
COHORTS: Final = ("root", "inner", "side")
FLAVORS: Final = ("old", "new", "spare")
LOCAL_QUEUES: Final = ("door", "gate")
WORKLOADS: Final = tuple(f"w{number}" for number in range(6))


class KueueWorld(TreeWorld):
    """A cluster in which Kueue grants quota to workloads."""

    tree = COHORT
    parent_field = "parentName"
    owned = (WORKLOAD, POD, *OWNERS)
    spoils: ClassVar[Spoils] = {
        **SPOILS,
        CLUSTER_QUEUE: (
            (
                ("spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "nominalQuota"),
                "many",
            ),
        ),
        COHORT: ((("spec", "fairSharing"), "heavy"),),
        LOCAL_QUEUE: ((("spec", "clusterQueue"), 7),),
        FLAVOR: ((("spec", "nodeLabels"), "fast"),),
        WORKLOAD: ((("spec", "podSets", 0, "count"), "two"),),
        WORKLOAD_CLASS: ((("value",), "big"),),
    }

    def begin(self) -> None:
        """Make two queues of one cohort, with a flavor and doors to them."""
        super().begin()
        for flavor in FLAVORS:
            self.server.create(self.new_flavor(flavor))
        for queue in QUEUES[:2]:
            self.server.create(self.new_queue(queue, "root"))
        for namespace, queue in zip(NAMESPACES, QUEUES, strict=False):
            for name in LOCAL_QUEUES:
                self.server.create(self.new_local_queue(namespace, name, queue))
        for _ in range(self.random.randrange(6)):
            self.add_workload()

    def steps(self) -> Steps:
        """Return what may happen, with weights."""
        return [
            *((weight, each) for weight, each in super().steps() if each != self.add_pod),
            (1, self.add_pod),
            (9, self.add_workload),
            (2, self.change_workload),
            (2, self.write_status),
            (2, self.end_eviction),
            (1, self.remove_workload),
            (2, self.change_queue),
            (1, self.change_cohort),
            (1, self.swap_parents),
            (1, self.change_local_queue),
            (1, self.change_flavor),
            (1, self.remove_any),
        ]

    def new_pod(self, namespace: str, name: str) -> Object:
        """Return a pod of others, or one for which a workload accounts."""
        pod = super().new_pod(namespace, name)
        pod["spec"]["schedulerName"] = "other-scheduler"
        if self.maybe(3):
            pod["metadata"]["labels"]["kueue.x-k8s.io/managed"] = "true"
        if self.maybe(5):  # an owner has the labels of its pods
            pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = self.pick(*LOCAL_QUEUES)
        return pod

    def new_budget(self) -> Object:
        """Return a class of workloads instead: budgets mean nothing to Kueue."""
        return {
            "apiVersion": f"{_API}/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": self.pick("high", "low")},
            "value": self.pick(-5, 10, 100),
        }

    # Workloads.

    def new_workload(self, namespace: str, name: str) -> Object:
        """Return a workload of one or two pod sets."""
        pod_sets = [self.new_pod_set("main")]
        if self.maybe(2):
            pod_sets.append(self.new_pod_set("side"))
        spec: Object = {
            "queueName": self.pick("door", "door", "door", *LOCAL_QUEUES),
            "podSets": pod_sets,
        }
        if self.maybe(3):
            kind = self.pick("WorkloadPriorityClass", "PriorityClass")
            spec["priorityClassRef"] = {"kind": kind, "name": self.pick("high", "low")}
        elif self.maybe(5):
            spec["priority"] = self.pick(-1, 0, 50)
        if self.random.randrange(20) == 0:
            spec["active"] = False
        metadata: Object = {"namespace": namespace, "name": name}
        if self.maybe(3):
            older = f"{namespace}/{self.pick(*WORKLOADS)}"
            metadata["annotations"] = {"kueue.x-k8s.io/workload-slice-replacement-for": older}
        return {
            "apiVersion": f"{_API}/v1beta2",
            "kind": "Workload",
            "metadata": metadata,
            "spec": spec,
            "status": {},
        }

    def new_pod_set(self, name: str) -> Object:
        """Return a pod set whose pods are like other pods, of any count that is small."""
        pod = self.new_pod("a", "template")
        count = self.pick(1, 1, 2, 3)
        found: Object = {
            "name": name,
            "count": count,
            "template": {
                "metadata": {"labels": pod["metadata"]["labels"]},
                "spec": pod["spec"],
            },
        }
        if name == "main" and self.maybe(2):
            found["minCount"] = 1
        return found

    def add_workload(self) -> None:
        """A workload is made."""
        self.server.create(self.new_workload(self.pick(*NAMESPACES), self.pick(*WORKLOADS)))

    def change_workload(self) -> None:
        """A workload changes its queue, its priority or whether it is active; or its pods."""
        key = self.some(WORKLOAD)
        if key is None:
            return
        spec = self.new_workload(key.namespace, key.name)["spec"]
        if not self.maybe(2):
            spec.pop("podSets")

        def changed(workload: Object) -> None:
            kept = {"podSets": workload["spec"]["podSets"]}
            workload["spec"] = {**kept, **spec}

        self.change(key, changed)

    def remove_workload(self) -> None:
        """A workload is gone; another may have its name at once."""
        key = self.some(WORKLOAD)
        if key is not None:
            self.server.remove(key)
            if self.maybe(4):
                self.server.create(self.new_workload(key.namespace, key.name))

    def write_status(self) -> None:
        """Others write the status: it is finished, evicted, admitted, or some pods are done."""
        key = self.some(WORKLOAD)
        if key is None:
            return
        now_ms = self.server.now_ms
        what = self.pick("Finished", "Evicted", "admission", "reclaimable", "requeue", "checks")
        flavor, queue = self.pick(*FLAVORS), self.pick(*QUEUES)
        reason = self.pick(
            "Preempted", "PodsReadyTimeout", "DeactivatedDueToRequeuingLimitExceeded"
        )
        is_admitted, check = self.pick("True", "False"), self.pick("Pending", "Ready", "Rejected")

        def written(workload: Object) -> None:
            status = workload["status"]
            if what == "Finished":
                condition(workload, what, "True", now_ms)
            elif what == "Evicted":
                condition(workload, what, "True", now_ms, reason)
            elif what == "admission" and "admission" not in status:
                admit(workload, queue, [{"cpu": flavor, "memory": flavor}] * 2, {}, now_ms)
            elif what == "reclaimable" and "admission" in status and not _is_partial(workload):
                status["reclaimablePods"] = [{"name": "main", "count": 1}]
            elif what == "checks":
                condition(workload, "Admitted", is_admitted, now_ms)
                status["admissionChecks"] = [{"name": "budget", "state": check}]
                if check == "Rejected":
                    condition(workload, "DeactivationTarget", "True", now_ms, "AdmissionCheck")
            elif what == "requeue":
                status["requeueState"] = {"count": 1, "requeueAt": timestamp(now_ms + 60_000)}

        self.change(key, written)

    def end_eviction(self) -> None:
        """The job of a workload that was evicted has stopped, so that it gives back its quota."""
        key = self.some(WORKLOAD, where=lambda each: holds(each, "Evicted"))
        now_ms = self.server.now_ms

        def ended(workload: Object) -> None:
            workload["status"].pop("reclaimablePods", None)
            if workload["status"].pop("admission", None) is not None:
                condition(workload, "QuotaReserved", "False", now_ms, "Pending")

        self.change(key, ended)

    # Queues, cohorts, flavors.

    def quotas(self, *, has_parent: bool) -> list[Object]:
        """Return one group of resources with one or two flavors."""
        covered = ["cpu", "memory"]
        if self.maybe(6):
            covered.append(GPU)
        if self.random.randrange(15) == 0:
            covered.append(self.pick(*NEW_RESOURCES))
        names = self.pick(["old"], ["old"], ["new", "old"], ["spare"])
        flavors = []
        for name in names:
            resources = [{"name": each, "nominalQuota": self.pick(0, 1, 2, 3)} for each in covered]
            resources[1]["nominalQuota"] = "8Gi"
            if has_parent and self.maybe(2):
                resources[0]["borrowingLimit"] = 1
            flavors.append({"name": name, "resources": resources})
        return [{"coveredResources": covered, "flavors": flavors}]

    def new_queue(self, name: str, cohort: str) -> Object:
        """Return a cluster queue."""
        spec: Object = {
            "resourceGroups": self.quotas(has_parent=bool(cohort)),
            "namespaceSelector": {} if self.maybe(9) else {"matchLabels": {"team": "red"}},
            "queueingStrategy": self.pick("BestEffortFIFO", "StrictFIFO"),
            "preemption": {
                "withinClusterQueue": self.pick(
                    "Never", "LowerPriority", "LowerOrNewerEqualPriority"
                ),
                "reclaimWithinCohort": self.pick("Never", "Any", "LowerPriority"),
            },
        }
        if cohort:
            spec["cohortName"] = cohort
        if self.random.randrange(15) == 0:
            spec["stopPolicy"] = self.pick("Hold", "HoldAndDrain")
        return self._cluster_object("ClusterQueue", name, spec)

    def change_queue(self) -> None:
        """A cluster queue comes, or changes its quota, and perhaps its cohort."""
        self.toggle(self.new_queue(self.pick(*QUEUES), self.pick("", "root", *COHORTS)))

    def change_cohort(self) -> None:
        """A cohort that was only referred to gets an object, or the object changes."""
        parent = self.pick("", *COHORTS)
        spec: Object = {"fairSharing": {"weight": self.pick("1", "2", "500m")}}
        if parent:
            spec["parentName"] = parent
        if self.maybe(4):
            spec["resourceGroups"] = self.quotas(has_parent=bool(parent))
        self.toggle(self._cluster_object("Cohort", self.pick(*COHORTS), spec))

    def unhang(self, value: Object) -> None:
        """Let a cohort stand at the top, where nothing can be borrowed."""
        super().unhang(value)
        for group in value["spec"].get("resourceGroups", []):
            for flavor in group["flavors"]:
                for resource in flavor["resources"]:
                    resource.pop("borrowingLimit", None)

    def new_local_queue(self, namespace: str, name: str, queue: str) -> Object:
        """Return a door of a namespace to a cluster queue."""
        spec: Object = {"clusterQueue": queue}
        if self.random.randrange(15) == 0:
            spec["stopPolicy"] = "Hold"
        return {
            "apiVersion": f"{_API}/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"namespace": namespace, "name": name},
            "spec": spec,
        }

    def change_local_queue(self) -> None:
        """A local queue comes, or leads elsewhere."""
        namespace, name = self.pick(*NAMESPACES), self.pick(*LOCAL_QUEUES)
        self.toggle(self.new_local_queue(namespace, name, self.pick(*QUEUES)))

    def new_flavor(self, name: str) -> Object:
        """Return a flavor."""
        spec: Object = {}
        if self.maybe(3):
            spec["nodeLabels"] = {"zone": self.pick("a", "b")}
        if self.maybe(1):
            spec["nodeTaints"] = [{"key": "upkeep", "effect": "NoSchedule"}]
        return self._cluster_object("ResourceFlavor", name, spec)

    def change_flavor(self) -> None:
        """A flavor comes or changes."""
        self.toggle(self.new_flavor(self.pick(*FLAVORS)))

    def remove_any(self) -> None:
        """A queue, a cohort, a flavor or a class of workloads is gone."""
        key = self.some(CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, FLAVOR, WORKLOAD_CLASS)
        if key is not None:
            self.server.remove(key)

    def _cluster_object(self, kind: str, name: str, spec: Object) -> Object:
        return {
            "apiVersion": f"{_API}/v1beta2",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }


def admit(workload: Object, queue: str, flavors: Any, counts: dict[str, int], now_ms: int) -> None:
    """Write that a workload has quota, of *flavors* for each pod set, for so many pods of each."""
    assignments = []
    for pod_set, given in zip(workload["spec"]["podSets"], flavors, strict=False):
        one: Object = {"name": pod_set["name"], "flavors": dict(given)}
        one["count"] = counts.get(pod_set["name"], 0 if counts else pod_set["count"])
        if isinstance(one["count"], int):
            assignments.append(one)
    workload["status"]["admission"] = {"clusterQueue": queue, "podSetAssignments": assignments}
    condition(workload, "QuotaReserved", "True", now_ms)
    for kind in ("Evicted", "Preempted"):
        if holds(workload, kind):
            condition(workload, kind, "False", now_ms)


def holds(workload: Object, kind: str) -> bool:
    """Return whether a condition of an object is true."""
    conditions = workload.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def _is_partial(workload: Object) -> bool:
    """Return whether fewer pods than all may be admitted: a plan must not come down to none."""
    return any("minCount" in each for each in workload["spec"]["podSets"])
