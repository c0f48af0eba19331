"""One fact about one pod, and the plan after it, in clusters of 10,000 workloads.

What a live scheduler does most: an object is seen to come or to go, the state is brought in line
with it, and a plan is made.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

from bench.harness import Work, benchmark
from fairlead.manifest.text.documents import Document, cluster_document
from fairlead.manifest.translate.translator import Translator
from fairlead.model.execution.reconcile import ObservedPlace, ObservedWorkload, bring_in_line
from fairlead.policy.contract import PolicyName, make_policy

WORKLOADS = 10_000
QUEUES = 100
NODES = 1_000
NOW_MS = 1_793_500_000_000
SINCE = "2026-11-01T00:00:00Z"
REQUESTS = {"cpu": "1", "memory": "1Gi"}
CONTAINER = {"name": "c", "resources": {"requests": REQUESTS}}

Manifest = dict[str, Any]
_versions = count(1)


def _manifest(api_version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Manifest:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"{kind}-{namespace}-{name}",
        "resourceVersion": str(next(_versions)),
        "creationTimestamp": SINCE,
        **rest.pop("metadata", {}),
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def _node(number: int) -> Manifest:
    """Return a node of 16 CPUs, of which pods use ten."""
    allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return _manifest("v1", "Node", f"n{number:04}", status={"allocatable": allocatable})


def _pod(number: int, *, scheduler: str, runs: bool) -> Manifest:
    queue = f"q{number % QUEUES:03}"
    spec: Manifest = {"schedulerName": scheduler, "containers": [CONTAINER]}
    status: Manifest = {"phase": "Pending"}
    if runs:
        spec["nodeName"] = f"n{number % NODES:04}"
        status = {"phase": "Running", "startTime": SINCE}
    metadata = {"labels": {"kai.scheduler/queue": queue}}
    name = f"p{number:05}"
    return _manifest("v1", "Pod", name, queue, metadata=metadata, spec=spec, status=status)


def _kueue_workload(number: int, *, runs: bool) -> Manifest:
    queue = f"q{number % QUEUES:03}"
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [CONTAINER]}}}
    status: Manifest = {}
    if runs:
        granted = {"name": "main", "count": 1, "flavors": dict.fromkeys(REQUESTS, "any")}
        reserved = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": SINCE}
        status = {
            "admission": {"clusterQueue": queue, "podSetAssignments": [granted]},
            "conditions": [reserved],
        }
    spec = {"queueName": "local", "podSets": [pod_set]}
    api = "kueue.x-k8s.io/v1beta1"
    return _manifest(api, "Workload", f"w{number:05}", queue, spec=spec, status=status)


def _kai_queue(name: str) -> list[Manifest]:
    free = {"quota": 0, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": {**free, "quota": 200_000}, "memory": free, "gpu": free}
    return [_manifest("scheduling.run.ai/v2", "Queue", name, spec={"resources": resources})]


def _elastic_quota(name: str) -> list[Manifest]:
    spec = {"min": {"cpu": "200", "memory": "256Gi"}}
    return [_manifest("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", "quota", name, spec=spec)]


def _cluster_queue(name: str) -> list[Manifest]:
    quotas = [{"name": each, "nominalQuota": most} for each, most in QUOTAS.items()]
    group = {
        "coveredResources": list(REQUESTS),
        "flavors": [{"name": "any", "resources": quotas}],
    }
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    spec = {
        "cohort": "all",
        "namespaceSelector": {},
        "resourceGroups": [group],
        "preemption": preemption,
    }
    api = "kueue.x-k8s.io/v1beta1"
    return [
        _manifest(api, "ClusterQueue", name, spec=spec),
        _manifest(api, "LocalQueue", "local", name, spec={"clusterQueue": name}),
    ]


QUOTAS = {"cpu": "200", "memory": "256Gi"}


class Cluster:
    """A cluster in which all workloads run and nothing waits, as it is watched."""

    def __init__(
        self,
        policy: PolicyName,
        queue: Callable[[str], list[Manifest]],
        work: Callable[[int, bool], Manifest],
        *others: Manifest,
    ) -> None:
        """List all objects once."""
        self.translator = Translator(policy)
        objects = [*others, *map(_node, range(NODES))]
        objects += [each for number in range(QUEUES) for each in queue(f"q{number:03}")]
        objects += [work(number, True) for number in range(WORKLOADS)]
        for each in objects:
            self.translator.changed(cluster_document(each))
        self.translator.settle()
        self.policy = make_policy(self.translator.settings)
        self.policy.plan(self.translator.state, NOW_MS, explain=False)
        self._work = work

    def comes_and_goes(self) -> Work:
        """Return a work in which one more workload comes, is planned for, and goes again."""
        numbers = count(WORKLOADS)
        translator, policy = self.translator, self.policy

        def tell(fact: Callable[[Document], None], document: Document) -> None:
            fact(document)
            translator.settle()
            policy.plan(translator.state, NOW_MS, explain=False)

        def work() -> None:
            document = cluster_document(self._work(next(numbers), False))
            tell(translator.changed, document)
            tell(translator.removed, document)

        return work


def _kai() -> Cluster:
    return Cluster(
        "kai", _kai_queue, lambda number, runs: _pod(number, scheduler="kai-scheduler", runs=runs)
    )


@benchmark("a pod among 10,000: state", goal_cpu_ms=0.05, operations=2)
def one_pod() -> Work:
    """Compared with what is known, and taken in."""
    cluster = _kai()
    state = cluster.translator.state
    name, like = next(iter(state.workloads.items()))
    run = state.runs[name]
    places = {pod: ObservedPlace(at.node, at.started_ms) for pod, at in run.pods.items()}
    observed = ObservedWorkload(workload=like, places=places)

    def work() -> None:
        bring_in_line(state, name, None)
        bring_in_line(state, name, observed)

    return work


@benchmark("a pod among 10,000: read and planned, kai", goal_cpu_ms=5.0, operations=2)
def kai_plan() -> Work:
    """One cycle after the pod came, and one after it is gone."""
    return _kai().comes_and_goes()


@benchmark(
    "a pod among 10,000: read and planned, elastic-quota",
    goal_cpu_ms=5.0,
    operations=2,
)
def elastic_plan() -> Work:
    """One cycle after the pod came, and one after it is gone."""
    return Cluster(
        "elastic-quota",
        _elastic_quota,
        lambda number, runs: _pod(number, scheduler="default-scheduler", runs=runs),
    ).comes_and_goes()


def _kueue(*others: Manifest) -> Cluster:
    flavor = _manifest("kueue.x-k8s.io/v1beta1", "ResourceFlavor", "any", spec={})
    return Cluster(
        "kueue",
        _cluster_queue,
        lambda number, runs: _kueue_workload(number, runs=runs),
        flavor,
        *others,
    )


@benchmark("a workload among 10,000: read and planned, kueue", goal_cpu_ms=5.0, operations=2)
def kueue_plan() -> Work:
    """One cycle after the Workload came, and one after it is gone."""
    return _kueue().comes_and_goes()


@benchmark(
    "a workload among 10,000: read and planned, kueue with fair sharing",
    goal_cpu_ms=5.0,
    operations=2,
)
def fair_kueue_plan() -> Work:
    """One cycle after the Workload came, and one after it is gone."""
    api = "config.kueue.x-k8s.io/v1beta1"
    fair = _manifest(api, "Configuration", "kueue", fairSharing={"enable": True})
    return _kueue(fair).comes_and_goes()
