"""What the status of a ClusterQueue says is reserved is compared with what its Workloads hold."""

import pytest

from fairlead.manifest.finding import Findings
from tests.manifest.test_assemble_kueue import (
    assemble,
    cluster_queue,
    documents_of,
    flavor,
    local_queue,
    workload,
)

WORLD = (flavor("f"), local_queue("jobs", "a"))
TWO = (workload("w1", admitted="a f"), workload("w2", admitted="a f"))  # 1 core each
OFF = workload("w2", more="active: false", admitted="a f")


def queue(name: str, reserved: str) -> str:
    resources = f"[{{name: cpu, total: {reserved}, borrowed: 0}}]"
    status = f"status: {{flavorsReservation: [{{name: f, resources: {resources}}}]}}\n"
    return cluster_queue(name) + status


def told(*texts: str) -> list[str]:
    findings = Findings()
    assemble(documents_of(*texts), findings)
    return [each.message for each in findings if each.code == "contradiction"]


def different(text: str) -> list[str]:
    return [f"found reservations other than what Workloads of the input hold, which counts: {text}"]


CASES = {
    "as much": ("2", TWO, []),
    "written otherwise": ("2000m", TWO, []),
    "a Workload was left out": ("3", TWO, different("a: f/cpu reserved 3, held 2")),
    "one has come since": ("1500m", TWO, different("a: f/cpu reserved 1.5, held 2")),
    "nothing holds anything": ("1", (), different("a: f/cpu reserved 1, held 0")),
    "a deactivated one holds nothing in Kueue": ("1", (TWO[0], OFF), []),
}


@pytest.mark.parametrize(("reserved", "workloads", "expected"), CASES.values(), ids=CASES)
def test_one_queue(reserved: str, workloads: tuple[str, ...], expected: list[str]) -> None:
    assert told(*WORLD, queue("a", reserved), *workloads) == expected


def test_many_queues_are_one_remark() -> None:
    queues = [queue(name, "1") for name in "edcba"]
    (message,) = told(*WORLD, *queues, workload("w", admitted="b f"))
    shown = "; ".join(f"{name}: f/cpu reserved 1, held 0" for name in "acd")
    assert message.endswith(f"which counts: {shown}; and 1 more")


def test_without_a_status_nothing_is_compared() -> None:
    assert told(*WORLD, cluster_queue("a"), *TWO) == []
