"""``fairlead plan`` where jobs claim places: nobody leaves for one that cannot come."""

from pathlib import Path

import pytest

from tests.cli.manifests import kai_queue, write
from tests.cli.run_cli import run_cli

NODE = """
apiVersion: v1
kind: Node
metadata: {{name: {name}}}
status:
  allocatable: {{cpu: 8, memory: 8Gi, nvidia.com/gpu: {gpus}, pods: 110}}
  conditions: [{{type: Ready, status: "True"}}]
"""
CLAIM = "resourceClaims: [{name: gpu, resourceClaimName: shared}]"


def node(name: str, gpus: int) -> str:
    return NODE.format(name=name, gpus=gpus)


def pod(name: str, queue: str, gpus: int, on: str = "", more: str = "") -> str:
    where = f"nodeName: {on}, " if on else ""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: x, labels: {{kai.scheduler/queue: {queue}}}}}
spec: {{schedulerName: kai-scheduler, {where}{more}{", " if more else ""}containers: [
  {{name: main, resources: {{requests: {{nvidia.com/gpu: {gpus}}}}}}}]}}
"""


def decisions(folder: Path, *objects: str) -> list[tuple[str, str]]:
    """Return decision and job of every row."""
    ran = run_cli("plan", "-f", write(folder, "world.yaml", *objects))
    assert ran.exit_code == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines()[1:]]
    return [(row[0], row[1]) for row in rows if row and row[1].startswith("x/")]


QUEUES = kai_queue("owner", quota=2), kai_queue("guest", quota=0)


@pytest.mark.parametrize(
    ("more", "plan"),
    [
        ("", [("evict", "x/pod/held"), ("reserve", "x/pod/next")]),
        (CLAIM, [("unknown", "x/pod/next")]),
    ],
    ids=["can be placed", "has a constraint that no filter knows"],
)
def test_nobody_leaves_for_a_job_that_could_not_be_placed(
    tmp_path: Path, more: str, plan: list[tuple[str, str]]
) -> None:
    """The guest holds 2 of 2 and is due nothing; the owner is due 2 and asks for 1."""
    held, waits = pod("held", "guest", 2, on="n1"), pod("next", "owner", 1, more=more)
    assert decisions(tmp_path, node("n1", 2), *QUEUES, held, waits) == plan


@pytest.mark.parametrize(
    ("more", "plan"),
    [
        ("", [("move", "x/pod/small"), ("reserve", "x/pod/large")]),
        (CLAIM, [("wait", "x/pod/large")]),
    ],
    ids=["can move", "has a constraint that no filter knows"],
)
def test_who_may_run_where_we_cannot_tell_does_not_move(
    tmp_path: Path, more: str, plan: list[tuple[str, str]]
) -> None:
    """1 + 1 of 2 + 2 are held: 2 are free, but on no node, unless one of the two moves.

    The other cannot be preempted, so it stays.
    """
    small = pod("small", "owner", 1, on="n1", more=more)
    fixed = pod("fixed", "owner", 1, on="n2").replace(
        "labels: {", "labels: {kai.scheduler/preemptibility: non-preemptible, "
    )
    large = pod("large", "guest", 2)
    world = (node("n1", 2), node("n2", 2), *QUEUES, small, fixed, large)
    assert decisions(tmp_path, *world) == plan


GANG = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: {name}, namespace: x}}
spec: {{queue: {queue}, minMember: {minimum}}}
"""


def gang(name: str, queue: str, minimum: int, places: list[str]) -> list[str]:
    """Return a group and its pods of one GPU each; "": it waits."""
    made = [GANG.format(name=name, queue=queue, minimum=minimum)]
    for at, where in enumerate(places):
        member = pod(f"{name}-{at}", queue, 1, on=where)
        made.append(member.replace("labels:", f"annotations: {{pod-group-name: {name}}}, labels:"))
    return made


def test_a_gang_of_which_a_pod_has_just_started_is_not_torn_apart(tmp_path: Path) -> None:
    """Two of three run, and two are needed. The third would fit n1, but c is due both of n0.

    To start the third and evict the others would leave a part that is of no use.
    """
    group = gang("g", "guest", 2, ["n0", "n0", ""])
    world = (node("n0", 2), node("n1", 1), *QUEUES, *group, pod("c", "owner", 2))
    plan = decisions(tmp_path, *world)
    assert ("evict", "x/g") in plan
    assert ("start", "x/g") not in plan


def test_allocate_may_come_after_the_actions_that_claim(tmp_path: Path) -> None:
    """What they started does not start again."""
    shard = """
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec: {actions: {allocate: {priority: 10}}}
"""
    group = gang("c", "owner", 1, ["", ""])
    held = pod("held", "guest", 1, on="n0")
    plan = decisions(tmp_path, shard, node("n0", 3), *QUEUES, held, *group)
    assert set(plan) == {("start", "x/c")}
