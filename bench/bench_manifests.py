"""From a folder of KAI manifests to a cluster state: the whole way of `fairlead validate`."""

import tempfile
from pathlib import Path

from bench.harness import Work, benchmark
from fairlead.manifest.load import load

TEAMS = 1000
DEPARTMENTS = 10
JOBS = 2000
QUEUE = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata:
  name: {name}
spec:
  parentQueue: "{parent}"
  priority: 100
  reclaimMinRuntime: 5m
  resources:
    gpu: {{quota: {gpus}, limit: -1, overQuotaWeight: 1}}
    cpu: {{quota: {cores}, limit: -1, overQuotaWeight: 2.5}}
    memory: {{quota: -1, limit: -1, overQuotaWeight: 1}}
"""
JOB = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: job-{number}, namespace: team-{team}, creationTimestamp: "2026-11-15T08:00:00Z"}}
spec: {{queue: team-{team}, minMember: 1, priorityClassName: train}}
---
apiVersion: v1
kind: Pod
metadata:
  name: job-{number}-0
  namespace: team-{team}
  annotations: {{pod-group-name: job-{number}}}
spec:
  schedulerName: kai-scheduler
  containers:
    - name: main
      resources: {{requests: {{cpu: 8, memory: 64Gi, nvidia.com/gpu: 1}}}}
status: {{phase: Pending}}
"""


def _queues() -> dict[str, str]:
    departments = {
        f"department-{at}": QUEUE.format(
            name=f"department-{at}", parent="", gpus=4 * TEAMS, cores=8000 * TEAMS
        )
        for at in range(DEPARTMENTS)
    }
    teams = {
        f"team-{at}": QUEUE.format(
            name=f"team-{at}", parent=f"department-{at % DEPARTMENTS}", gpus=4, cores=8000
        )
        for at in range(TEAMS)
    }
    return {**departments, **teams}


def _loading(files: dict[str, str]) -> Work:
    """Return the loading of a folder with *files*, which lasts as long as the work does."""
    folder = tempfile.TemporaryDirectory(prefix="fairlead-bench-")
    for name, text in files.items():
        (Path(folder.name) / f"{name}.yaml").write_text(text, encoding="utf-8")

    def work() -> None:
        result = load([folder.name])
        assert result.assembled is not None
        assert result.findings == ()

    return work


@benchmark("load 1,000 KAI queues from as many files", goal_cpu_ms=300)
def prepare_queue_files() -> Work:
    """Read, check and assemble one manifest per file."""
    return _loading(_queues())


@benchmark("load 1,000 KAI queues from one file", goal_cpu_ms=300)
def prepare_queue_stream() -> Work:
    """Read, check and assemble one stream of manifests."""
    return _loading({"queues": "---\n".join(_queues().values())})


@benchmark("load 1,000 KAI queues, 2,000 pod groups and their pods")
def prepare_jobs() -> Work:
    """Read, check and assemble a busy cluster."""
    jobs = [JOB.format(number=number, team=number % TEAMS) for number in range(JOBS)]
    return _loading({"queues": "---\n".join(_queues().values()), "jobs": "---\n".join(jobs)})
