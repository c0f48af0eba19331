"""Small inputs for tests of the command line."""

from pathlib import Path

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: "64", memory: 256Gi, nvidia.com/gpu: "10", pods: "110"}
"""

KAI_QUEUE = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {{name: {name}}}
spec:
  parentQueue: "{parent}"
  resources:
    gpu: {{quota: {quota}, limit: -1, overQuotaWeight: {weight}}}
    cpu: {{quota: -1, limit: -1, overQuotaWeight: 1}}
    memory: {{quota: -1, limit: -1, overQuotaWeight: 1}}
"""

POD_GROUP = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: {name}, namespace: team}}
spec: {{queue: {queue}, minMember: 1, priorityClassName: train}}
---
apiVersion: v1
kind: Pod
metadata:
  name: {name}-0
  namespace: team
  annotations: {{pod-group-name: {name}}}
spec:
  schedulerName: kai-scheduler
  containers: [{{name: main, resources: {{requests: {{nvidia.com/gpu: {gpus}}}}}}}]
"""


def kai_queue(name: str, *, quota: object = 0, weight: object = 1, parent: str = "") -> str:
    return KAI_QUEUE.format(name=name, quota=quota, weight=weight, parent=parent)


def pod_group(name: str, queue: str, gpus: int) -> str:
    return POD_GROUP.format(name=name, queue=queue, gpus=gpus)


def write(folder: Path, name: str, *documents: str) -> str:
    """Write documents into one file and return its name."""
    file = folder / name
    file.write_text("---".join(documents))
    return str(file)
