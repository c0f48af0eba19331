"""A pod that asks for memory of a GPU costs the same, started in a plan or read as running."""

from pathlib import Path
from typing import Any

from tests.cli.manifests import kai_queue, write
from tests.cli.run_cli import of_shard, run_cli

# The small node has no room for a pod, but 10,000 MiB are all of its device: so much of a whole
# one counts while a pod waits. On the large node it is 10,000 / 40,000 = 0.25.
GPU_NODE = """
apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{nvidia.com/gpu.memory: "{memory_mib}"}}}}
status:
  allocatable: {{cpu: "8", memory: 64Gi, nvidia.com/gpu: "1", pods: "{pods}"}}
"""
MEMORY_POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: team
  labels: {{kai.scheduler/queue: a}}
  annotations: {{gpu-memory: "10000"}}
spec:
  schedulerName: kai-scheduler
  {node}
  containers: [{{name: main, resources: {{requests: {{cpu: 1}}}}}}]
"""
QUEUE = kai_queue("a", quota=0).replace("limit: -1", "limit: 1.3", 1)
NODES = (
    GPU_NODE.format(name="small", memory_mib=10_000, pods=0),
    GPU_NODE.format(name="large", memory_mib=40_000, pods=110),
)


def world(folder: Path, **nodes: str) -> str:
    """Write pods by name, with the node on which each runs; "": it waits."""
    pods = [
        MEMORY_POD.format(name=name, node=f"nodeName: {node}" if node else "")
        for name, node in nodes.items()
    ]
    return write(folder, "world.yaml", QUEUE, *NODES, *pods)


def decisions(file: str, *options: str) -> list[list[dict[str, Any]]]:
    """Return the decisions of each cycle."""
    ran = run_cli("plan", "-f", file, "-o", "json", *options)
    assert ran.exit_code == 0, ran.err
    return [cycle["decisions"] for cycle in of_shard(ran.out)["cycles"]]


def test_cycles_charge_a_pod_as_reading_it_where_it_runs_does(tmp_path: Path) -> None:
    """0 + 1 and 0.25 + 1 are within the limit of 1.3; 0.25 + 0.25 + 1 = 1.5 is not."""
    first, second = decisions(world(tmp_path, p1="", p2="", p3=""), "--cycles", "3")
    started = [(each["decision"], each["workload"]) for each in first]
    assert started == [("start", "team/pod/p1"), ("start", "team/pod/p2"), ("wait", "team/pod/p3")]
    ((wait,),) = decisions(world(tmp_path, p1="large", p2="large", p3=""))
    assert wait["workload"] == "team/pod/p3"
    why = "over the limit: gpu: allocated 0.5 + request 1 > limit 1.3 at a"
    assert wait["reason"]["text"] == why
    assert first[2]["reason"] == wait["reason"]
    assert second == [wait]
