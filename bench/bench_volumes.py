"""What volumes add to the loading of pods: the same 10,000 pods with and without claims.

Half of them run. Each has a dataset, one for each job, and scratch space of its own.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.bench_pods import JOBS, MADE, PODS, listed_pod
from bench.harness import Work, benchmark
from fairlead.manifest.load import load

NODES = 1_000
TEAMS = 10
ZONE = "topology.kubernetes.io/zone"
WITHOUT_MS = 1_050  # the row without volumes, on the machine on which the goal was set
Value = dict[str, Any]


def _object(api_version: str, kind: str, metadata: Value, **fields: Any) -> Value:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _cluster() -> Iterator[Value]:
    free: Value = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec: Value = {"resources": {"gpu": free, "cpu": free, "memory": free}}
    yield _object("scheduling.run.ai/v2", "Queue", {"name": "lab"}, spec=spec)
    offered = {"cpu": "128", "memory": "1024Gi", "nvidia.com/gpu": "16", "pods": "110"}
    for number in range(NODES):
        labels = {ZONE: f"zone-{number % 3}", "pool": "gpu"}
        metadata: Value = {"name": f"node-{number}", "labels": labels}
        yield _object("v1", "Node", metadata, status={"allocatable": offered})
    train = {"name": "train"}
    yield _object("scheduling.k8s.io/v1", "PriorityClass", train, value=50)
    for job in range(JOBS):
        name, namespace = f"job-{job}", f"team-{job % TEAMS}"
        metadata = {"name": name, "namespace": namespace, "creationTimestamp": MADE}
        spec = {"queue": "lab", "minMember": 1, "priorityClassName": "train"}
        yield _object("scheduling.run.ai/v2alpha2", "PodGroup", metadata, spec=spec)


def _claims() -> Iterator[Value]:
    access: Value = {"accessModes": ["ReadOnlyMany"], "storageClassName": "shared"}
    for job in range(JOBS):
        metadata = {"name": f"data-{job}", "namespace": f"team-{job % TEAMS}"}
        spec: Value = {**access, "volumeName": f"pv-{job}"}
        yield _object("v1", "PersistentVolumeClaim", metadata, spec=spec)
        zone: Value = {"key": ZONE, "operator": "In", "values": [f"zone-{job % 3}"]}
        required: Value = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
        spec = {**access, "nodeAffinity": {"required": required}}
        yield _object("v1", "PersistentVolume", {"name": f"pv-{job}"}, spec=spec)
    waits = {"provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    yield _object("storage.k8s.io/v1", "StorageClass", {"name": "scratch"}, **waits)


def _pods(*, with_volumes: bool) -> Iterator[Value]:
    made: Value = {"storageClassName": "scratch", "accessModes": ["ReadWriteOnce"]}
    for number in range(PODS):
        pod = listed_pod(number)
        if number % 2:
            del pod["spec"]["nodeName"]
            pod["status"] = {"phase": "Pending"}
        if with_volumes:
            claim = {"claimName": f"data-{number % JOBS}"}
            pod["spec"]["volumes"] += [
                {"name": "data", "persistentVolumeClaim": claim},
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": made}}},
            ]
        yield pod


def _loading(*objects: Value) -> Work:
    folder = tempfile.TemporaryDirectory(prefix="fairlead-bench-")
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    (Path(folder.name) / "cluster.json").write_text(text, encoding="utf-8")

    def work() -> None:
        result = load([folder.name])
        assert result.assembled is not None
        assert [each for each in result.findings if each.severity != "advice"] == []

    return work


@benchmark("load 10,000 KAI pods without volumes")
def prepare_pods_without_volumes() -> Work:
    """Read, check and assemble pods that mount nothing that matters."""
    return _loading(*_cluster(), *_pods(with_volumes=False))


@benchmark(
    "load 10,000 KAI pods with volumes",
    goal_cpu_ms=1.3 * WITHOUT_MS,
    peer="1.3 times the row without",
)
def prepare_pods_with_volumes() -> Work:
    """Read the same pods with a dataset and scratch space each, and what these refer to."""
    return _loading(*_cluster(), *_claims(), *_pods(with_volumes=True))
