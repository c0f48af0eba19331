"""An input of several SchedulingShards: each is answered in turn, or the one that is chosen."""

import json
from pathlib import Path

import pytest

from tests.cli.kueue_manifests import flavor, queue
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import run_cli

SHARD = """
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {{name: {name}}}
spec: {{partitionLabelValue: "{pool}"}}
"""


def pooled(text: str, pool: str = "fast") -> str:
    """Put the objects of a text into a pool."""
    labels = f"{{kai.scheduler/node-pool: {pool}}}"
    return text.replace("metadata: {name: ", f"metadata: {{labels: {labels}, name: ")


KUEUE_WORLD = (flavor("cold"), queue("lab", cold=4))
# The pool "fast" has a node of 10 GPUs, the queue b and a job of 4; the rest is in no pool.
WORLD = (
    SHARD.format(name="fast", pool="fast"),
    SHARD.format(name="usual", pool=""),
    NODE,
    pooled(NODE.replace("n1", "n2")),
    kai_queue("a"),
    pooled(kai_queue("b")),
    pod_group("ja", "a", 3),
    pooled(pod_group("jb", "b", 4)),
)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Write a world of two shards."""
    return write(tmp_path, "world.yaml", *WORLD)


def test_each_shard_is_planned_in_turn_the_default_first(file: str) -> None:
    ran = run_cli("plan", "-f", file)
    assert (ran.exit_code, ran.err) == (0, "")
    rules, *words = [line.split()[:2] for line in ran.out.splitlines() if line]
    assert rules == ["rules:", "kai"]  # once for all
    assert words == [
        ["shard", "usual"],
        ["DECISION", "JOB"],
        ["start", "team/ja"],
        ["start:", "1"],
        ["shard", "fast"],
        ["DECISION", "JOB"],
        ["start", "team/jb"],
        ["start:", "1"],
    ]


@pytest.mark.parametrize(("shard", "job"), [("usual", "team/ja"), ("fast", "team/jb")])
def test_one_shard_can_be_chosen(file: str, shard: str, job: str) -> None:
    ran = run_cli("plan", "-f", file, "--shard", shard)
    assert (ran.exit_code, ran.err) == (0, "")
    assert "shard" not in ran.out  # a single one needs no title
    assert [line.split()[1] for line in ran.out.splitlines() if line.startswith("start ")] == [job]


def test_programs_get_a_list_of_shards(file: str) -> None:
    plan = json.loads(run_cli("plan", "-f", file, "-o", "json").out)
    assert [each["name"] for each in plan["shards"]] == ["usual", "fast"]
    jobs = [each["cycles"][0]["decisions"][0]["workload"] for each in plan["shards"]]
    assert jobs == ["team/ja", "team/jb"]
    queues = json.loads(run_cli("queues", "-f", file, "-o", "json").out)
    shown = [[each["name"] for each in shard["queues"]] for shard in queues["shards"]]
    assert shown == [["a"], ["b"]]
    assert [shard["capacity"]["gpu"] for shard in queues["shards"]] == ["10", "10"]


def test_the_list_is_there_for_one_shard_too(file: str) -> None:
    ran = run_cli("plan", "-f", file, "--shard", "fast", "-o", "json")
    (shard,) = json.loads(ran.out)["shards"]
    assert shard["name"] == "fast"


def test_the_list_is_there_under_rules_without_shards(tmp_path: Path) -> None:
    ran = run_cli("queues", "-f", write(tmp_path, "c.yaml", *KUEUE_WORLD), "-o", "json")
    (shard,) = json.loads(ran.out)["shards"]
    assert shard["name"] is None
    assert shard["queues"]


def test_queues_shows_the_tree_of_each_shard(file: str) -> None:
    ran = run_cli("queues", "-f", file)
    firsts = [line.split()[0] for line in ran.out.splitlines() if " gpu " in line]
    titles = [line for line in ran.out.splitlines() if line.startswith("shard ")]
    assert titles == ["shard usual", "shard fast"]
    assert [each for each in firsts if each in "ab"] == ["a", "b"]


@pytest.mark.parametrize("name", ["b", "team/jb"])
def test_explain_finds_the_shard_of_a_queue_or_job(file: str, name: str) -> None:
    ran = run_cli("explain", name, "-f", file, "-o", "json")
    assert ran.exit_code == 0, ran.err
    assert json.loads(ran.out)["shard"] == "fast"


def test_a_queue_of_another_shard_than_the_chosen_one_is_not_explained(file: str) -> None:
    ran = run_cli("explain", "b", "-f", file, "--shard", "usual")
    assert ran.exit_code == 1
    assert "nothing in the input is named 'b'" in ran.err


def test_a_job_of_another_shard_than_the_chosen_one_is_not_called_idle(file: str) -> None:
    ran = run_cli("explain", "team/jb", "-f", file, "--shard", "usual")
    assert ran.exit_code == 1
    assert "'team/jb' has no job in the shard usual; leave --shard out" in ran.err


def test_explain_guesses_among_the_names_of_all_shards(file: str) -> None:
    ran = run_cli("explain", "bb", "-f", file)
    assert ran.exit_code == 1
    assert 'did you mean "b"?' in ran.err


@pytest.mark.parametrize(
    "command", [("plan",), ("queues",), ("explain", "a"), ("metrics",), ("validate",)], ids=" ".join
)
def test_a_shard_that_is_not_there_is_an_error_with_a_guess(
    file: str, command: tuple[str, ...]
) -> None:
    ran = run_cli(*command, "-f", file, "--shard", "fsat")
    assert ran.exit_code == 1
    told = ran.out + ran.err
    assert 'found no SchedulingShard "fsat", expected one of: usual, fast' in told
    assert 'did you mean "fast"?' in told


def test_rules_without_shards_have_none_to_choose(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *KUEUE_WORLD)
    ran = run_cli("queues", "-f", file, "--shard", "fast")
    assert ran.exit_code == 1
    assert 'found no SchedulingShard "fast", and the input has none' in ran.err


def test_metrics_are_those_of_one_scheduler(file: str) -> None:
    ran = run_cli("metrics", "-f", file)
    assert ran.exit_code == 2
    assert "choose with --shard: usual, fast" in ran.err
    ran = run_cli("metrics", "-f", file, "--shard", "fast")
    assert (ran.exit_code, ran.err) == (0, "")
    assert 'queue_name="b"' in ran.out
    assert 'queue_name="a"' not in ran.out


def test_a_shard_without_an_answer_does_not_hide_the_others(tmp_path: Path) -> None:
    """The pool "slow" has neither node nor queue."""
    world = write(tmp_path, "c.yaml", *WORLD, SHARD.format(name="slow", pool="slow"))
    ran = run_cli("plan", "-f", world)
    assert ran.exit_code == 0
    assert "shard slow\n\nno answer: there is nowhere to run: the input has no Node" in ran.out
    shards = json.loads(run_cli("plan", "-f", world, "-o", "json").out)["shards"]
    assert [(each["name"], "cycles" in each) for each in shards] == [
        ("usual", True),
        ("fast", True),
        ("slow", False),
    ]
    assert shards[2]["problem"].startswith("there is nowhere to run")
    alone = run_cli("plan", "-f", world, "--shard", "slow")
    assert alone.exit_code == 1
    assert "the input has no queues for kai" in alone.err


def test_what_no_shard_is_for_is_reported_once(tmp_path: Path) -> None:
    stray = pooled(NODE.replace("n1", "n3"), "gone")
    ran = run_cli("validate", "-f", write(tmp_path, "c.yaml", *WORLD, stray), "-o", "json")
    (finding,) = json.loads(ran.out)["findings"]
    assert finding["message"] == (
        "1 node and 0 jobs belong to pools without a shard in the input and are left out"
    )


def test_what_all_shards_find_is_reported_once(tmp_path: Path) -> None:
    """A queue is below one that is missing: the trees of both shards are read."""
    orphan = kai_queue("c", parent="gone")
    ran = run_cli("validate", "-f", write(tmp_path, "c.yaml", *WORLD, orphan), "-o", "json")
    assert [each["code"] for each in json.loads(ran.out)["findings"]] == ["missing-parent"]


def test_two_shards_of_one_pool_are_one_state_and_a_warning(tmp_path: Path) -> None:
    """Both schedulers would want the same nodes, so that only one can be planned."""
    world = write(tmp_path, "c.yaml", *WORLD, SHARD.format(name="zweiter", pool="fast"))
    ran = run_cli("plan", "-f", world, "-o", "json")
    assert [each["name"] for each in json.loads(ran.out)["shards"]] == ["usual", "fast"]
    assert ran.err.count('found another SchedulingShard; the settings and nodes of "fast"') == 1


def test_a_change_is_shown_for_each_shard(tmp_path: Path) -> None:
    """Only in the shard fast there is more to have: 8 GPUs guaranteed instead of 0."""
    old = write(tmp_path, "old.yaml", *WORLD)
    changed = (*WORLD[:5], pooled(kai_queue("b", quota=8)), *WORLD[6:])
    new = write(tmp_path, "new.yaml", *changed)
    ran = run_cli("queues", "--diff", old, new, "-o", "json")
    shards = json.loads(ran.out)["shards"]
    assert [(each["name"], each["decisions"]) for each in shards] == [("usual", []), ("fast", [])]
    numbers = [[change["number"] for change in each["changes"]] for each in shards]
    assert numbers == [[], ["guaranteed", "allocatable"]]


def test_a_shard_of_one_side_only_is_not_compared_and_told(tmp_path: Path) -> None:
    old = write(tmp_path, "old.yaml", *WORLD)
    new = write(tmp_path, "new.yaml", *WORLD, SHARD.format(name="slow", pool="slow"))
    ran = run_cli("queues", "--diff", old, new)
    assert ran.exit_code == 0
    assert f"note: the shard slow is only in {new}, and is not compared" in ran.err
