"""Small random clusters under ElasticQuotas, for laws: full enough that pods fight for places.

A world is a list of events, so that it can be built in another order too. Who runs has room on its
node, as in a real cluster; quotas may be in breach from the beginning, since they may change.
"""

from collections.abc import Iterable
from decimal import Decimal

from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Amounts, Axis, Limits, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue, DisruptionBudget
from fairlead.model.events import (
    CatalogueChanged,
    Event,
    MemoryChanged,
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadLeaving,
    WorkloadStarted,
)
from fairlead.model.memory import ElasticMemory
from fairlead.model.node import Node
from fairlead.model.queue import ElasticQuota, Queue
from fairlead.model.selector import (
    LabelRequirement,
    LabelSelector,
    NodeTerm,
    PodSpread,
    PodTerm,
    PreferredNodes,
    Taint,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ElasticPods,
    PodConstraints,
    PodSet,
    PodSets,
    Preferences,
    Workload,
)
from fairlead.policy.elastic_quota.settings import (
    FAITHFUL,
    ElasticQuotaSettings,
    PluginQuirks,
)

RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "pods")
AXES = QuotaAxes([Axis("cpu"), Axis("memory"), Axis("nvidia.com/gpu")])
NAMESPACES = ("a", "b", "c", "d")
NOW_MS = 10_000
NOWHERE = "gone"  # a node that nobody knows
OURS = ElasticQuotaSettings()
PROTECTS_MIN = ElasticQuotaSettings(protect_min=True)
ONE_NODE = ElasticQuotaSettings(cross_node_preemption=False)
FAITHFUL_ACROSS = replace(FAITHFUL, cross_node_preemption=True)
MODES = (OURS, PROTECTS_MIN, ONE_NODE, FAITHFUL, FAITHFUL_ACROSS)

RED = LabelSelector(requirements=(LabelRequirement(key="team", operator="In", values=("red",)),))


def build(events: Iterable[Event]) -> ClusterState:
    """Return the state after *events*."""
    state = ClusterState(RESOURCES, AXES)
    for event in events:
        state.apply(event)
    return state


