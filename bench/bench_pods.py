"""Reads pods as an API server lists them, of which many have the same template."""

from typing import Any

from bench.harness import Work, benchmark
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import identify
from fairlead.manifest.text.documents import cluster_document

PODS = 10_000
JOBS = 50
MADE = "2026-11-15T08:00:00Z"


def listed_pod(number: int) -> dict[str, Any]:
    """Return a pod of a Job that runs, with what its API server, controller and kubelet add."""
    job = number % JOBS
    token = f"kube-api-access-{number:05}"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": f"job-{job}", "uid": f"{job:032x}"}
    metadata = {
        "name": f"job-{job}-{number}",
        "namespace": f"team-{job % 10}",
        "uid": f"{number:032x}",
        "resourceVersion": f"{1000 + number}",
        "creationTimestamp": MADE,
        "generateName": f"job-{job}-",
        "labels": {"app": "train", "job-name": f"job-{job}", "index": f"{number}"},
        "annotations": {"pod-group-name": f"job-{job}", "example.org/ip": f"10.0.0.{number % 250}"},
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": {}}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _spec(number, token),
        "status": _status(),
    }


def _spec(number: int, token: str) -> dict[str, Any]:
    main = {
        "name": "main",
        "image": "registry.example/train:1",
        "command": ["python", "train.py"],
        "env": [{"name": "RANK", "value": f"{number}"}],
        "resources": {
            "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
            "limits": {"memory": "64Gi", "nvidia.com/gpu": "1"},
        },
        "volumeMounts": [{"name": token, "mountPath": "/var/run/secrets", "readOnly": True}],
        "imagePullPolicy": "Always",
    }
    side = {
        "name": "side",
        "image": "registry.example/side:1",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
    }
    lasting = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    return {
        "schedulerName": "kai-scheduler",
        "containers": [main, side],
        "volumes": [{"name": token, "projected": {"sources": []}}, {"name": "d", "emptyDir": {}}],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "securityContext": {},
        "hostname": f"rank-{number}",
        "priority": 0,
        "priorityClassName": "train",
        "preemptionPolicy": "PreemptLowerPriority",
        "nodeSelector": {"pool": "gpu"},
        "nodeName": f"node-{number % 1000}",
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", **lasting},
            {"key": "node.kubernetes.io/unreachable", **lasting},
            {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
        ],
    }


def _status() -> dict[str, Any]:
    kinds = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "startTime": MADE,
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "qosClass": "Burstable",
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": MADE} for kind in kinds
        ],
        "containerStatuses": [{"name": "main", "ready": True}],
    }


@benchmark(
    "read 10,000 pods of 50 jobs, decoded already",
    goal_cpu_ms=200,
    peer="each spec read by itself: 1,080 ms",
)
def prepare_pods() -> Work:
    """Read what a list of pods holds, one object after the other."""
    documents = [cluster_document(listed_pod(number)) for number in range(PODS)]

    def work() -> None:
        findings = Findings()
        read = [identify(each, findings).read(findings) for each in documents]
        assert len(findings) == 0
        assert all(read)

    return work
