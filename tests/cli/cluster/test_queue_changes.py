"""``fairlead queues --diff``: who would be evicted, start or wait if the objects were changed."""

import json
from pathlib import Path

import pytest

from tests.cli.kueue_manifests import flavor, queue, workload
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import of_shard, run_cli

NOW = ("--now", "2026-11-16T09:00:00Z")


def running(text: str) -> str:
    """The same pod group, with its pod on the node."""
    return text.replace("spec:\n  schedulerName", "spec:\n  nodeName: n1\n  schedulerName") + (
        "status: {phase: Running}\n"
    )


# All 10 GPUs are held by a's two jobs, of 4 and 6; b has no quota and asks for 4.
WORLD = (
    NODE,
    running(pod_group("small", "a", 4)),
    running(pod_group("large", "a", 6)),
    pod_group("hungry", "b", 4),
)
# Fair shares: first a is guaranteed all 10. Then b is guaranteed 4, and a has 6.
OLD = (kai_queue("a", quota=10), kai_queue("b"))
NEW = (kai_queue("a", quota=6), kai_queue("b", quota=4))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    common = write(tmp_path, "common.yaml", *WORLD)
    diff = [write(tmp_path, "old.yaml", *OLD), write(tmp_path, "new.yaml", *NEW)]
    return ["-f", common, "--diff", *diff]


def decisions(out: str) -> list[list[str]]:
    """The table below that of the queues, its rows as far as they are words without spaces."""
    lines = out.split("\n\n")[2].splitlines()
    return [line.split()[:5] for line in lines]


def test_who_would_be_evicted_if_a_quota_were_changed(files: list[str]) -> None:
    ran = run_cli("queues", *files)
    assert ran.exit_code == 0, ran.err
    assert decisions(ran.out) == [
        ["JOB", "QUEUE", "OLD", "NEW", "NODES"],
        ["team/small", "a", "keep", "evict", "n1"],
        ["team/hungry", "b", "wait", "reserve", "n1"],
    ]
    assert (
        "  for team/hungry: a is over its fair share: gpu: allocated 10 > allocatable 6" in ran.out
    )
    assert ran.out.endswith("\n\nkeep -> evict: 1, wait -> reserve: 1\n")


def test_who_would_no_longer_be_evicted_is_told_with_the_reason_that_is_gone(
    files: list[str],
) -> None:
    *common, old, new = files
    ran = run_cli("queues", *common, new, old)
    # The new plan decides about hungry alone, so it comes first.
    hungry, small = ran.out.split("\n\n")[2].splitlines()[1:]
    assert hungry.split()[:4] == ["team/hungry", "b", "reserve", "wait"]
    assert "fits no node" in hungry
    assert small.split()[:5] == ["team/small", "a", "evict", "keep", "n1"]
    assert "  old: for team/hungry: a is over its fair share" in small


def test_programs_get_the_decisions_of_both_sides(files: list[str]) -> None:
    document = json.loads(run_cli("queues", *files, *NOW, "-o", "json").out)
    assert document["kind"] == "QueueShareChanges"
    (shard,) = document["shards"]
    small, hungry = shard["decisions"]
    assert (small["workload"], small["queue"]) == ("team/small", "a")
    assert small["old"] == {"outcome": "keep", "decisions": []}
    assert small["new"]["outcome"] == "evict"
    assert small["new"]["decisions"][0]["beneficiary"] == "team/hungry"
    assert [side["outcome"] for side in (hungry["old"], hungry["new"])] == ["wait", "reserve"]


def test_each_side_is_what_plan_says_of_it(files: list[str]) -> None:
    _, common, _, old, new = files
    document = of_shard(run_cli("queues", *files, *NOW, "-o", "json").out)
    for side, file in (("old", old), ("new", new)):
        ran = run_cli("plan", "-f", common, "-f", file, *NOW, "-o", "json")
        (cycle,) = of_shard(ran.out)["cycles"]
        compared = [each for change in document["decisions"] for each in change[side]["decisions"]]
        assert compared == cycle["decisions"]


