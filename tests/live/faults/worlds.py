"""Small clusters with ElasticQuotas in which each rule decides something, step by step.

All amounts are units of 1 CPU and 1 Gi. A step creates objects, and says how many pods of which
namespace and group run or wait after it; a pod that was evicted is gone, since nothing here creates
it again. What a step expects does not depend on the order of writes, nor on what fails meanwhile.
"""

from collections import Counter
from typing import Final

import msgspec

from tests.live.api import Object
from tests.live.faults.judge import GANG, GROUP, SCHEDULER, Outcome
from tests.live.faults.writes import named_for_run
from tests.live.pods import pod_spec

OTHER_SCHEDULER: Final = "another-scheduler"
OTHERS: Final = "others"  # the namespace of what must not be touched


class Pods(msgspec.Struct, frozen=True):
    """Pods that are alike."""

    namespace: str
    group: str
    count: int
    units: int = 1
    priority: int = 0
    gang: int = 0  # the least number of them that start together; 0: each by itself


class Step(msgspec.Struct, frozen=True):
    """What comes next, and what is to come of it."""

    name: str
    pods: tuple[Pods, ...]
    expected: str  # a table: namespace, group, running, waiting
    guarded: tuple[str, str] | None = None  # namespace and group of which no pod may be evicted

    @property
    def outcome(self) -> Outcome:
        """Return *expected* as a count."""
        found: Outcome = Counter()
        for line in self.expected.strip().splitlines()[1:]:
            namespace, group, running, waiting = line.split()
            found[namespace, group, "running"] = int(running)
            found[namespace, group, "waiting"] = int(waiting)
        return +found


class World(msgspec.Struct, frozen=True):
    """One cluster and its story."""

    name: str
    nodes: int
    node_units: int
    quotas: dict[str, tuple[int, int]]  # of each namespace: min and max
    steps: tuple[Step, ...]
    is_elected: bool = False  # the scheduler acts while it holds a Lease


TAKING_BACK: Final = World(
    name="taking back",
    nodes=3,
    node_units=8,
    quotas={"a": (4, 8), "b": (4, 6), "c": (4, 6)},  # 12 are guaranteed
    steps=(
        Step(
            "a borrows",  # 6 + 3 = 9 <= 12
            (
                Pods("a", "base", 4, priority=10),
                Pods("a", "guarded", 1),
                Pods("a", "extra", 1),
                Pods("b", "low", 3),
            ),
            """
            namespace  group    running  waiting
            a          base     4        0
            a          guarded  1        0
            a          extra    1        0
            b          low      3        0
            """,
            guarded=("a", "guarded"),
        ),
        Step(
            "a gang of c starts, then c takes back",  # 9 + 3 + 1 = 13 > 12, c: 4 <= 4, a: 6 > 4
            (Pods("c", "gang", 3, priority=5, gang=3), Pods("c", "more", 1)),
            """
            namespace  group    running  waiting
            a          base     4        0
            a          guarded  1        0
            b          low      3        0
            c          gang     3        0
            c          more     1        0
            """,
        ),
        Step(
            "in b the important goes first, and the rest of it waits",
            # 12 + 2 > 12, b: 5 > 4, so b gives 2 of its own: 5 + 3 + 4 = 12.
            # a: 5 + 1, the 13th, over min and nothing less important; c: 4 + 3 = 7 > 6.
            (
                Pods("b", "high", 1, units=2, priority=100),
                Pods("a", "late", 1),
                Pods("c", "refused", 3, gang=3),
            ),
            """
            namespace  group    running  waiting
            a          base     4        0
            a          guarded  1        0
            a          late     0        1
            b          low      1        0
            b          high     1        0
            c          gang     3        0
            c          more     1        0
            c          refused  0        3
            """,
        ),
    ),
)

FULL_NODES: Final = World(
    name="full nodes",
    nodes=4,
    node_units=3,  # 12, of which others take 1: after the first step nothing is spare
    quotas={"a": (3, 11), "b": (8, 11)},
    steps=(
        Step(
            "a fills every node",
            (Pods("a", "wide", 11),),
            """
            namespace  group  running  waiting
            a          wide   11       0
            """,
        ),
        Step(
            "a gang of b takes back on several nodes",  # 11 + 4 > 11, b: 4 <= 8, a: 11 > 3
            (Pods("b", "gang", 4, gang=4),),
            """
            namespace  group  running  waiting
            a          wide   7        0
            b          gang   4        0
            """,
        ),
        Step(
            "b takes back the rest of its guarantee",  # 11 + 4 > 11, b: 4 + 4 <= 8, a: 7 > 3
            (Pods("b", "rest", 4),),
            """
            namespace  group  running  waiting
            a          wide   3        0
            b          gang   4        0
            b          rest   4        0
            """,
        ),
        Step(
            "b gets no more",  # 11 + 1 > 11, b: 8 + 1 > 8, and nothing in b is less important
            (Pods("b", "late", 1),),
            """
            namespace  group  running  waiting
            a          wide   3        0
            b          gang   4        0
            b          rest   4        0
            b          late   0        1
            """,
        ),
    ),
)

