"""``fairlead explain JOB``: amounts are written as in every other document."""

import json

import pytest

from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

LIMIT = str(ROOT / "examples" / "kai" / "limit")
GIVE_BACK = str(ROOT / "examples" / "kai" / "give-back")
FULLNESS = str(ROOT / "examples" / "kai" / "fullness")
NOW = ("--now", "2026-11-16T08:00:00Z")

SHARD = """
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec: {queueDepthPerAction: {allocate: 3, consolidation: 0, reclaim: 0, preempt: 0}}
---
"""


def lost(queue: str) -> bytes:
    """Return a pod for *queue*, younger than all others, where three of each queue have a turn."""
    text = f"""{SHARD}
apiVersion: v1
kind: Pod
metadata:
  name: lost
  namespace: x
  creationTimestamp: "2026-11-16T07:50:00Z"
  labels: {{kai.scheduler/queue: {queue}}}
spec: {{schedulerName: kai-scheduler, containers: [{{name: main}}]}}
"""
    return text.encode()


def test_the_gates_of_a_job_are_a_document_like_others() -> None:
    """A limit of 6 at research, which is 2 + 2 guaranteed below it and one more for each team."""
    ran = run_cli("explain", "audio/chorus", "-f", LIMIT, "-o", "json")
    document = json.loads(ran.out)
    assert (document["kind"], document["turn"]["turn"]) == ("JobExplanation", 1)
    audio, research = document["turn"]["gates"]
    numbers = {"nonPreemptible": "0", "request": "4", "withinQuota": None, "resource": "gpu"}
    assert audio == numbers | {
        "queue": "audio",
        "allocated": "0",
        "limit": None,
        "quota": "2",
        "fairShare": "3",
        "withinLimit": True,
    }
    assert research == numbers | {
        "queue": "research",
        "allocated": "3",
        "limit": "6",
        "quota": "4",
        "fairShare": "6",
        "withinLimit": False,
    }


def test_a_job_without_a_turn_says_so() -> None:
    ran = run_cli("explain", "vision/signs", "-f", LIMIT, "-o", "json")
    assert json.loads(ran.out)["turn"] is None


@pytest.mark.parametrize(
    ("queue", "code"), [("attic", "QueueDoesNotExist"), ("research", "QueueHasChildren")]
)
def test_nobody_is_before_a_job_that_has_no_turn(queue: str, code: str) -> None:
    ran = run_cli("explain", "x/lost", "-f", LIMIT, "-f", "-", "-o", "json", stdin=lost(queue))
    document = json.loads(ran.out)
    assert [each["reason"]["code"] for each in document["decisions"]] == [code]
    assert (document["turn"], document["before"]) == (None, [])


def test_the_turns_before_are_listed_for_a_job_that_has_one() -> None:
    """Two jobs of audio are older, and its next one asks for no GPU, so vision comes later."""
    ran = run_cli("explain", "x/lost", "-f", LIMIT, "-f", "-", "-o", "json", stdin=lost("audio"))
    document = json.loads(ran.out)
    assert document["turn"]["turn"] == 3
    assert [each["workload"] for each in document["before"]] == [
        "audio/pod/chorus",
        "audio/pod/hum",
    ]


def test_a_job_beyond_the_depth_has_nobody_before_it() -> None:
    shallow = lost("audio").replace(b"allocate: 3", b"allocate: 2")
    ran = run_cli("explain", "x/lost", "-f", LIMIT, "-f", "-", "-o", "json", stdin=shallow)
    document = json.loads(ran.out)
    assert document["decisions"][0]["reason"]["code"] == "BeyondQueueDepth"
    assert document["before"] == []


def test_a_capacity_without_nodes_is_refused_for_a_job() -> None:
    ran = run_cli("explain", "audio/chorus", "-f", LIMIT, "--capacity", "gpu=3")
    assert ran.exit_code == 2
    assert "a job is placed on nodes" in ran.err


ELASTIC = str(ROOT / "examples" / "kai" / "elastic")
MONDAY = str(ROOT / "examples" / "kai" / "monday")


