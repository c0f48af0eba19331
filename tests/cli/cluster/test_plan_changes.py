"""``fairlead plan --diff``: which jobs start, wait or give way with only one of two inputs."""

import json
from pathlib import Path

import pytest

from tests.cli.kueue_manifests import flavor, queue, workload
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import of_shard, run_cli

NOW = ("--now", "2026-11-16T09:00:00Z")
# 10 GPUs, and two jobs of 6: the queue that is guaranteed 6 starts its job.
WORLD = (NODE, pod_group("ja", "a", 6), pod_group("jb", "b", 6))
OLD = (kai_queue("a", quota=6), kai_queue("b"))
NEW = (kai_queue("a"), kai_queue("b", quota=6))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Write a common part and two sets of queues."""
    common = write(tmp_path, "common.yaml", *WORLD)
    diff = [write(tmp_path, "old.yaml", *OLD), write(tmp_path, "new.yaml", *NEW)]
    return ["-f", common, "--diff", *diff]


def changed(out: str) -> list[list[str]]:
    return [line.split()[:4] for line in out.splitlines() if line.startswith("team/")]


def test_a_job_that_starts_on_one_side_only_is_shown(files: list[str]) -> None:
    ran = run_cli("plan", *files, *NOW)
    assert (ran.exit_code, ran.err) == (0, "")
    assert ran.out.startswith("rules: kai")
    assert sorted(changed(ran.out)) == [
        ["team/ja", "a", "start", "wait"],
        ["team/jb", "b", "wait", "start"],
    ]
    counts = ran.out.splitlines()[-1].split(", ")
    assert sorted(counts) == ["start -> wait: 1", "wait -> start: 1"]


def test_exchanging_the_sides_exchanges_the_decisions(files: list[str]) -> None:
    *common, old, new = files
    there, back = (
        changed(run_cli("plan", *common, *pair, *NOW).out) for pair in ((old, new), (new, old))
    )
    assert sorted([job, queue, after, before] for job, queue, before, after in there) == sorted(
        back
    )


def test_a_side_has_no_differences_to_itself(files: list[str]) -> None:
    *common, old, _ = files
    ran = run_cli("plan", *common, old, old, *NOW)
    assert ran.out.splitlines()[-1] == "no job's decision differs"
    assert of_shard(run_cli("plan", *common, old, old, *NOW, "-o", "json").out) == {
        "name": None,
        "decisions": [],
    }


def test_programs_get_what_plan_says_of_each_side(files: list[str]) -> None:
    _, common, _, old, new = files
    ran = run_cli("plan", *files, *NOW, "-o", "json")
    document = json.loads(ran.out)
    assert (document["kind"], document["policy"]) == ("PlanChanges", "kai")
    for side, file in (("old", old), ("new", new)):
        plan = of_shard(run_cli("plan", "-f", common, "-f", file, *NOW, "-o", "json").out)
        found = [
            each for change in of_shard(ran.out)["decisions"] for each in change[side]["decisions"]
        ]
        by_name = {each["workload"]: each for each in plan["cycles"][0]["decisions"]}
        assert {each["workload"]: each for each in found} == by_name


def test_a_new_job_on_one_side_is_shown_with_what_it_displaces(tmp_path: Path) -> None:
    """Of 4 cores, a high priority takes those that the low one would get."""
    world = write(
        tmp_path, "c.yaml", flavor("cold"), queue("lab", cold=4), workload("low", "lab", 3)
    )
    more = write(tmp_path, "more.yaml", workload("high", "lab", 3, priority=10))
    none = write(tmp_path, "none.yaml", flavor("other"))
    ran = run_cli("plan", "-f", world, "--diff", none, more, *NOW, "-o", "json")
    assert ran.exit_code == 0, ran.err
    outcomes = {
        each["workload"]: [each[side]["outcome"] for side in ("old", "new")]
        for each in of_shard(ran.out)["decisions"]
    }
    assert outcomes == {
        "team/high": ["absent", "start 3/3 on cold"],
        "team/low": ["start 3/3 on cold", "wait"],
    }


def test_several_cycles_cannot_be_compared(files: list[str]) -> None:
    ran = run_cli("plan", *files, "--cycles", "2")
    assert ran.exit_code == 2
    assert "leave out --cycles" in ran.err


def test_two_rule_sets_cannot_be_compared(tmp_path: Path) -> None:
    kai = write(tmp_path, "kai.yaml", *WORLD, *OLD)
    kueue = write(tmp_path, "kueue.yaml", flavor("cold"), queue("lab", cold=4))
    ran = run_cli("plan", "--diff", kai, kueue)
    assert ran.exit_code == 2
    assert "is for kai and" in ran.err
