"""What becomes of a workload besides waiting and running: it awaits checks, or was deactivated."""

import json
from pathlib import Path

import pytest

from tests.cli.kueue_manifests import flavor, queue, workload
from tests.cli.manifests import write
from tests.cli.run_cli import Ran, of_shard, run_cli

CHECKS = """
  admissionChecks:
    - {name: budget, state: Ready, message: paid}
    - {name: nodes, state: Pending, message: 2 of 3 nodes are up}
"""
NOT_ADMITTED = '    - {type: Admitted, status: "False", reason: UnsatisfiedAdmissionChecks}\n'
# 6 cores: runs has 2, held has 3 reserved, waits asks for 2 > 1.
WORLD = (
    flavor("cold"),
    queue("a", cold=6),
    workload("runs", "a", 2, has="cold"),
    workload("held", "a", 3, has="cold").replace(
        "  conditions:\n", f"  conditions:\n{NOT_ADMITTED}"
    )
    + CHECKS,
    workload("waits", "a", 2),
)
TOLD = "nodes is Pending: 2 of 3 nodes are up"


def ran(folder: Path, *arguments: str, world: tuple[str, ...] = WORLD) -> Ran:
    found = run_cli(*arguments, "-f", write(folder, "c.yaml", *world))
    assert found.exit_code == 0, found.err
    return found


def test_reserved_quota_is_used_and_not_admitted(tmp_path: Path) -> None:
    (entry,) = of_shard(ran(tmp_path, "queues", "-o", "json").out)["queues"]
    counts = [entry[f"{each}Workloads"] for each in ("reserving", "admitted", "pending")]
    assert counts == [2, 1, 1]
    assert entry["resources"]["cold/cpu"]["allocated"] == "5"  # 2 + 3
    assert "request 2 > available 1" in ran(tmp_path, "plan").out  # 6 - 5


def test_explain_says_which_check_is_open(tmp_path: Path) -> None:
    told = ran(tmp_path, "explain", "team/held").out
    answer = f"has its quota reserved, and is not admitted before its checks are ready: {TOLD}."
    assert answer in " ".join(told.split())
    document = json.loads(ran(tmp_path, "explain", "team/held", "-o", "json").out)
    assert document["awaitsAdmissionChecks"] is True
    assert [each["state"] for each in document["admissionChecks"]] == ["Ready", "Pending"]
    assert "keeps it" in ran(tmp_path, "explain", "team/runs").out


def test_pending_names_it_beside_what_waits(tmp_path: Path) -> None:
    found = ran(tmp_path, "pending", "a", "-o", "json")
    assert TOLD in found.err
    document = json.loads(found.out)
    assert [each["metadata"]["name"] for each in document["items"]] == ["waits"]
    assert [each["metadata"]["name"] for each in document["reserved"]] == ["held"]
    assert "reserved" not in json.loads(
        ran(tmp_path, "pending", "a", "-o", "json", world=WORLD[:3]).out
    )


@pytest.mark.parametrize(
    ("status", "is_awaiting"),
    [
        ("", False),  # written by hand: Kueue admits in the same write where there are no checks
        ("  admissionChecks: [{name: x, state: Ready}]", False),
        ("  admissionChecks: [{name: x, state: Retry}]", True),
    ],
)
def test_without_a_word_about_admission_the_checks_decide(
    tmp_path: Path, status: str, is_awaiting: bool
) -> None:
    world = (*WORLD[:2], workload("one", "a", 1, has="cold") + status)
    (entry,) = of_shard(ran(tmp_path, "queues", "-o", "json", world=world).out)["queues"]
    assert entry["admittedWorkloads"] == 1 - is_awaiting


REQUEUED_TOO_OFTEN = "The workload is deactivated due to exceeding the maximum number of retries"
EVICTED = '{{type: Evicted, status: "True", reason: {reason}, message: {message}}}'
DEACTIVATED = {
    "by its owner": (
        "active: false",
        EVICTED.format(reason="Deactivated", message="The workload is deactivated"),
        "deactivated by its owner",
    ),
    "after too many retries": (
        "active: false",
        EVICTED.format(reason="DeactivatedDueToRequeuingLimitExceeded", message=REQUEUED_TOO_OFTEN),
        f"deactivated by Kueue: RequeuingLimitExceeded: {REQUEUED_TOO_OFTEN}",
    ),
    "by a check that was rejected, not yet written": (
        "",
        '{type: DeactivationTarget, status: "True", reason: AdmissionCheck, message: too dear}',
        "deactivated by Kueue: AdmissionCheck: too dear",
    ),
    "after its time, without a message": (
        "active: false",
        '{type: Requeued, status: "False", reason: DeactivatedDueToMaximumExecutionTimeExceeded}',
        "deactivated by Kueue: MaximumExecutionTimeExceeded",
    ),
}


@pytest.mark.parametrize(("spec", "condition", "told"), DEACTIVATED.values(), ids=DEACTIVATED)
def test_a_deactivated_workload_says_why(
    tmp_path: Path, spec: str, condition: str, told: str
) -> None:
    world = (
        *WORLD[:2],
        workload("w", "a", 1, more=spec) + f"status: {{conditions: [{condition}]}}",
    )
    assert told in ran(tmp_path, "plan", "-o", "wide", world=world).out
    assert told in " ".join(ran(tmp_path, "explain", "team/w", world=world).out.split())


def test_an_active_workload_was_reactivated(tmp_path: Path) -> None:
    condition = EVICTED.format(reason="DeactivatedDueToRequeuingLimitExceeded", message="x")
    world = (*WORLD[:2], workload("w", "a", 1) + f"status: {{conditions: [{condition}]}}")
    assert "start: 1" in ran(tmp_path, "plan", world=world).out
