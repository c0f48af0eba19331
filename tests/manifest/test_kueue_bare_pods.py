"""A pod that names a queue by itself is not passed over in silence."""

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

WORLD = (flavor("f"), cluster_queue("a"), local_queue("jobs", "a"))
QUEUE = "kueue.x-k8s.io/queue-name: jobs"
WORKLOAD = workload("w1")


def pod(name: str, *, labels: str = QUEUE, metadata: str = "", status: str = "{}") -> str:
    return (
        "---\napiVersion: v1\nkind: Pod\n"
        f"metadata: {{name: {name}, namespace: team, labels: {{{labels}}}{metadata}}}\n"
        f"spec: {{containers: [{{name: main}}]}}\nstatus: {status}\n"
    )


def told(*texts: str) -> list[str]:
    findings = Findings()
    assemble(documents_of(*WORLD, *texts), findings)
    return [each.message for each in findings if each.code == "pods-missing"]


OWNER = ", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u}]"
JOB = """---
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: team, uid: u}
spec: {template: {spec: {containers: [{name: main}]}}}
"""
GROUP = "kueue.x-k8s.io/pod-group-name"
NOTED = ", annotations: {kueue.x-k8s.io/workload: w1}"
OWN = ", ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]"
CASES: dict[str, tuple[int, tuple[str, ...]]] = {
    "waits": (1, (pod("p"),)),
    "names no queue": (0, (pod("p", labels=""),)),
    "is part of an owner that is not there": (1, (pod("p", metadata=OWNER),)),
    "is part of an owner that is there": (0, (pod("p", metadata=OWNER), JOB)),
    "is part of an owner with a Workload": (
        0,
        (pod("p", metadata=OWNER), WORKLOAD.replace("name: w1", f"name: w1{OWNER}")),
    ),
    "has finished": (0, (pod("p", status="{phase: Succeeded}"),)),
    "is charged to a Workload": (0, (pod("p", metadata=NOTED), WORKLOAD)),
    "is in a group that is there": (0, (pod("p", labels=f"{QUEUE}, {GROUP}: w1"), WORKLOAD)),
    "is in a group that is not there": (1, (pod("p", labels=f"{QUEUE}, {GROUP}: w2"), WORKLOAD)),
    "has its own Workload": (0, (pod("p"), WORKLOAD.replace("name: w1", f"name: w1{OWN}"))),
}


@pytest.mark.parametrize(("expected", "texts"), CASES.values(), ids=CASES)
def test_one_pod(expected: int, texts: tuple[str, ...]) -> None:
    assert len(told(*texts)) == expected


def test_many_pods_are_one_remark() -> None:
    (message,) = told(*(pod(name) for name in "lkjihgfedcba"))
    assert message.startswith("12 Pod (team/a, team/b, ")
    assert "team/j, 2 more): found a queue" in message
