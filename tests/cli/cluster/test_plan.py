"""``fairlead plan``: decisions in a table and as a document, and what it cannot do."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import of_shard, run_cli
from tests.shared_folder import ROOT

# Of 10 GPUs the job of a takes 4, its quota; that of b, 7, does not fit beside it.
CLUSTER = (
    NODE,
    kai_queue("a", quota=4),
    kai_queue("b", quota=2),
    pod_group("ja", "a", 4),
    pod_group("jb", "b", 7),
)
NOW = ("--now", "2026-11-16T08:00:00Z")


def cluster(folder: Path) -> str:
    return write(folder, "c.yaml", *CLUSTER)


def test_every_job_has_a_row_with_its_reason(tmp_path: Path) -> None:
    ran = run_cli("plan", "-f", cluster(tmp_path))
    assert ran.exit_code == 0, ran.err
    lines = [line.split(maxsplit=3) for line in ran.answer.splitlines()]
    assert lines[0][:3] == ["DECISION", "JOB", "QUEUE"]
    rows = {row[1]: (row[0], row[3]) for row in lines[1:3]}
    assert rows["team/ja"] == (
        "start",
        "1/1   n1     within the quota of a: gpu: allocated 0 + request 4 <= quota 4",
    )
    assert rows["team/jb"] == (
        "wait",
        (
            "fits no node: 1 of 1 node has too little free nvidia.com/gpu; "
            "reclaim: b would exceed its fair share: gpu: allocated 0 + request 7 > fair share 6"
        ),
    )
    assert ran.out.splitlines()[-1] == "start: 1, wait: 1"


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_programs_get_the_numbers_behind_each_reason(tmp_path: Path, form: str) -> None:
    ran = run_cli("plan", "-f", cluster(tmp_path), "-o", form, *NOW)
    document = json.loads(ran.out) if form == "json" else yaml.safe_load(ran.out)
    assert (document["apiVersion"], document["kind"]) == ("fairlead/v1", "Plan")
    (shard,) = document["shards"]
    (cycle,) = shard["cycles"]
    assert (cycle["cycle"], cycle["takenAt"]) == (1, "2026-11-16T08:00:00Z")
    start, wait = cycle["decisions"]
    assert (start["decision"], start["workload"], start["charged"]) == ("start", "team/ja", ["a"])
    assert start["pods"] == [{"name": "ja-0", "node": "n1"}]
    assert start["reason"]["comparisons"] == [
        {
            "queue": "a",
            "resource": "gpu",
            "left": [{"name": "allocated", "amount": "0"}, {"name": "request", "amount": "4"}],
            "relation": "<=",
            "right": {"name": "quota", "amount": "4"},
        }
    ]
    assert wait["reason"]["tallies"] == [
        {"count": 1, "of": 1, "things": "nodes", "what": "lack nvidia.com/gpu"}
    ]


def test_cycles_end_once_nothing_changes(tmp_path: Path) -> None:
    ran = run_cli("plan", "-f", cluster(tmp_path), "--cycles", "9")
    shown = [line for line in ran.out.splitlines() if line.startswith("cycle")]
    assert shown == ["cycle 1", "cycle 2"]


def test_where_nothing_waits_it_says_so(tmp_path: Path) -> None:
    ran = run_cli("plan", "-f", write(tmp_path, "c.yaml", NODE, kai_queue("a")))
    assert (ran.exit_code, ran.answer) == (0, "nothing waits\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--now", "yesterday"], 2, "expected 2026-11-16T09:00:00Z"),
        (["--now", "2026-11-16T09:00:00"], 2, "time zone"),
        (["--cycles", "0"], 2, "0 is not in the range"),
        (["--now", "9999-12-31T23:59:59.999999999Z"], 2, "in the years 1970 to 2200"),
        (["--now", "9999-12-31T23:59:59-14:00"], 2, "in the years 1970 to 2200"),
        (["--now", "0001-01-01T00:00:00+14:00"], 2, "in the years 1970 to 2200"),
        (["--now", "0001-01-01T00:00:00Z"], 2, "in the years 1970 to 2200"),
        (["--now", "1970-01-01T00:59:59+01:00"], 2, "in the years 1970 to 2200"),
        (["--now", "2201-01-01T00:00:00Z"], 2, "in the years 1970 to 2200"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_told(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    ran = run_cli("plan", "-f", cluster(tmp_path), *arguments)
    assert (ran.exit_code, ran.out) == (code, "")
    assert message in ran.err


@pytest.mark.parametrize(
    ("now", "taken_at"),
    [
        ("1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00Z"),
        ("2200-12-31T23:59:59.999999Z", "2200-12-31T23:59:59Z"),
        ("2026-11-16T09:00:00.5+01:00", "2026-11-16T08:00:00Z"),
    ],
)
def test_the_first_and_the_last_time_are_shown_in_utc(
    tmp_path: Path, now: str, taken_at: str
) -> None:
    ran = run_cli("plan", "-f", cluster(tmp_path), "-o", "json", "--now", now)
    assert of_shard(ran.out)["cycles"][0]["takenAt"] == taken_at


def test_without_nodes_there_is_nowhere_to_run(tmp_path: Path) -> None:
    ran = run_cli("plan", "-f", write(tmp_path, "c.yaml", kai_queue("a"), pod_group("j", "a", 1)))
    assert ran.exit_code == 1
    assert "the input has no Node" in ran.err


@pytest.mark.parametrize("command", [["plan"], ["explain", "/a"]], ids=["plan", "explain"])
def test_what_queues_say_in_their_status_is_no_job(tmp_path: Path, command: list[str]) -> None:
    status = "status: {requested: {nvidia.com/gpu: 4}}\n"
    ran = run_cli(*command, "-f", write(tmp_path, "c.yaml", NODE, kai_queue("a") + status))
    assert (ran.exit_code, ran.out) == (1, "")
    assert "add the pods" in ran.err


def test_a_share_simulation_has_no_nodes_to_plan_for() -> None:
    ran = run_cli("plan", "-f", str(ROOT / "examples" / "share-simulation"))
    assert ran.exit_code == 1
    assert "fairlead queues shows its shares" in ran.err


def test_faithful_waits_for_a_fuller_device_as_kai_does(tmp_path: Path) -> None:
    """One device has a half that stays and a half that leaves, the other is free."""

    def half(name: str, more: str = "", *, node: str = "nodeName: n1,") -> str:
        return f"""
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: x
  annotations: {{gpu-fraction: "0.5"}}
  labels: {{kai.scheduler/queue: a, {more}}}
