"""The rules of Kubernetes for pods that are spread over zones and hosts."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    ForeignPodChanged,
    NodeChanged,
    Placement,
    WorkloadDisplaced,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStopped,
)
from fairlead.model.workload import PodSets, numbered_pod
from fairlead.placement import pod_spread
from fairlead.placement.pod_affinity import PodAffinity
from tests.placement.affinity_takers import TIMES, takers, waiting
from tests.placement.affinity_world import foreign, node, state_of

NODES = """
    node  labels
    a1    zone=a,host=a1
    a2    zone=a,host=a2
    b1    zone=b,host=b1
    c1    zone=c,host=c1,pool=slow
    out   host=out
"""

# The pod p is to be placed among the others; may: the nodes that take it. A node takes it if
# pods in its domain + 1 for itself - fewest in a domain <= maxSkew.
SCENARIOS = {
    "no pod yet: 0 + 1 - 0 <= 1 in each zone, and no zone for the node out": """
        pod  node  labels   spread            may
        p    -     app=web  zone/1/app=web    a1,a2,b1,c1
    """,
    "three zones: a has 1 + 1 - 0 > 1, b and c have 0 + 1 - 0": """
        pod  node  labels   spread            may
        p    -     app=web  zone/1/app=web    b1,c1
        q    a2    app=web  -                 -
    """,
    "all zones have one: 1 + 1 - 1 <= 1": """
        pod  node  labels   spread            may
        p    -     app=web  zone/1/app=web    a1,a2,b1,c1
        q    a1    app=web  -                 -
        r    b1    app=web  -                 -
        s    c1    app=web  -                 -
    """,
    "maxSkew 2: a has 2 + 1 - 0 > 2, b has 1 + 1 - 0": """
        pod  node  labels   spread            may
        p    -     app=web  zone/2/app=web    b1,c1
        q    a1    app=web  -                 -
        r    a2    app=web  -                 -
        s    b1    app=web  -                 -
    """,
    "a pod that is not selected adds none: 1 + 0 - 0 <= 1": """
        pod  node  labels   spread            may
        p    -     app=api  zone/1/app=web    a1,a2,b1,c1
        q    a1    app=web  -                 -
    """,
    "but it may not go where others are too many: 2 + 0 - 0 > 1": """
        pod  node  labels   spread            may
        p    -     app=api  zone/1/app=web    b1,c1
        q    a1    app=web  -                 -
        r    a2    app=web  -                 -
    """,
    "minDomains 4 of 3: the fewest is 0, so 1 + 1 - 0 > 1 everywhere": """
        pod  node  labels   spread                  may
        p    -     app=web  zone/1/app=web@min=4    -
        q    a1    app=web  -                       -
        r    b1    app=web  -                       -
        s    c1    app=web  -                       -
    """,
    "minDomains 3 of 3: the fewest is 1, so 1 + 1 - 1": """
        pod  node  labels   spread                  may
        p    -     app=web  zone/1/app=web@min=3    a1,a2,b1,c1
        q    a1    app=web  -                       -
        r    b1    app=web  -                       -
        s    c1    app=web  -                       -
    """,
    "pods of other versions do not count (matchLabelKeys adds ver=2)": """
        pod  node  labels         spread                 may
        p    -     app=web,ver=2  zone/1/app=web,ver=2   b1,c1
        q    a1    app=web,ver=2  -                      -
        r    b1    app=web,ver=1  -                      -
        s    b1    app=web,ver=1  -                      -
    """,
    "pods of other namespaces do not count": """
        pod  node  namespace  labels   spread            may
        p    -     ns         app=web  zone/1/app=web    a1,a2,b1,c1
        q    a1    other      app=web  -                 -
    """,
    "pods on a node without the label do not count": """
        pod  node  labels   spread            may
        p    -     app=web  zone/1/app=web    a1,a2,b1,c1
        q    out   app=web  -                 -
        r    out   app=web  -                 -
    """,
    "zones that the node selector excludes are no domains: a 1 + 1 - 1, not - 0": """
        pod  node  labels   where      spread            may
        p    -     app=web  pool=slow  zone/1/app=web    a1,a2,b1,c1
        q    c1    app=web  -          -                 -
    """,
    "unless nodeAffinityPolicy is Ignore: c has 1 + 1 - 0 > 1": """
        pod  node  labels   where      spread                may
        p    -     app=web  pool=slow  zone/1/app=web@all    a1,a2,b1
        q    c1    app=web  -          -                     -
    """,
    "two constraints: zone a has 3 + 1 - 1 > 1, the hosts b1 and c1 1 + 1 - 0 > 1": """
        pod  node  labels   spread                          may
        p    -     app=web  zone/1/app=web;host/1/app=web   -
        q    a2    app=web  -                               -
        r    a2    app=web  -                               -
        s    a2    app=web  -                               -
        t    b1    app=web  -                               -
        u    c1    app=web  -                               -
    """,
    "two constraints: zone b is the only one with 0, and its host has 0": """
        pod  node  labels   spread                          may
        p    -     app=web  zone/1/app=web;host/1/app=web   b1
        q    a1    app=web  -                               -
        r    c1    app=web  -                               -
    """,
    "a node that lacks one key is no domain of the other: host out is not the one with 0": """
        pod  node  labels   spread                          may
        p    -     app=web  host/1/app=web;zone/9/app=web   a1,a2,b1,c1
        q    a1    app=web  -                               -
        r    a2    app=web  -                               -
        s    b1    app=web  -                               -
        t    c1    app=web  -                               -
    """,
    "a selector without conditions counts no pod": """
        pod  node  labels   spread       may
        p    -     app=web  zone/1/*     a1,a2,b1,c1
        q    a1    app=web  -            -
        r    a1    app=web  -            -
    """,
    "no selector selects no pod": """
        pod  node  labels   spread       may
        p    -     app=web  zone/1/none  a1,a2,b1,c1
        q    a1    app=web  -            -
        r    a1    app=web  -            -
    """,
}


@pytest.mark.parametrize("table", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_where_a_pod_may_go(table: str) -> None:
    state = state_of(NODES, table)
    expected = table.strip().splitlines()[1].split()[-1]
    for when in TIMES:
        found = takers(PodAffinity(state), state, waiting(state), when)
        assert ",".join(found) == ("" if expected == "-" else expected)


TAINTED = """
    node  labels
    a1    zone=a
    b1    zone=b
    c1    zone=c,taint=gpu
"""


@pytest.mark.parametrize(
    ("policy", "may"),
    [
        (
            "",
            ["c1"],
        ),  # c counts, with 0: a and b have 1 + 1 - 0 > 1; the taint is checked elsewhere
        ("@taints", ["a1", "b1", "c1"]),  # c is no domain: a and b have 1 + 1 - 1
    ],
)
def test_a_tainted_zone_is_a_domain_unless_taints_are_honored(policy: str, may: list[str]) -> None:
    pods = f"""
        pod  node  labels   spread
        p    -     app=web  zone/1/app=web{policy}
        q    a1    app=web  -
        r    b1    app=web  -
    """
    state = state_of(TAINTED, pods)
    assert takers(PodAffinity(state), state, waiting(state)) == may


def test_a_cordon_is_a_taint_and_is_noticed_when_it_comes() -> None:
    pods = """
        pod  node  labels   spread
        p    -     app=web  zone/1/app=web@taints
        q    a1    app=web  -
        r    b1    app=web  -
    """
    state = state_of("node labels\n a1 zone=a\n b1 zone=b\n c1 zone=c", pods)
    judge = PodAffinity(state)
    assert takers(judge, state, waiting(state)) == ["c1"]
    state.apply(NodeChanged(replace(node("c1", {"zone": "c"}), cordoned=True)))
    assert takers(judge, state, waiting(state)) == ["a1", "b1", "c1"]


ONE_IN_A = """
    pod  node  labels   spread
    p    -     app=web  zone/1/app=web
    q    a1    app=web  -
"""
Q, POD = WorkloadName("q"), numbered_pod("main", 0)


@pytest.mark.parametrize("event", [WorkloadLeaving, WorkloadDisplaced, WorkloadStopped])
def test_a_terminating_pod_is_not_counted(
    event: type[WorkloadLeaving | WorkloadDisplaced | WorkloadStopped],
) -> None:
    state = state_of(NODES, ONE_IN_A)
    judge = PodAffinity(state)
    for when in TIMES:
        assert takers(judge, state, waiting(state), when) == ["b1", "c1"]  # a: 1 + 1 - 0 > 1
    with state.trial():
        state.apply(event(workload=Q, pods=(POD,)))
        for when in TIMES:  # a: 0 + 1 - 0
            assert takers(judge, state, waiting(state), when) == ["a1", "a2", "b1", "c1"]
    assert takers(judge, state, waiting(state)) == ["b1", "c1"]


def test_a_removed_pod_closes_other_domains() -> None:
    """With 1 pod in each zone all are open; without the one of b the fewest is 0."""
    pods = f"{ONE_IN_A}    r    b1    app=web  -\n    s    c1    app=web  -\n"
    state = state_of(NODES, pods)
    judge = PodAffinity(state)
    assert takers(judge, state, waiting(state)) == ["a1", "a2", "b1", "c1"]
    state.apply(WorkloadLeaving(workload=WorkloadName("r"), pods=(POD,)))
    assert takers(judge, state, waiting(state)) == ["b1"]


def test_a_reservation_counts_later_and_not_now() -> None:
    state = state_of(NODES, ONE_IN_A.replace("q    a1", "q    - "))
    place = (Placement(POD, "a1"),)
    state.apply(WorkloadReserved(workload=Q, placements=place, at_ms=0))
    judge = PodAffinity(state)
    assert takers(judge, state, waiting(state), "later") == ["b1", "c1"]
    assert takers(judge, state, waiting(state), "now") == ["a1", "a2", "b1", "c1"]


def test_pods_of_other_schedulers_count_until_they_terminate() -> None:
    state = state_of(NODES, "pod node labels spread\n p - app=web zone/1/app=web")
    judge = PodAffinity(state)
    other = foreign({"labels": "app=web"}, "a1")
    state.apply(ForeignPodChanged(other))
    assert takers(judge, state, waiting(state)) == ["b1", "c1"]
    state.apply(ForeignPodChanged(replace(other, leaving=True)))
    assert takers(judge, state, waiting(state)) == ["a1", "a2", "b1", "c1"]


def test_without_spread_the_constraints_are_ignored() -> None:
    state = state_of(NODES, ONE_IN_A)
    assert PodAffinity(state, honors_spread=False).around(waiting(state), 0).allow_all


EXCEEDS = "would exceed maxSkew 1 of zone"
SHORT = (
    "3 of 3 zones would exceed maxSkew 1: "
    "a has 3 matching pods, fewest 0 because 3 of 4 domains exist"
)
REASONS = {
    "zone/1/app=web": (
        EXCEEDS,  # a: 3 + 1 - 1, b: 2 + 1 - 1
        ["2 of 3 zones would exceed maxSkew 1: a has 3 matching pods, fewest 1"],
    ),
    "zone/1/app=web@min=4": (
        EXCEEDS,  # and c: 1 + 1 - 0
        [
            SHORT,
        ],
    ),
    "zone/3/app=web": (None, []),  # a: 3 + 1 - 1 <= 3
}


@pytest.mark.parametrize(("spread", "expected"), REASONS.items(), ids=REASONS.keys())
def test_the_reason_has_the_numbers(spread: str, expected: tuple[str | None, list[str]]) -> None:
    """Matching pods: a 3, b 2, c 1."""
    pods = ["pod node labels spread", f"p - app=web {spread}"]
    places = ["a1", "a1", "a2", "b1", "b1", "c1"]
    pods += [f"w{at} {place} app=web -" for at, place in enumerate(places)]
    state = state_of(NODES, "\n".join(pods))
    around = PodAffinity(state).around(waiting(state), 0)
    assert around.defect(state.nodes["out"]) == "lack the label zone of the topology spread"
    tallies = [f"{t.count} of {t.of} {t.things} {t.what}" for t in around.domain_tallies()]
    assert (around.defect(state.nodes["a1"]), tallies) == expected


def test_one_pod_is_one_pod_and_a_key_is_named_by_its_last_part() -> None:
    nodes = "node labels\n a1 topology.kubernetes.io/zone=a\n b1 topology.kubernetes.io/zone=b"
    state = state_of(nodes, "pod node labels spread\n p - app=web x/1/app=web\n q a1 app=web -")
    old = waiting(state)
    where = old.pod_sets[0].constraints
    zones = replace(where.spread[0], topology_key="topology.kubernetes.io/zone")
    where = replace(where, spread=(zones,))
    new = replace(old, pod_sets=PodSets([replace(old.pod_sets[0], constraints=where)]))
    (tally,) = PodAffinity(state).around(new, 0).domain_tallies()
    assert (tally.count, tally.of, tally.things) == (1, 2, "zones")
    assert tally.what == "would exceed maxSkew 1: a has 1 matching pod, fewest 0"


def test_few_groups_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_spread, "GROUPS_KEPT", 1)
    state = state_of(NODES, f"{ONE_IN_A}    o    -     app=web  host/1/app=web\n")
    judge = PodAffinity(state)
    for _ in range(2):
        assert takers(judge, state, waiting(state)) == ["b1", "c1"]
        assert takers(judge, state, waiting(state, "o")) == ["a2", "b1", "c1", "out"]
