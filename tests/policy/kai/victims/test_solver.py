"""Small worlds in which a search must look again at what it has looked at before.

Queue *rich* is due nothing and holds all; *poor* is due all. Jobs of one pod are served in the
order of the table, so the last one is the first to give way.
"""

from collections.abc import Sequence
from decimal import Decimal

import pytest

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.node import Node
from fairlead.model.plan import Evict
from fairlead.model.queue import Queue
from fairlead.model.selector import LabelRequirement, LabelSelector, PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ANYWHERE,
    KaiJob,
    PodConstraints,
    PodSet,
    PodSets,
    Workload,
    numbered_pod,
)
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.policy.changes import changes_of
from tests.policy.kai.random_worlds import build
from tests.policy.kai.victims.test_solver_laws import from_scratch, remembering
from tests.text_table import rows

APP = LabelSelector(requirements=(LabelRequirement(key="app", operator="In", values=("x",)),))
TERMS = (PodTerm(topology_key="zone", selector=APP, namespaces=("",)),)
PLACES = {
    "-": ANYWHERE,
    "near": PodConstraints(pod_affinity=TERMS),
    "apart": PodConstraints(pod_anti_affinity=TERMS),
}

SCENARIOS = {
    # The first pod: d frees 2 of 3, which is too little; c and d free 6. It takes 3, and d has its
    # 2 back, so c is kept. The second: of the 4 of c there is 1 left, and the 2 of d make it 3.
    "too little room is enough beside those who are kept": (
        """
        job  gpus  node  app  where
        b    2     n0    -    -
        c    4     n0    -    -
        d    2     n0    -    -
        """,
        [("-", 3), ("-", 3)],
        {"c", "d"},
    ),
    # The first pod: e frees 1 of 2, b frees 4. The second would have room beside it, were it not
    # for e, in whose zone it must not be: no room is lacking now, and the place of e matters.
    "too little room is no reason once none is lacking": (
        """
        job  gpus  node  app  where
        b    4     n0    -    -
        e    1     n1    x    -
        """,
        [("-", 2), ("apart", 2)],
        {"b", "e"},
    ),
    # All must leave for the 4: 1 + 1 + 1 + 3. Of the 2 that remain c takes none, as x is not there
    # yet; then x and d take one each. That c found no place says nothing of d.
    "who must be near another may come after it": (
        """
        job  gpus  node  app  where
        b    3     n0    -    -
        c    1     n0    -    near
        x    1     n0    x    -
        d    1     n0    -    near
        """,
        [("-", 4)],
        {"b", "c"},
    ),
    # c frees its 2 of 3; b and c free 4, and c cannot have its place again, for want of 1.
    "who is asked on one node leaves others alone": (
        """
        job  gpus  node  app  where
        a    4     n1    -    -
        b    2     n0    -    -
        c    2     n0    -    -
        """,
        [("-", 3)],
        {"b", "c"},
    ),
}


@pytest.mark.parametrize(("table", "asked", "evicted"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_the_jobs_that_give_way(
    table: str, asked: list[tuple[str, int]], evicted: set[str]
) -> None:
    state = world(rows(table), asked)
    chosen = KaiSettings(actions=("reclaim",))
    decisions, heard = remembering(state, chosen)
    assert {each.workload for each in decisions if isinstance(each, Evict)} == evicted
    assert (decisions, heard) == from_scratch(state, chosen)


def test_a_job_that_fits_already_starts_in_a_reclaim_without_candidates() -> None:
    """Allocate looks at *big* alone, which wants 16 of 8 GPUs; *small* is due the one it wants."""
    node = Node(name="n1", allocatable=(0, 0, 8000))
    state = build([QueueChanged(queue("a", 8000)), NodeAdded(node)])
    for at, (name, gpus) in enumerate([("big", 16), ("small", 1)]):
        state.apply(WorkloadAdded(job(name, "a", at, [("-", gpus)])))
    chosen = KaiSettings(actions=("allocate", "reclaim"), queue_depth=(("allocate", 1),))
    assert [each.workload for each in changes_of(KaiPolicy(chosen), state, 0)] == ["small"]


def world(table: Sequence[dict[str, str]], asked: Sequence[tuple[str, int]]) -> ClusterState:
    """Nodes of one zone that the jobs of the table fill, and a gang of *asked* that waits."""
    sizes: dict[str, int] = {}
    for row in table:
        sizes[row["node"]] = sizes.get(row["node"], 0) + int(row["gpus"])
    state = build(
        NodeAdded(
            Node(
                name=name,
                allocatable=(0, 0, 1000 * gpus),
                labels={"zone": "z"},
            )
        )
        for name, gpus in sizes.items()
    )
    for name, due in (("rich", 0), ("poor", 1000 * sum(sizes.values()))):
        state.apply(QueueChanged(queue(name, due)))
    for at, row in enumerate(table):
        app = () if row["app"] == "-" else (("app", row["app"]),)
        asks = [(row["where"], int(row["gpus"]))]
        state.apply(WorkloadAdded(job(row["job"], "rich", at, asks, labels=app)))
        place = (Placement(numbered_pod(f"{row['job']}-0", 0), row["node"]),)
        state.apply(WorkloadStarted(workload=WorkloadName(row["job"]), placements=place, at_ms=0))
    state.apply(WorkloadAdded(job("claimant", "poor", len(table), asked)))
    return state


def queue(name: str, due: int) -> Queue:
    return Queue(
        name=QueueName(name),
        parent=None,
        created_ms=0,
        weights=(Decimal(1), Decimal(1), Decimal(0)),
        guaranteed=(None, None, due),
        ceiling=(None, None, None),
        borrow_limit=(None, None, None),
        lend_limit=(None, None, None),
    )


def job(
    name: str,
    queue: str,
    created_ms: int,
    asked: Sequence[tuple[str, int]],
    labels: tuple[tuple[str, str], ...] = (),
) -> Workload:
    """Return a gang of one pod for each of *asked*: where it may run, and how many GPUs."""
    sets = [
        PodSet(
            name=f"{name}-{at}",
            count=1,
            min_count=1,
            requests=(0, 0, 1000 * gpus),
            labels=labels,
            constraints=PLACES[where],
        )
        for at, (where, gpus) in enumerate(asked)
    ]
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue),
        pod_sets=PodSets(sets),
        min_count=len(sets),
        priority=50,
        created_ms=created_ms,
        extension=KaiJob(),
    )
