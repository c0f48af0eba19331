"""Small random clusters for laws of the policy: a tree of queues, nodes, and jobs of many kinds."""

from collections.abc import Iterable
from decimal import Decimal

from hypothesis import strategies as st

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    Event,
    ForeignPodChanged,
    NodeAdded,
    QueueChanged,
    WorkloadAdded,
)
from fairlead.model.node import ForeignPod, Node
from fairlead.model.queue import Queue
from fairlead.model.selector import LabelRequirement, LabelSelector, PodSpread
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    GpuShare,
    KaiJob,
    PodConstraints,
    PodSet,
    PodSets,
    Preferences,
    SubGroup,
    Workload,
)
from tests.model.foreign import foreign_pod

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
AXES = QuotaAxes([Axis("cpu"), Axis("memory"), Axis("gpu")], counted_as={"nvidia.com/gpu": "gpu"})
GPU = 1000
WEB = LabelSelector(requirements=(LabelRequirement(key="app", operator="In", values=("web",)),))
OVER_ZONES = PodSpread(topology_key="zone", max_skew=1, selector=WEB)
SPREAD = PodConstraints(spread=(OVER_ZONES,))
PREFERS_SPREAD = PodConstraints(preferences=Preferences(spread=(OVER_ZONES,)))


def build(events: Iterable[Event]) -> ClusterState:
    """Return the state after *events*."""
    state = ClusterState(RESOURCES, AXES)
    for event in events:
        state.apply(event)
    return state


def gpus(most: int) -> st.SearchStrategy[int]:
    """Whole devices, in thousandths."""
    return st.integers(0, most).map(GPU.__mul__)


def limits(most: int) -> st.SearchStrategy[int | None]:
    return st.none() | gpus(most)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    size = (draw(st.sampled_from([2000, 4000, 64000])), 10**9, draw(gpus(4)))
    return Node(
        name=name,
        allocatable=size,
        labels=draw(st.sampled_from([{"zone": "a"}, {"zone": "b"}, {}])),
        ready=draw(st.sampled_from([True, True, True, False])),
        gpu_memory_mib=draw(st.sampled_from([None, 100])),
    )


@st.composite
def foreign_pods(draw: st.DrawFn, name: str) -> ForeignPod:
    requests = (draw(st.sampled_from([0, 500, 2000])), 10**6, draw(gpus(2)))
    node = draw(st.sampled_from(["n0", "n0", "n1", "n2", "n3"]))
    return foreign_pod(name, node, requests, leaving=draw(st.booleans()))


@st.composite
def queues(draw: st.DrawFn, name: str, parent: str | None) -> Queue:
    return Queue(
        name=QueueName(name),
        parent=QueueName(parent) if parent else None,
        priority=draw(st.sampled_from([100, 100, 200])),
        created_ms=draw(st.integers(0, 2)),
        weights=(Decimal(1), Decimal(1), Decimal(draw(st.integers(0, 3)))),
        guaranteed=(None, None, draw(limits(4))),
        ceiling=(draw(st.sampled_from([None, None, 3000])), None, draw(limits(6))),
        borrow_limit=(None,) * 3,
        lend_limit=(None,) * 3,
    )


@st.composite
def pod_sets(draw: st.DrawFn, name: str, sub_group: str) -> PodSet:
    share = draw(
        st.none()
        | st.builds(
            GpuShare, devices=st.integers(1, 2), thousandths=st.sampled_from([250, 500, 600])
        )
        | st.builds(GpuShare, memory_mib=st.sampled_from([30, 50]))
    )
    gpu = draw(gpus(2))
    if share is not None:
        part = share.thousandths or (share.memory_mib or 0) * 10
        gpu = share.devices * part
    count = draw(st.integers(1, 3))
    return PodSet(
        name=name,
        count=count,
        min_count=draw(st.integers(0, count)),
        requests=(draw(st.sampled_from([0, 500, 1000])), 10**6, gpu),
        gpu_share=share,
        sub_group=sub_group,
        gated=draw(st.sampled_from([False, False, False, False, True])),
        labels=draw(st.sampled_from([(), (("app", "web"),)])),
        constraints=draw(st.sampled_from([PodConstraints()] * 6 + [SPREAD, PREFERS_SPREAD])),
    )


@st.composite
def jobs(draw: st.DrawFn, name: str, queue_names: list[str]) -> Workload:
    sets: tuple[PodSet, ...]
    groups: tuple[SubGroup, ...]
    if draw(st.sampled_from([False, False, True])):
        sets = (draw(pod_sets(f"{name}-a", "a")), draw(pod_sets(f"{name}-b", "b")))
        groups = tuple(
            SubGroup(name=each.sub_group, min_member=draw(st.integers(0, each.count)))
            for each in sets
        )
        minimum = sum(each.min_member or 0 for each in groups)
    else:
        sets, groups = (draw(pod_sets(name, "")),), ()
        minimum = draw(st.integers(1, sets[0].count))
    priority = draw(st.sampled_from([50, 75, 100]))
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(draw(st.sampled_from(queue_names))),
        pod_sets=PodSets(sets),
        min_count=minimum,
        priority=priority,
        preemptible=priority < 100,
        created_ms=draw(st.integers(0, 2)),
        extension=KaiJob(sub_groups=groups),
    )


@st.composite
def worlds(draw: st.DrawFn) -> list[Event]:
    """Nodes, two departments with teams below them, and jobs that wait."""
    departments = [f"d{at}" for at in range(draw(st.integers(1, 2)))]
    teams = [f"t{at}" for at in range(draw(st.integers(1, 4)))]
    events: list[Event] = [
        NodeAdded(draw(nodes(f"n{at}"))) for at in range(draw(st.integers(1, 4)))
    ]
    events += [
        ForeignPodChanged(draw(foreign_pods(f"f{at}")))
        for at in range(draw(st.sampled_from([0, 0, 1, 2])))
    ]
    events += [QueueChanged(draw(queues(name, None))) for name in departments]
    events += [
        QueueChanged(draw(queues(name, draw(st.sampled_from(departments))))) for name in teams
    ]
    events += [
        WorkloadAdded(draw(jobs(f"j{at}", [*teams, *teams, "d0", "nowhere"])))
        for at in range(draw(st.integers(1, 6)))
    ]
    return events