UNDER_A_LEASE: Final = World(
    name="under a lease",
    nodes=2,
    node_units=4,
    quotas={"a": (1, 4), "b": (3, 4)},
    steps=(
        Step(
            "a borrows",  # 3 <= 4
            (Pods("a", "base", 1, priority=10), Pods("a", "extra", 2)),
            """
            namespace  group  running  waiting
            a          base   1        0
            a          extra  2        0
            """,
        ),
        Step(
            "b takes back",  # 3 + 2 > 4, b: 2 <= 3, a: 3 > 1
            (Pods("b", "own", 2),),
            """
            namespace  group  running  waiting
            a          base   1        0
            a          extra  1        0
            b          own    2        0
            """,
        ),
    ),
    is_elected=True,
)

WORLDS: Final = {world.name: world for world in (TAKING_BACK, FULL_NODES, UNDER_A_LEASE)}


def nodes(world: World, run: int) -> list[Object]:
    """Return the nodes of a world."""
    room = {
        "cpu": str(world.node_units),
        "memory": f"{world.node_units}Gi",
        "pods": "20",
    }
    ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "a fake node"}
    return [
        {
            "metadata": {"name": named_for_run(f"n{number}", run)},
            "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
        }
        for number in range(1, world.nodes + 1)
    ]


def quotas(world: World, run: int) -> list[Object]:
    """Return the quotas of a world."""
    return [
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {"name": "quota", "namespace": named_for_run(namespace, run)},
            "spec": {"min": _amounts(least), "max": _amounts(most)},
        }
        for namespace, (least, most) in world.quotas.items()
    ]


def gangs(step: Step, run: int) -> list[Object]:
    """Return the groups of the gangs that come with a step."""
    return [
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": each.group, "namespace": named_for_run(each.namespace, run)},
            "spec": {"minMember": each.gang},
        }
        for each in step.pods
        if each.gang
    ]


def budgets(step: Step, run: int) -> list[Object]:
    """Return the disruption budgets that come with a step."""
    if step.guarded is None:
        return []
    namespace, group = step.guarded
    count = sum(each.count for each in step.pods if (each.namespace, each.group) == step.guarded)
    return [
        {
            "metadata": {"name": group, "namespace": named_for_run(namespace, run)},
            "spec": {"minAvailable": count, "selector": {"matchLabels": {GROUP: group}}},
        }
    ]


def pods(step: Step, run: int) -> list[Object]:
    """Return the pods that come with a step."""
    return [_pod(each, number, run) for each in step.pods for number in range(1, each.count + 1)]


def foreign_pods(run: int) -> list[Object]:
    """Return pods of another scheduler: one has a node, one waits, and neither is touched."""
    found = []
    for name, node in (("runs", named_for_run("n1", run)), ("waits", "")):
        spec = pod_spec(cpu="1", memory="1Gi", scheduler=OTHER_SCHEDULER)
        if node:
            spec["nodeName"] = node
        namespace = named_for_run(OTHERS, run)
        found.append({"metadata": {"name": name, "namespace": namespace}, "spec": spec})
    return found


def priority_class(priority: int) -> Object:
    """Return the class of a priority."""
    return {"metadata": {"name": _class_name(priority)}, "value": priority}


def priorities(world: World) -> set[int]:
    """Return the priorities of a world."""
    return {each.priority for step in world.steps for each in step.pods if each.priority}


def _pod(pods: Pods, number: int, run: int) -> Object:
    labels = {GROUP: pods.group}
    if pods.gang:
        labels[GANG] = pods.group
    amounts = _amounts(pods.units)
    # A grace period, so that a victim is seen leaving.
    spec = pod_spec(cpu=amounts["cpu"], memory=amounts["memory"], scheduler=SCHEDULER, grace_s=1)
    if pods.priority:
        spec["priorityClassName"] = _class_name(pods.priority)
    metadata = {
        "name": f"{pods.group}-{number}",
        "namespace": named_for_run(pods.namespace, run),
        "labels": labels,
    }
    return {"metadata": metadata, "spec": spec}


def _class_name(priority: int) -> str:
    return f"fault-tests-{priority}"


def _amounts(units: int) -> dict[str, str]:
    return {"cpu": str(units), "memory": f"{units}Gi"}
