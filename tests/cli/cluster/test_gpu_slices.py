"""Slices of GPUs (MIG) in KAI's quotas: a node has them by name, a queue counts GPUs for them."""

from pathlib import Path
from typing import Any

import pytest

from fairlead.manifest.kai.notation import mig_devices
from tests.cli.manifests import kai_queue, pod_group, write
from tests.cli.run_cli import of_shard, run_cli

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: "64", memory: 256Gi, pods: "110",
    nvidia.com/gpu: "1", nvidia.com/mig-1g.5gb: "7", nvidia.com/mig-3g.20gb: "2"}
"""
NOW = ("--now", "2026-11-16T08:00:00Z")


def slices(name: str, queue: str, count: int, size: str) -> str:
    return pod_group(name, queue, count).replace("nvidia.com/gpu", f"nvidia.com/mig-{size}")


def on_node(job: str) -> str:
    return job.replace("  schedulerName", "  nodeName: n1\n  schedulerName")


def shares(file: str) -> dict[str, Any]:
    """Return the numbers of GPUs of each queue, and the capacity."""
    document = of_shard(run_cli("queues", "-f", file, "-o", "json").out)
    found = {each["name"]: each["resources"]["gpu"] for each in document["queues"]}
    return {**found, "capacity": document["capacity"]["gpu"]}


def decided(file: str) -> dict[str, str]:
    """Return the decision about each job with the code of its reason."""
    (cycle,) = of_shard(run_cli("plan", "-f", file, "-o", "json", *NOW).out)["cycles"]
    return {
        each["workload"]: f"{each['decision']} {each['reason']['code']}"
        for each in cycle["decisions"]
    }


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("nvidia.com/mig-1g.5gb", 1),
        ("nvidia.com/mig-3g.20gb", 3),
        ("nvidia.com/mig-1g.10gb.me", 1),
        ("nvidia.com/mig-small", None),
        ("nvidia.com/mig-0g.5gb", None),
        ("nvidia.com/gpu", None),
    ],
)
def test_the_name_of_a_slice_says_for_how_many_gpus_it_counts(
    name: str, devices: int | None
) -> None:
    assert mig_devices(name) == devices


def test_a_queue_is_charged_the_size_of_its_slices(tmp_path: Path) -> None:
    """The node has 1 + 7 * 1 + 2 * 3 = 14; two slices of three run, two of one wait."""
    running = on_node(slices("run", "a", 2, "3g.20gb"))
    file = write(tmp_path, "c.yaml", NODE, kai_queue("a", quota=9), running)
    waiting = slices("wait", "a", 2, "1g.5gb")
    both = write(tmp_path, "d.yaml", NODE, kai_queue("a", quota=9), running, waiting)
    found = shares(file)
    assert found["capacity"] == "14"
    assert (found["a"]["allocated"], found["a"]["requested"]) == ("6", "6")
    assert (shares(both)["a"]["allocated"], shares(both)["a"]["requested"]) == ("6", "8")


def test_a_slice_fits_where_there_is_one_of_its_name(tmp_path: Path) -> None:
    """Seven slices of one are free, and no slice of three: 7 * 1 are no 2 * 3."""
    world = (
        NODE,
        kai_queue("a", quota=14),
        on_node(slices("run", "a", 2, "3g.20gb")),
        slices("one", "a", 7, "1g.5gb"),
        slices("three", "a", 1, "3g.20gb"),
    )
    assert decided(write(tmp_path, "c.yaml", *world)) == {
        "team/one": "start WithinQuota",
        "team/three": "wait NoNodeFits",
    }


def test_the_limit_of_a_queue_counts_slices(tmp_path: Path) -> None:
    """Of 5 GPUs two slices of three would take 6."""
    limited = kai_queue("a", quota=5).replace("limit: -1", "limit: 5", 1)
    file = write(tmp_path, "c.yaml", NODE, limited, slices("j", "a", 2, "3g.20gb"))
    assert decided(file) == {"team/j": "wait OverLimit"}


def test_slices_are_reclaimed_as_gpus_are(tmp_path: Path) -> None:
    """The guest holds both slices of three and is due none; the owner is due six."""
    world = (
        NODE,
        kai_queue("guest", weight=0),
        kai_queue("owner", quota=6),
        on_node(slices("held", "guest", 2, "3g.20gb")),
        slices("next", "owner", 2, "3g.20gb"),
    )
    assert decided(write(tmp_path, "c.yaml", *world)) == {
        "team/held": "evict ReclaimedByFairShare",
        "team/next": "reserve Reclaims",
    }


def test_slices_are_moved_where_too_few_whole_gpus_are_free(tmp_path: Path) -> None:
    """Each of two nodes has one of two slices in use: one of them moves, and two are free.

    No whole GPU is free anywhere, which says nothing about slices.
    """
    nodes = [
        NODE.replace("n1", name)
        .replace('nvidia.com/gpu: "1", ', "")
        .replace("1g.5gb: ", "2g.10gb: ")
        for name in ("n1", "n2")
    ]
    world = (
        *nodes,
        kai_queue("a", quota=12),
        on_node(slices("left", "a", 1, "3g.20gb")),
        on_node(slices("right", "a", 1, "3g.20gb")).replace("nodeName: n1", "nodeName: n2"),
        slices("pair", "a", 2, "3g.20gb"),
    )
    found = decided(write(tmp_path, "c.yaml", *world))
    assert found["team/pair"] == "reserve Consolidates"


def test_a_slice_without_a_size_counts_for_no_gpu_and_is_reported(tmp_path: Path) -> None:
    node = NODE.replace("mig-1g.5gb", "mig-small")
    world = (node, kai_queue("a", quota=1), on_node(slices("j", "a", 2, "small")))
    file = write(tmp_path, "c.yaml", *world)
    assert shares(file)["a"]["allocated"] == "0"
    ran = run_cli("validate", "-f", file)
    assert 'found a request for "nvidia.com/mig-small", which counts for no GPU' in ran.out
    assert ran.exit_code == 0
