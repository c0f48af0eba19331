"""Plan after plan: what has left makes room, and who was deleted does not come back."""

import io

import pytest

from fairlead.explain.plan.cycles import plan_cycles
from fairlead.explain.plan.report import plan_rows
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy, make_policy
from tests.manifest.reading import load_or_raise
from tests.model.invariants import check_invariants

HEAD = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: 8, memory: 8Gi, nvidia.com/gpu: 4, pods: 10}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: a}
spec:
  resources:
    gpu: {quota: 4, limit: -1}
    cpu: {quota: -1, limit: -1}
    memory: {quota: -1, limit: -1}
"""
GROUP = """
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: old, namespace: x, creationTimestamp: "2026-11-16T06:00:00Z"}
spec: {queue: a, minMember: 1}
"""
DELETED = 'deletionTimestamp: "2026-11-16T07:59:00Z"'
MEMBER = "annotations: {pod-group-name: old}"


def pod(name: str, gpus: int, metadata: str, node: str = "") -> str:
    place = f"nodeName: {node}, " if node else ""
    return f"""
---
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: x
  creationTimestamp: "2026-11-16T07:00:00Z"
  labels: {{kai.scheduler/queue: a}}
  {metadata}
spec:
  {{schedulerName: kai-scheduler, {place}containers: [
    {{name: main, resources: {{requests: {{nvidia.com/gpu: {gpus}}}}}}}]}}
status: {{phase: {"Running" if node else "Pending"}}}
"""


def world(*pods: str) -> tuple[Policy, ClusterState]:
    assembled = load_or_raise(["-"], stdin=io.BytesIO((HEAD + "".join(pods)).encode()))
    return make_policy(assembled.settings), assembled.state


def told(policy: Policy, state: ClusterState, most: int = 9) -> list[list[str]]:
    """Return, cycle by cycle, what is decided about whom."""
    cycles = []
    for plan in plan_cycles(policy, state, 0, most):
        cycles.append(
            [f"{row.decision} {row.workload}" for row in plan_rows(state, plan.decisions)]
        )
        check_invariants(state)
    return cycles


def test_a_deleted_job_leaves_its_room_to_who_has_it_reserved() -> None:
    """4 - 4 = 0 GPUs are idle, 4 once the deleted pod has left; it would be first by name."""
    policy, state = world(pod("a-gone", 4, DELETED, "n1"), pod("b-next", 3, ""))
    assert told(policy, state) == [["reserve x/pod/b-next"], ["start x/pod/b-next"], []]
    assert "x/pod/a-gone" not in state.workloads


def test_a_pod_that_was_deleted_from_a_job_that_goes_on_is_made_anew() -> None:
    """The job runs on 2 + 2 GPUs and one pod leaves: it waits again, behind nobody."""
    stays, leaves = pod("old-0", 2, MEMBER, "n1"), pod("old-1", 2, f"{MEMBER}\n  {DELETED}", "n1")
    policy, state = world(GROUP, stays, leaves)
    assert told(policy, state) == [[], ["start x/old"], []]


def test_a_row_of_a_reservation_says_who_has_to_leave() -> None:
    policy, state = world(pod("a-gone", 4, DELETED, "n1"), pod("b-next", 3, ""))
    (row,) = plan_rows(state, policy.plan(state, 0).decisions)
    assert row.why.endswith("allocated 0 + request 3 <= quota 4; when x/pod/a-gone has left")


@pytest.mark.parametrize(
    ("leaving", "text"),
    [
        (2, "when x/pod/gone-0, x/pod/gone-1 have left"),
        (4, "x/pod/gone-0, x/pod/gone-1, x/pod/gone-2, and 1 more have"),
    ],
)
def test_a_row_names_three_who_leave_and_counts_the_rest(leaving: int, text: str) -> None:
    gone = [pod(f"gone-{at}", 4 // leaving, DELETED, "n1") for at in range(leaving)]
    policy, state = world(*gone, pod("next", 4, ""))
    (row,) = plan_rows(state, policy.plan(state, 0).decisions)
    assert text in row.why


def test_it_ends_after_the_number_of_cycles_that_is_asked_for() -> None:
    policy, state = world(pod("one", 1, ""), pod("large", 9, ""))
    assert told(policy, state, 1) == [["wait x/pod/large", "start x/pod/one"]]


def test_one_node_is_spoken_of_as_one() -> None:
    policy, state = world(pod("large", 9, ""))
    (row,) = plan_rows(state, policy.plan(state, 0).decisions)
    assert row.why.startswith("fits no node: 1 of 1 node has too little free nvidia.com/gpu; ")


def test_a_job_that_asks_for_nothing_has_no_numbers_in_its_reason() -> None:
    policy, state = world(pod("idle", 0, ""))
    (row,) = plan_rows(state, policy.plan(state, 0).decisions)
    assert row.why == "within the quota of a"
