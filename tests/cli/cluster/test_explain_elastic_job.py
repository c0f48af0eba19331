"""``fairlead explain JOB`` on ElasticQuotas: text for people, a document for programs."""

import json
from typing import Any

import pytest

from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

EXAMPLE = str(ROOT / "examples" / "elastic-quota")


def document(job: str, *options: str) -> dict[str, Any]:
    ran = run_cli("explain", job, "-f", EXAMPLE, "-o", "json", *options)
    assert ran.exit_code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_the_turn_of_a_gang_is_a_document() -> None:
    """Of 10 GPUs 9 are in use, and decode asks for 3; speech has 1 of its min of 4."""
    found = document("speech/decode")
    assert (found["kind"], found["queue"]) == ("JobExplanation", "speech")
    turn = found["turn"]
    assert (turn["turn"], turn["turns"], turn["asked"]) == (3, 3, "borrowers")
    assert turn["pods"] == ["decode-0", "decode-1", "decode-2"]
    gpus = {line["rule"]: line for line in turn["rules"] if line["resource"] == "nvidia.com/gpu"}
    numbers = ("used", "nominated", "request", "bound", "holds")
    assert {rule: [line[name] for name in numbers] for rule, line in gpus.items()} == {
        "max": ["1", "0", "3", "6", True],
        "pool": ["9", "0", "3", "10", False],
        "min": ["1", "0", "3", "4", True],
    }
    assert [each["node"] for each in turn["rooms"]] == ["gpu-1", "gpu-2", "gpu-3"]
    assert [each["outcome"] for each in turn["tries"]] == [
        *("victims", "no-victim-needed", "no-victims")
    ]
    assert [each["workload"] for each in found["before"]] == ["vision/train-d", "notebooks/carol"]
    assert [each["workload"] for each in found["victims"]] == ["vision/train-c"]
    assert found["holding"] is None


def test_what_a_running_pod_holds_is_a_document() -> None:
    found = document("vision/train-a")
    assert (found["decisions"], found["turn"], found["before"]) == ([], None, [])
    holding = found["holding"]
    assert (holding["quota"], holding["overMin"], holding["keepsMin"]) == ("vision", True, True)
    assert holding["resources"][0] == {
        "resource": "nvidia.com/gpu",
        "held": "2",
        "used": "6",
        "min": "4",
    }
    below = {"nvidia.com/gpu": "3", "cpu": "24", "memory": "96Gi"}
    assert holding["claimants"] == [{"queue": "speech", "below": below}]


@pytest.mark.parametrize(
    ("options", "protection"), [((), "others first"), (("--faithful",), "none")]
)
def test_faithfully_no_min_is_spared(options: tuple[str, ...], protection: str) -> None:
    assert document("vision/train-a", *options)["holding"]["protection"] == protection


def test_a_job_is_found_by_its_short_name_too() -> None:
    ran = run_cli("explain", "carol", "-f", EXAMPLE)
    assert ran.answer.startswith("notebooks/carol waits: over the max of notebooks: ")
    assert "\nIts turn was number 2 of 3\n" in ran.out
