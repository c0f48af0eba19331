"""A row says what a reservation rests on."""

import pytest

from fairlead.explain.plan_report import plan_rows
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement
from fairlead.model.plan import Plan, Reason, Reserve
from fairlead.model.selector import PodTerm
from fairlead.model.workload import PodConstraints, PodId, PodSet, Workload
from tests.cli.manifests import NODE, kai_queue
from tests.cli.run_cli import run_cli
from tests.model.worlds import node, queue, state_with

JOB, TEAM = WorkloadName("job"), QueueName("team")
ANYWHERE = PodConstraints()
PORT = PodConstraints(host_ports=(("TCP", 80),))
ALONE = PodConstraints(pod_anti_affinity=(PodTerm(topology_key="zone", selector=None),))


@pytest.mark.parametrize(
    ("pods", "where", "leaving", "why"),
    [
        (1, ANYWHERE, ["x/old"], "when x/old has left"),
        (1, ANYWHERE, ["x/a", "x/b"], "when x/a, x/b have left"),
        (2, PORT, ["x/old"], "when x/old has left"),
        (1, PORT, [], "when pods that keep it away have left"),
        (2, ANYWHERE, [], "when its other pods can start"),
        (2, PORT, [], "when its other pods can start, or pods that keep it away have left"),
        (2, ALONE, [], "when its other pods can start, or pods that keep it away have left"),
    ],
)
def test_a_reservation_says_what_it_waits_for(
    pods: int, where: PodConstraints, leaving: list[str], why: str
) -> None:
    wanted = PodSet(name="main", count=pods, min_count=1, requests=(1000, 1000), constraints=where)
    job = Workload(name=JOB, queue=TEAM, pod_sets=(wanted,), min_count=1)
    decision = Reserve(
        workload=JOB,
        placements=(Placement(PodId(0, 0), "n1"),),
        charged=(TEAM,),
        waits_for=tuple(map(WorkloadName, leaving)),
        reason=Reason(code="WithinQuota", queue=TEAM),
    )
    state = state_with(queue("team"), node("n1"), job)
    (row,) = plan_rows(state, Plan(taken_ms=0, decisions=(decision,)))
    assert row.why == f"within the quota of team; {why}"


def test_a_host_port_of_another_scheduler_is_waited_for() -> None:
    web = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: x
  labels: {{kai.scheduler/queue: a}}
  {metadata}
spec:
  schedulerName: {scheduler}-scheduler
  containers: [{{name: main, ports: [{{containerPort: 80, hostPort: 80}}]}}]
  {place}
"""
    old = web.format(
        name="old",
        scheduler="default",
        place="nodeName: n1",
        metadata='deletionTimestamp: "2026-11-16T07:59:00Z"',
    )
    new = web.format(name="new", scheduler="kai", place="", metadata="")
    world = "---".join((NODE, kai_queue("a"), old, new)).encode()
    ran = run_cli("plan", "-f", "-", stdin=world)
    row = ran.out.splitlines()[1]
    assert row.startswith("reserve")
    assert row.endswith("; when pods that keep it away have left")