modes = st.sampled_from(MODES)
quirks = st.builds(PluginQuirks, **{name: st.booleans() for name in PluginQuirks.__struct_fields__})
random_settings = modes | st.builds(
    ElasticQuotaSettings,
    quirks=quirks,
    cross_node_preemption=st.booleans(),
    protect_min=st.booleans(),
    scoring=st.sampled_from(["LeastAllocated", "MostAllocated"]),
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """A node of a few cpus and devices."""
    kind = draw(st.sampled_from("........cntt"))
    return Node(
        name=name,
        allocatable=(
            draw(st.sampled_from([4, 3, 2, 6])),
            draw(st.sampled_from([20, 20, 20, 3])),
            draw(st.sampled_from([0, 2, 4])),
            draw(st.sampled_from([9, 9, 9, 2])),
        ),
        labels={"zone": draw(st.sampled_from("xy")), "name": name},
        cordoned=kind == "c",
        ready=kind != "n",
        taints=(Taint(key="gpu", effect="PreferNoSchedule"),) if kind == "t" else (),
    )


@st.composite
def quotas(draw: st.DrawFn, namespace: str) -> Queue:
    """A quota; entries of min and max may be missing, and max is not below min."""
    least = (
        draw(st.sampled_from([2, 6, 0, 1, 4])),
        draw(st.sampled_from([30, 30, 30, 2, 0])),
        draw(st.sampled_from([0, 2, 1])),
    )
    listed: frozenset[str] | None = None
    most: Limits = AXES.unlimited
    if draw(st.booleans()):
        more = [draw(st.sampled_from([None, 0, 2, 4])) for _ in least]
        more[1] = draw(st.sampled_from([None, 9]))
        most = tuple(None if m is None else a + m for a, m in zip(least, more, strict=True))
        listed = frozenset(
            axis.resource for axis, bound in zip(AXES.axes, most, strict=True) if bound is not None
        )
    return Queue(
        name=QueueName(namespace),
        weights=(Decimal(1),) * len(AXES),
        guaranteed=least,
        ceiling=most,
        borrow_limit=AXES.unlimited,
        lend_limit=AXES.unlimited,
        extension=ElasticQuota(object_name="quota", max_listed=listed),
    )


def constraints() -> st.SearchStrategy[PodConstraints]:
    """Where pods may run: mostly anywhere."""
    zone_y = LabelRequirement(key="zone", operator="In", values=("y",))
    in_zone_y = PreferredNodes(weight=10, term=NodeTerm(labels=(zone_y,)))
    over_zones = PodSpread(topology_key="zone", max_skew=1, selector=RED)
    red = PodTerm(topology_key="name", selector=RED, namespaces=NAMESPACES)
    return st.sampled_from(
        [
            *[PodConstraints()] * 18,
            PodConstraints(host_ports=(("TCP", 80),)),
            PodConstraints(host_ports=(("TCP", 80), ("TCP", 81))),
            PodConstraints(pod_anti_affinity=(red,)),
            PodConstraints(pod_anti_affinity=(replace(red, topology_key="zone"),)),
            PodConstraints(pod_affinity=(red,)),
            PodConstraints(node_selector=(("zone", "x"),)),
            PodConstraints(spread=(over_zones,)),
            PodConstraints(spread=(over_zones, replace(over_zones, topology_key="name"))),
            PodConstraints(preferences=Preferences(nodes=(in_zone_y,), spread=(over_zones,))),
            PodConstraints(unsupported=("resourceClaims",)),
        ]
    )


@st.composite
def pod_sets(draw: st.DrawFn, name: str, most: int, *, plain: bool) -> PodSet:
    """Pods that ask for little, of some things for nothing."""
    count = draw(st.integers(1, most))
    return PodSet(
        name=name,
        count=count,
        min_count=1,
        requests=(
            draw(st.sampled_from([1, 1, 2, 3, 0])),
            draw(st.sampled_from([1, 0, 2])),
            draw(st.sampled_from([0, 0, 0, 0, 0, 1, 2])),
            1,
        ),
        labels=draw(st.sampled_from([(), (("team", "red"),), (("team", "blue"),)])),
        constraints=PodConstraints() if plain else draw(constraints()),
        gated=not plain and draw(st.sampled_from([False] * 30 + [True])),
    )


@st.composite
def workloads(draw: st.DrawFn, name: str, *, plain: bool = False) -> Workload:
    """A lone pod, or a gang; *plain*: without constraints, gates and odd charges."""
    namespace = draw(st.sampled_from(NAMESPACES))
    is_gang = draw(st.sampled_from([False, False, True]))
    sets: tuple[PodSet, ...] = (draw(pod_sets(name, 3 if is_gang else 1, plain=plain)),)
    if is_gang and draw(st.booleans()):
        sets += (draw(pod_sets(f"{name}-more", 2, plain=plain)),)
    count = sum(each.count for each in sets)
    odd: tuple[dict[str, int], ...] = ()
    if not plain and draw(st.sampled_from([False, False, False, True])):
        odd = tuple(_plugin_requests(draw(st.integers(0, 5)), each.requests) for each in sets)
    is_never = draw(st.sampled_from([False] * 15 + [True]))
    return Workload(
        name=WorkloadName(f"{namespace}/{name}"),
        namespace=namespace,
        queue=QueueName(namespace),
        pod_sets=PodSets(sets),
        min_count=draw(st.integers(1, count)) if is_gang else 1,
        priority=draw(st.sampled_from([0, 0, 1, 5])),
        created_ms=draw(st.sampled_from([0, 0, 1000, 2000])),
        extension=ElasticPods(
            preemption_policy="Never" if is_never else "PreemptLowerPriority",
            plugin_requests=odd,
            min_resources=draw(st.sampled_from([None, None, (4, 0, 0, 0)])) if is_gang else None,
            schedule_timeout_s=draw(st.sampled_from([None, None, 3])) if is_gang else None,
        ),
    )


def _plugin_requests(kind: int, requests: Amounts) -> dict[str, int]:
    """Return what the plugin adds up otherwise: less, with names of 0, or nothing."""
    cpu, memory, gpu, _ = requests
    written = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpu}
    if kind == 0:
        return {}
    if kind == 1:
        return {**written, "cpu": max(0, cpu - 1)}
    if kind == 2:
        return {name: amount for name, amount in written.items() if amount}
    return written


