"""What is not created yet comes after all that waits already."""

import pytest

from fairlead.manifest.load import load
from tests.manifest.test_load import KAI, KUEUE

CREATED = "creationTimestamp: 2026-01-01T00:00:00Z, "
KAI_POD = """
    ---
    apiVersion: v1
    kind: Pod
    metadata: {{{created}name: {name}, namespace: x, labels: {{kai.scheduler/queue: team-a}}}}
    spec: {{schedulerName: kai-scheduler, {node}containers: [{{name: c}}]}}
"""
KUEUE_WORKLOAD = """
    ---
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: Workload
    metadata: {{{created}name: {name}, namespace: x}}
    spec: {{queueName: q, podSets: [{{name: main, count: 1, template: {{spec: {{}}}}}}]}}
"""
NODE = """
    ---
    {apiVersion: v1, kind: Node, metadata: {name: node}, status: {allocatable: {pods: 9}}}
"""
JOB = """
    ---
    apiVersion: batch/v1
    kind: Job
    metadata:
      {{{created}name: {name}, namespace: x, labels: {{kueue.x-k8s.io/queue-name: q}}}}
    spec: {{template: {{spec: {{containers: [{{name: c}}]}}}}}}
"""


def ages(text: str) -> list[int]:
    """Return how old the workloads are, in the order of their names, from the youngest: ms."""
    assembled = load((), texts=[("input.yaml", _dedented(text))]).assembled
    assert assembled
    workloads = assembled.state.workloads.values()
    created = [each.created_ms for each in sorted(workloads, key=lambda each: each.name)]
    return [max(created) - each for each in created]


def _dedented(text: str) -> str:
    return "".join(line.removeprefix("    ") for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("queues", "kind"), [(KAI, KAI_POD), (KUEUE, KUEUE_WORKLOAD), (KUEUE, JOB)]
)
def test_what_is_not_created_yet_is_younger_than_what_waits(queues: str, kind: str) -> None:
    new = kind.format(created="", name="a-new", node="")
    old = kind.format(created=CREATED, name="b-old", node="")
    assert ages(queues + new + old) == [0, 1000]
    assert ages(queues + new) == [0]


def test_what_is_not_created_yet_is_younger_than_what_was_queued_again() -> None:
    """The old one was evicted in March, and has been queued again since."""
    new = KUEUE_WORKLOAD.format(created="", name="a-new")
    again = (
        KUEUE_WORKLOAD.format(created=CREATED, name="b-again")
        + """\
    status:
      conditions:
      - {type: Evicted, status: "True", reason: PodsReadyTimeout, message: "",
         lastTransitionTime: 2026-03-01T00:00:00Z}
"""
    )
    since_march_ms = 59 * 24 * 3600 * 1000 + 1000  # 31 + 28 days after the first of January
    assert ages(KUEUE + new + again) == [0, since_march_ms]


def test_what_is_not_created_yet_is_younger_than_what_runs() -> None:
    new = KAI_POD.format(created="", name="a-new", node="")
    runs = KAI_POD.format(created=CREATED, name="b-runs", node="nodeName: node, ")
    assert ages(KAI + NODE + new + runs) == [0, 1000]


def test_what_runs_without_a_time_stays_the_oldest() -> None:
    runs = KAI_POD.format(created="", name="a-runs", node="nodeName: node, ")
    old = KAI_POD.format(created=CREATED, name="b-old", node="")
    oldest, youngest = ages(KAI + NODE + runs + old)
    assert oldest > youngest == 0
