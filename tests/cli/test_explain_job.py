"""``fairlead explain JOB``: amounts are written as in every other document."""

import json

import pytest

from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

LIMIT = str(ROOT / "examples" / "kai" / "limit")

SHARD = """
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec: {queueDepthPerAction: {allocate: 3}}
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
    assert [each["workload"] for each in document["before"]] == ["audio/chorus", "audio/hum"]


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