NOTE = "note: decisions about jobs are not compared: "


@pytest.mark.parametrize("form", ["table", "json"])
def test_where_one_side_cannot_be_planned_a_note_says_so(tmp_path: Path, form: str) -> None:
    asks = kai_queue("a", quota=10) + "status: {requested: {nvidia.com/gpu: 4}}\n"
    old = write(tmp_path, "old.yaml", *WORLD, *OLD)
    new = write(tmp_path, "new.yaml", NODE, asks, OLD[1])
    ran = run_cli("queues", "--diff", old, new, "-o", form)
    assert ran.exit_code == 0, ran.err
    assert f"{NOTE}{new}: the input has no pods, only what queues ask for" in ran.err
    if form == "json":
        assert of_shard(ran.out)["decisions"] is None
    else:
        assert "JOB" not in ran.out


def test_a_capacity_of_ones_own_has_no_plan(files: list[str]) -> None:
    ran = run_cli("queues", *files, "--capacity", "gpu=20")
    assert ran.err == (
        f"{NOTE}--capacity replaces the nodes, and a plan needs the nodes themselves\n"
    )
    assert "JOB" not in ran.out


def test_a_share_simulation_has_no_plan(tmp_path: Path) -> None:
    body = {"totalResource": {"GPU": 1}, "queues": [{"uid": "a", "name": "a"}]}
    file = write(tmp_path, "body.json", json.dumps(body))
    ran = run_cli("queues", "--diff", file, file)
    assert ran.exit_code == 0, ran.err
    assert f"{NOTE}{file}: a share simulation has no nodes" in ran.err


def test_under_kueue_quota_is_planned_without_nodes(tmp_path: Path) -> None:
    """With 2 of its own and the 4 of a, b starts a job of 5; with 2 and 2 it cannot."""
    common = write(tmp_path, "c.yaml", flavor("spot"), workload("job", "b", 5))
    b = queue("b", "all", spot=2)
    old = write(tmp_path, "old.yaml", queue("a", "all", spot=4), b)
    new = write(tmp_path, "new.yaml", queue("a", "all", spot=2), b)
    ran = run_cli("queues", "-f", common, "--diff", old, new, *NOW)
    assert ran.exit_code == 0, ran.err
    head, row = ran.out.split("\n\n")[2].splitlines()
    assert head.split() == ["JOB", "QUEUE", "OLD", "NEW", "FLAVORS", "WHY"]
    assert row.startswith("team/job  b      start 5/5 on spot  wait  ")
    assert ran.out.endswith("\n\nstart -> wait: 1\n")
    back = run_cli("queues", "-f", common, "--diff", new, old, *NOW)
    assert "spot x5" in back.out


def test_the_time_decides_where_a_plan_looks_at_it(tmp_path: Path) -> None:
    """Queue b may take back only from what has run for an hour, and a's pod began at eight."""
    started = running(pod_group("small", "a", 10)).replace(
        "status: {phase: Running}", 'status: {phase: Running, startTime: "2026-11-16T08:00:00Z"}'
    )
    lasting = kai_queue("a", quota=6).replace("resources:", "reclaimMinRuntime: 1h\n  resources:")
    common = write(tmp_path, "common.yaml", NODE, started, WORLD[3])
    old = write(tmp_path, "old.yaml", *OLD)
    new = write(tmp_path, "new.yaml", lasting, NEW[1])
    outcomes = {}
    for hour in ("08:30", "09:30"):
        now = f"2026-11-16T{hour}:00Z"
        ran = run_cli("queues", "-f", common, "--diff", old, new, "--now", now, "-o", "json")
        changes = of_shard(ran.out)["decisions"]
        outcomes[hour] = [(each["workload"], each["new"]["outcome"]) for each in changes]
    assert outcomes == {
        "08:30": [],
        "09:30": [("team/small", "evict"), ("team/hungry", "reserve")],
    }
