"""The advice on k against simulations: jobs get their turn with the k that it names only."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tests.cli.run_cli import run_cli

SCENARIO = """
apiVersion: fairlead/v1
kind: Scenario
metadata: {{name: turns}}
spec:
  duration: 10m
  cluster: {{nodes: [{{name: node, capacity: {{cpu: 64, memory: 64Gi, gpu: {gpus}}}}}]}}
  queues: [{queues}]
  policies: [kai]
  usage: {{k: {k}, window: 256s, halfLife: 128s, fetchInterval: 1s}}
  cycle: {{every: 5s}}
  work: [{work}]
"""
WORK = """
    {{name: {name}, queue: {name}, shapes: [{{requests: {{gpu: {gpus}}}, run: forever}}],
      arrivals: {{at: {{times: [{at}]}}}}}}
"""


def evictions(folder: Path, gpus: int, jobs: list[int], k: str) -> int:
    """Let a take all GPUs at once, and each other queue wait with one job from a minute on."""
    names = "abcdefgh"[: len(jobs)]
    work = [
        WORK.format(name=name, gpus=size, at="1m" if at else "0s").strip()
        for at, (name, size) in enumerate(zip(names, jobs, strict=True))
    ]
    queues = ", ".join(f"{{name: {name}}}" for name in names)
    text = SCENARIO.format(gpus=gpus, queues=queues, k=k, work=",\n    ".join(work))
    (folder / "turns.yaml").write_text(text, encoding="utf-8")
    ran = run_cli("simulate", str(folder / "turns.yaml"), "--to", str(folder / "result"))
    assert ran.exit_code == 0, ran.err
    summary = json.loads((folder / "result" / "kai" / "summary.json").read_text(encoding="utf-8"))
    found = summary["of_cluster"]["preemptions"]["evicted"]
    assert isinstance(found, int)
    return found


# GPUs, the job of each queue, the least k by the advice, and less of it by more than a rounded GPU.
TURNS = [
    (16, [16, 16], "0.9375", "0.9"),  # 15.5/8 - 1
    (16, [16, 8, 8], "0.5", "0.3"),  # 8/(16/3) - 1
    (20, [20, 5, 5, 5, 5], "0.25", "0.05"),  # 5/(20/5) - 1
]


@pytest.mark.parametrize(("gpus", "jobs", "least", "less"), TURNS)
def test_the_least_k_is_what_it_takes(
    tmp_path: Path, gpus: int, jobs: list[int], least: str, less: str
) -> None:
    for k, has_turns in ((Decimal(least) + Decimal("0.01"), True), (Decimal(less), False)):
        folder = tmp_path / str(k)
        folder.mkdir()
        assert (evictions(folder, gpus, jobs, str(k)) > 0) is has_turns, k


@pytest.mark.parametrize("jobs", [[16, 16, 16], [16, 9, 9]])
def test_of_three_queues_no_k_gives_two_that_wait_more_than_half_each(
    tmp_path: Path, jobs: list[int]
) -> None:
    assert evictions(tmp_path, 16, jobs, "1000") == 0