spec: {{{node} schedulerName: kai-scheduler, containers: [{{name: main}}]}}
"""

    group = "runai-gpu-group: one"
    leaving = half("leaving", group).replace(
        "namespace: x", "namespace: x\n  deletionTimestamp: 2026-11-16T08:00:00Z"
    )
    world = (
        NODE.replace('"10"', '"2"'),
        kai_queue("a", quota=2),
        half("stays", group),
        leaving,
        half("new", node=""),
    )
    file = write(tmp_path, "c.yaml", *world)
    assert run_cli("plan", "-f", file).answer.splitlines()[1].startswith("start")
    assert run_cli("plan", "-f", file, "--faithful").answer.splitlines()[1].startswith("reserve")


POD = """
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: x
  labels: {{kai.scheduler/queue: a}}
  annotations: {{{asks}}}
spec: {{schedulerName: kai-scheduler, containers: [{{name: main}}], {more}}}
"""
NO_GPU = NODE.replace('nvidia.com/gpu: "10", ', "")
NO_SLOT = NODE.replace('pods: "110"', 'pods: "0"')
GATE = "schedulingGates: [{name: later}]"


@pytest.mark.parametrize(
    ("node", "pod", "why"),
    [
        (NODE, pod_group("j", '""', 1), "names no queue"),
        (
            NODE,
            POD.format(asks="", more=GATE),
            "held back: 1 of 1 pod has a scheduling gate",
        ),
        (
            NO_SLOT,
            POD.format(asks="", more=""),
            "fits no node: 1 of 1 node has no room for another pod",
        ),
        (
            NO_GPU,
            POD.format(asks='gpu-fraction: "0.5"', more=""),
            "fits no node: 1 of 1 node has no GPU",
        ),
        (
            NODE,
            POD.format(asks='gpu-memory: "2000"', more=""),
            "fits no node: 1 of 1 node does not say how much memory a GPU has",
        ),
    ],
    ids=["no queue", "a gate", "no slot", "no GPU", "unknown memory"],
)
def test_a_job_that_waits_is_told_in_words_that_cannot_be_misread(
    tmp_path: Path, node: str, pod: str, why: str
) -> None:
    ran = run_cli("plan", "-f", write(tmp_path, "c.yaml", node, kai_queue("a", quota=4), pod))
    assert ran.answer.splitlines()[1].endswith(f"  {why}")