@st.composite
def budgets(draw: st.DrawFn) -> Catalogue:
    """Disruption budgets of some namespaces."""
    found = {}
    for namespace in NAMESPACES:
        if draw(st.sampled_from([False, False, True])):
            found[f"{namespace}/keep"] = DisruptionBudget(
                namespace=namespace,
                name="keep",
                selector=RED,
                disruptions_allowed=draw(st.integers(0, 2)),
            )
    return Catalogue(budgets=found)


@st.composite
def worlds(draw: st.DrawFn, *, plain: bool = False, most: int = 11) -> list[Event]:
    """Nodes, quotas of some namespaces, and workloads that run, leave or wait.

    *plain* leaves out what seldom matters: budgets, constraints, and what the plugin charges.
    """
    names = [f"n{at}" for at in range(draw(st.integers(1, 4)))]
    machines = [draw(nodes(name)) for name in names]
    events: list[Event] = [NodeAdded(each) for each in machines]
    events += [
        QueueChanged(draw(quotas(namespace)))
        for namespace in NAMESPACES
        if draw(st.sampled_from([True, True, True, False]))
    ]
    if not plain:
        events.append(CatalogueChanged(draw(budgets())))
    free = {each.name: list(each.allocatable) for each in machines}
    for at in range(draw(st.integers(4, most))):
        events += draw(_lives(draw(workloads(f"w{at}", plain=plain)), free))
    return events


@st.composite
def _lives(draw: st.DrawFn, workload: Workload, free: dict[str, list[int]]) -> list[Event]:
    """Return how a workload came to be where it is; *free* is lowered by what it takes."""
    places: list[Placement] = []
    nominated = {}
    hopes = draw(st.sampled_from(["run", "run", "run", "run", "wait", "wait", "some", "nominated"]))
    for pod in workload.pods():
        if hopes == "wait":
            break
        node = draw(st.sampled_from(sorted(free)))
        requests = workload.pod_sets.of(pod).requests
        if hopes == "nominated":
            nominated[pod] = node
        elif all(map(int.__le__, requests, free[node])) and (hopes == "run" or draw(st.booleans())):
            free[node][:] = map(int.__sub__, free[node], requests)
            places.append(Placement(pod, node))
    events: list[Event] = [WorkloadAdded(workload)]
    if nominated:
        since_ms = draw(st.sampled_from([None, NOW_MS - 1000, NOW_MS - 3000]))
        if draw(st.sampled_from([False] * 5 + [True])):
            nominated[workload.pods()[0]] = NOWHERE
        memory = ElasticMemory(nominated=nominated, nominated_ms=since_ms)
        events.append(MemoryChanged(workload.name, memory))
    if places:
        at_ms = draw(st.sampled_from([0, 0, 1000, 5000]))
        start = WorkloadStarted(workload=workload.name, placements=tuple(places), at_ms=at_ms)
        events.append(start)
        if draw(st.sampled_from([False] * 5 + [True])):
            gone = draw(st.lists(st.sampled_from(places), min_size=1, unique_by=lambda p: p.pod))
            pods = tuple(sorted(place.pod for place in gone))
            events.append(WorkloadLeaving(workload=workload.name, pods=pods))
    return events
