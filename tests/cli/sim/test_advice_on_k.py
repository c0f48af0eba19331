"""The advice on k against simulations: jobs get their turn with the k that it names only.

And the advice on scenarios, of which the jobs are described and not there yet.
"""

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


EXAMPLES = Path(__file__).parents[3] / "examples/scenarios/time-based"
NO_K = "give the queue a larger quota or weight, or make the job smaller"

# Each agrees with the story at the top of its file.
ADVICE = {
    "taking-turns": {},
    "too-small-k": {0: "write 0.75 or more"},
    "three-equal": {0: NO_K, 1: NO_K},
    "two-to-one": {0: "write 1.91 or more"},
    "burst": {1: "write 1 or more"},  # nine queues with jobs of one GPU never wait for ever
}


def advice(file: Path) -> dict[str, str]:
    ran = run_cli("validate", "-o", "json", "-f", str(file))
    found = json.loads(ran.out)["findings"]
    return {each["path"]: each["fix"] for each in found if each["code"] == "ill-matched"}


@pytest.mark.parametrize("name", ADVICE)
def test_a_scenario_has_advice_on_the_jobs_that_it_describes(name: str) -> None:
    fixes = advice(EXAMPLES / f"{name}.yaml")
    expected = {f"$.spec.policies[{place}].usage": fix for place, fix in ADVICE[name].items()}
    assert fixes.keys() == expected.keys()
    assert all(fixes[path].startswith(fix) for path, fix in expected.items())


def shapes(pods: str, changes: str = "[]") -> str:
    """Return three queues, each with such jobs of two GPUs a pod on 16 GPUs, with k = 1000."""
    work = "".join(
        f"""
    - name: {name}
      queue: {name}
      shapes: [{{{pods}, requests: {{gpu: 2}}, run: 1h}}]
      arrivals: {{every: {{interval: 1h}}}}"""
        for name in "abc"
    )
    return f"""
apiVersion: fairlead/v1
kind: Scenario
metadata: {{name: shapes}}
spec:
  duration: 1h
  cluster:
    nodes: [{{name: node, capacity: {{gpu: 16}}}}]
    changes: {changes}
  queues: [{{name: a}}, {{name: b}}, {{name: c}}]
  policies: [kai]
  usage: {{k: 1000}}
  work: {work}
"""


# 16/2 GPUs at most while one other queue waits too.
SHAPES = [
    ("pods: 8", "[]", True),  # 16 GPUs, all at once
    ("pods: 4", "[]", False),  # 8
    ("pods: 8, minPods: 5", "[]", True),  # 10 to begin with
    ("pods: 8, minPods: 4", "[]", False),
    ("pods: {uniform: {atLeast: 1, atMost: 8}}", "[]", False),  # of the others some are small
    ("pods: 8", "[{at: 1m, add: {name: more, capacity: {gpu: 16}}}]", False),  # too early to say
]


@pytest.mark.parametrize(("pods", "changes", "is_told"), SHAPES)
def test_shapes_count_with_the_pods_with_which_a_job_starts(
    tmp_path: Path, pods: str, changes: str, is_told: bool
) -> None:
    file = tmp_path / "shapes.yaml"
    file.write_text(shapes(pods, changes), encoding="utf-8")
    assert advice(file) == ({"$.spec.usage": NO_K} if is_told else {})