def test_a_job_that_grows_is_shown_as_its_last_turn_found_things() -> None:
    """Of 6 GPUs it got 2 in turn 2 and 1 in turn 5; in turn 7, after the last one went, none."""
    ran = run_cli("explain", "vision/sweep", "-f", ELASTIC)
    assert "It had 3 turns, the last was number 7\n" in ran.out
    lines = [line.split() for line in ran.out.splitlines()]
    assert "vision gpu pass 3 1 - 3 3".split() in lines
    assert "dgx-1 has too little free nvidia.com/gpu 0".split() in lines
    assert "has room" not in ran.out
    document = json.loads(run_cli("explain", "vision/sweep", "-f", ELASTIC, "-o", "json").out)
    assert (document["turns"], document["turn"]["turn"]) == (3, 7)
    assert document["turn"]["pods"] == ["sweep-3"]
    assert [each["turn"] for each in document["before"]] == [1, 3, 4, 6]  # but not its own


def test_nodes_are_named_with_what_is_free_there() -> None:
    """The detector asks for 4 GPUs a pod, 2 at once: one node has 7 and the next best has 1."""
    ran = run_cli("explain", "team-vision/detector", "-f", MONDAY)
    lines = [line.split() for line in ran.out.splitlines()]
    assert "gpu-4 has room 7 86 696Gi".split() in lines
    assert "gpu-3 has too little free nvidia.com/gpu 1 44 352Gi".split() in lines
    assert "gpu-1, gpu-2 have too little free nvidia.com/gpu 0 32 256Gi".split() in lines
    document = json.loads(
        run_cli("explain", "team-vision/detector", "-f", MONDAY, "-o", "json").out
    )
    rooms = {each["node"]: each for each in document["turn"]["rooms"]}
    assert rooms["gpu-4"]["what"] == "have room"
    assert rooms["gpu-4"]["free"][0] == {"resource": "nvidia.com/gpu", "now": ["7"], "later": ["7"]}


@pytest.mark.parametrize(
    ("job", "row"),
    [
        ("notebooks/cem", "dgx-1 has room 1 + 0.5 + 0.5"),
        ("notebooks/dan", "dgx-1 lacks 1 GPU with 0.5 free 0.25"),
        ("notebooks/pair", "dgx-1 has too little free nvidia.com/gpu 1"),  # it asks for whole ones
    ],
)
def test_parts_of_devices_are_free_beside_whole_ones(job: str, row: str) -> None:
    ran = run_cli("explain", job, "-f", str(ROOT / "examples" / "kai" / "fractions"))
    assert row.split() in [line.split() for line in ran.out.splitlines()]


def test_a_job_that_gives_way_is_told_for_whom_and_the_numbers_of_both_queues() -> None:
    """Of 8 GPUs speech holds all, and may hold 6; robotics is due 2 and asks for them."""
    ran = run_cli("explain", "speech/dialects", "-f", GIVE_BACK, *NOW)
    assert ran.answer.splitlines()[0] == (
        "speech/pod/dialects loses its pod, for robotics/pod/grasp: "
        "speech is over its fair share: gpu: allocated 8 > allocatable 6."
    )
    document = json.loads(
        run_cli("explain", "speech/dialects", "-f", GIVE_BACK, *NOW, "-o", "json").out
    )
    (evicted,) = document["decisions"]
    gains, loses = evicted["reason"]["sides"]
    held = {
        side["queue"]: [
            (each["allocatedBefore"], each["allocatedAfter"], each["saturationAfter"])
            for each in side["resources"]
            if each["resource"] == "gpu"
        ]
        for side in (gains, loses)
    }
    assert held == {"robotics": [("0", "2", 1.0)], "speech": [("8", "6", 1.0)]}


def test_a_job_that_takes_back_is_told_who_makes_room_for_it() -> None:
    document = json.loads(
        run_cli("explain", "robotics/grasp", "-f", GIVE_BACK, *NOW, "-o", "json").out
    )
    assert [(each["decision"], each["workload"]) for each in document["victims"]] == [
        ("evict", "speech/pod/dialects")
    ]
    assert (
        "Victims that make room for it"
        in run_cli("explain", "robotics/grasp", "-f", GIVE_BACK, *NOW).out
    )


def test_a_job_whose_claims_failed_is_told_what_stopped_each() -> None:
    ran = run_cli("explain", "audio/birds", "-f", FULLNESS, *NOW)
    assert "Why no victims make room for it" in ran.out
    assert "The two queues compared, by reclaim" in ran.out
    document = json.loads(run_cli("explain", "audio/birds", "-f", FULLNESS, *NOW, "-o", "json").out)
    (wait,) = document["decisions"]
    assert {each["action"]: each["reason"]["code"] for each in wait["claims"]} == {
        "consolidation": "TooFewFreeGpus",
        "reclaim": "WouldBeFuller",
        "preempt": "NobodyLessImportant",
    }
