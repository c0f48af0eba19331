"""Topology spread under ElasticQuotas: where pods start, what is evicted, and why they wait."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import NodeChanged, WorkloadChanged, WorkloadLeaving, WorkloadStarted
from fairlead.model.plan import Decision, Evict, Start, Wait
from fairlead.model.selector import LabelRequirement, LabelSelector, PodSpread
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSets, Preferences
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.placement.reference_pod_spread import is_spread
from tests.policy.elastic_quota.plan_world import NOW_MS, OURS, cluster, decided, plan
from tests.scale_examples import scale_examples

QUOTAS = """
    of    min  max
    x     1    -
    idle  30   -
"""  # beyond its min a pod evicts pods of its own namespace
WEB = LabelSelector(requirements=(LabelRequirement(key="app", operator="In", values=("web",)),))


def spread_over(key: str, skew: int = 1, least: int = 1) -> PodSpread:
    return PodSpread(topology_key=key, max_skew=skew, selector=WEB, min_domains=least)


def world(nodes: str, pods: str, **spreads: tuple[PodSpread, ...]) -> ClusterState:
    """Return a cluster in which the zone of a node is its first letter, as *spreads* say by pod."""
    state = cluster(QUOTAS, nodes, pods)
    for name, node in list(state.nodes.items()):
        state.apply(NodeChanged(replace(node, labels={"zone": name[0], "host": name})))
    for pod, spread in spreads.items():
        old = state.workloads[WorkloadName(pod)]
        sets = [
            replace(each, constraints=replace(each.constraints, spread=spread))
            for each in old.pod_sets
        ]
        state.apply(WorkloadChanged(replace(old, pod_sets=PodSets(sets))))
    return state


def places(state: ClusterState, how: ElasticQuotaSettings = OURS) -> list[str]:
    """Return what a plan does, such as ``start p a1`` or ``evict v``."""
    found = []
    for each in plan(state, how).decisions:
        nodes = [str(place.node) for place in getattr(each, "placements", ())]
        found.append(" ".join([type(each).__name__.lower(), each.workload, *nodes]))
    return found


NODES = """
    name  has
    a1    4
    a2    4
    b1    4
    c1    4
"""
BOTH = pytest.mark.parametrize("how", [OURS, FAITHFUL], ids=["ours", "faithful"])


@BOTH
def test_a_gang_is_spread_over_zones_and_hosts(how: ElasticQuotaSettings) -> None:
    """Zones: 2, 1, 1 (skew 2 - 1 = 1); a fifth pod of 5 would go to b1 or c1, a host with 1."""
    pods = "name of asks needs app\n p x 4x1 4 web"
    constraints = (spread_over("zone"), spread_over("host"))
    (start,) = places(world(NODES, pods, p=constraints), how)
    assert start == "start p a1 b1 c1 a2"


@BOTH
def test_a_gang_that_cannot_be_spread_waits_as_a_whole(how: ElasticQuotaSettings) -> None:
    """With minDomains 4 of 3 the fewest is 0: one pod in each zone, and 1 + 1 - 0 > 1 for more."""
    pods = "name of asks needs app\n p x 4x1 4 web"
    assert places(world(NODES, pods, p=(spread_over("zone", least=4),)), how) == ["wait p"]
    three = pods.replace("4x1 4", "3x1 3")
    found = places(world(NODES, three, p=(spread_over("zone", least=4),)), how)
    assert found == ["start p a1 b1 c1"]


# Each node has room for one pod. The pod p has priority 5 and may evict those of priority 1.
FULL = """
    name  has
    a1    1
    b1    1
