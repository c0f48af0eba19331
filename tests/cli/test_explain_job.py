"""``fairlead explain JOB``: amounts are written as in every other document."""

import json

from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

LIMIT = str(ROOT / "examples" / "kai" / "limit")


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


def test_a_capacity_without_nodes_is_refused_for_a_job() -> None:
    ran = run_cli("explain", "audio/chorus", "-f", LIMIT, "--capacity", "gpu=3")
    assert ran.exit_code == 2
    assert "a job is placed on nodes" in ran.err