"""
PREEMPTIONS = {
    "without spread the first node is taken": ("-", "-", "web", "-", ["evict v", "reserve p a1"]),
    "a web pod that leaves is not counted: a 0 + 1 - 0": (
        "zone",
        "-",
        "web",
        "-",
        ["evict v", "reserve p a1"],
    ),
    "w is too important: a 0 + 1 - 0 once v has left": (
        "zone",
        "-",
        "-",
        "web",
        ["evict v", "reserve p a1"],
    ),
    "the web pod of a stays: only b with 0 + 1 - 0 is open, and w may not be evicted": (
        "zone",
        "9",
        "web",
        "-",
        ["wait p"],
    ),
}


@pytest.mark.parametrize(
    ("key", "priority", "v_app", "w_app", "expected"), PREEMPTIONS.values(), ids=PREEMPTIONS.keys()
)
def test_victims_are_not_counted(
    key: str, priority: str, v_app: str, w_app: str, expected: list[str]
) -> None:
    pods = f"""
        name  of  asks  priority  app     on
        v     x   1     {priority if priority != "-" else 1}         {v_app}  a1
        w     x   1     9         {w_app}  b1
        p     x   1     5         web     -
    """
    spread = (spread_over(key),) if key != "-" else ()
    assert places(world(FULL, pods, p=spread)) == expected


def test_a_victim_that_does_not_open_its_zone_stays() -> None:
    """The victim v is in zone b, which has 1 web pod that stays: 1 + 1 - 0 > 1 (a has 0)."""
    nodes = "name has\n a1 1\n b1 1\n b2 1"
    pods = """
        name  of  asks  priority  app  on
        u     x   1     9         -    a1
        v     x   1     1         -    b1
        w     x   1     9         web  b2
        p     x   1     5         web  -
    """
    assert places(world(nodes, pods)) == ["evict v", "reserve p b1"]
    assert places(world(nodes, pods, p=(spread_over("zone"),))) == ["wait p"]
    open_nodes = pods.replace("u     x   1     9         -  ", "u     x   1     9         web")
    found = places(world(nodes, open_nodes, p=(spread_over("zone"),)))
    assert found == ["evict v", "reserve p b1"]  # 1 + 1 - 1


def test_the_reason_has_the_numbers_of_the_zones() -> None:
    pods = """
        name  of  asks  app  on
        u     x   4     web  a1
        v     x   1     web  b1
        w     x   1     web  b1
        p     x   1     web  -
    """
    nodes = "name has\n a1 4\n b1 4\n c1 0"
    wait = decided(plan(world(nodes, pods, p=(spread_over("zone"),))), "p")
    assert isinstance(wait, Wait)
    assert [f"{t.count} of {t.of} {t.things} {t.what}" for t in wait.reason.tallies] == [
        "2 of 3 nodes lack gpu",
        "1 of 3 nodes would exceed maxSkew 1 of zone",
        "2 of 3 zones would exceed maxSkew 1: b has 2 matching pods, fewest 0",
    ]


def test_a_spread_that_is_only_preferred_adds_points() -> None:
    """Load: a1 and b1 are alike. The zone a has a web pod, b none: 0 against 2 * 100 points."""
    nodes = "name has\n a1 4\n a2 4\n b1 4"
    pods = """
        name  of  asks  app  on
        u     x   1     web  a2
        p     x   1     web  -
    """
    state = world(nodes, pods)
    assert places(state) == ["start p a1"]
    old = state.workloads[WorkloadName("p")]
    wishes = Preferences(spread=(spread_over("zone"),))
    where = replace(old.pod_sets[0].constraints, preferences=wishes)
    sets = PodSets([replace(old.pod_sets[0], constraints=where)])
    state.apply(WorkloadChanged(replace(old, pod_sets=sets)))
    assert places(state) == ["start p b1"]


def check_skews(state: ClusterState, decisions: Iterable[Decision]) -> None:
    """Follow *decisions*, and check at each start that no skew is exceeded."""
    with state.trial():
        for each in decisions:
            if isinstance(each, Evict):
                state.apply(WorkloadLeaving(workload=each.workload, pods=each.pods))
            for place in each.placements if isinstance(each, Start) else ():
                workload, node = state.workloads[each.workload], state.nodes[str(place.node)]
                assert is_spread(state, workload, 0, node, "now"), f"{each.workload} on {node.name}"
                start = WorkloadStarted(workload=each.workload, placements=(place,), at_ms=NOW_MS)
                state.apply(start)


crowds = st.lists(
    st.tuples(
        st.sampled_from(["a1", "a2", "b1", "c1", "-", "-", "-"]),  # its node
        st.sampled_from(["web", "web", "-"]),
        st.integers(1, 3),  # priority
        st.sampled_from(
            [
                (),
                (spread_over("zone"),),
                (spread_over("zone", 2), spread_over("host")),
                (spread_over("zone", least=3),),
            ]
        ),
        st.integers(1, 3),  # pods, of which all must run together, if it waits
    ),
    min_size=3,
    max_size=9,
)


@settings(max_examples=scale_examples(60), deadline=None)
@given(crowds, st.sampled_from([OURS, FAITHFUL]))
def test_every_pod_starts_within_its_skew_the_plain_way_and_the_fast_one(
    crowd: list[tuple[str, str, int, tuple[PodSpread, ...], int]], how: ElasticQuotaSettings
) -> None:
    lines, spreads = ["name of asks needs app priority on"], {}
    for at, (on, app, priority, spread, count) in enumerate(crowd):
        many = count if on == "-" else 1
        lines.append(f"p{at} x {many}x1 {many} {app} {priority} {on}")
        spreads[f"p{at}"] = spread
    nodes = "name has\n a1 2\n a2 2\n b1 3\n c1 1"
    counts = [sum(on == name for on, *_ in crowd) for name in ("a1", "a2", "b1", "c1")]
    if any(count > size for count, size in zip(counts, (2, 2, 3, 1), strict=True)):
        return
    state = world(nodes, "\n".join(lines), **spreads)
    found = plan(state, how)
    assert ElasticQuotaPolicy(how, plain=True).plan(state, NOW_MS) == found
    check_skews(state, found.decisions)


RIVALS = """
    name  of  asks  priority  app  on
    u     x   1     9         -    b1
    v     x   1     1         -    a1
    w     x   1     1         -    a2
    p     x   1     5         web  -
    q     x   1     5         web  -
"""


@pytest.mark.parametrize(
    ("how", "rest"),
    [
        (OURS, ["wait q"]),
        (FAITHFUL, ["evict w", "reserve q a2"]),  # counts only pods that are nominated to a2
    ],
    ids=["ours", "faithful"],
)
def test_a_pod_that_waits_for_its_victim_counts_for_the_next_one(
    how: ElasticQuotaSettings, rest: list[str]
) -> None:
    """Zone b has 0 and is full. Once p is in a, q would be the second there: 1 + 1 - 0 > 1."""
    spread = (spread_over("zone"),)
    state = world("name has\n a1 1\n a2 1\n b1 1", RIVALS, p=spread, q=spread)
    assert places(state, how) == ["evict v", "reserve p a1", *rest]
