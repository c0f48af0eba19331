"""The rules of Kubernetes for pods that want to be near others, or away from them."""

import pytest

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    Event,
    ForeignPodChanged,
    ForeignPodRemoved,
    NodeAdded,
    NodeChanged,
    NodeRemoved,
    Placement,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadDeparted,
    WorkloadDisplaced,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStopped,
)
from fairlead.model.workload import PodId
from fairlead.placement import pod_affinity
from fairlead.placement.pod_affinity import PodAffinity
from tests.placement.affinity_takers import NODES, POD, TIMES, takers, waiting
from tests.placement.affinity_world import foreign, node, start, state_of, workload
from tests.text_table import rows

# The pod p is to be placed among the others; may: the nodes that take it.
SCENARIOS = {
    "a pod without terms among pods without terms goes anywhere": """
        pod  node  labels   near           apart          may
        p    -     app=web  -              -              a1,a2,b1,out
        q    a1    app=web  -              -              -
    """,
    "near a pod: the same zone": """
        pod  node  labels   near           apart          may
        p    -     -        zone/app=db    -              a1,a2
        q    a2    app=db   -              -              -
    """,
    "near a pod: the same host": """
        pod  node  labels   near           apart          may
        p    -     -        host/app=db    -              a2
        q    a2    app=db   -              -              -
    """,
    "near any one of several": """
        pod  node  labels   near           apart          may
        p    -     -        host/app=db    -              a2,b1
        q    a2    app=db   -              -              -
        r    b1    app=db   -              -              -
    """,
    "nobody to be near, and not itself what it asks for": """
        pod  node  labels   near           apart          may
        p    -     app=web  zone/app=db    -              -
        q    a2    app=web  -              -              -
    """,
    "the first of its kind needs only a node that is in a zone": """
        pod  node  labels   near           apart          may
        p    -     app=web  zone/app=web   -              a1,a2,b1
        q    a2    app=db   -              -              -
    """,
    "the second of its kind joins the first": """
        pod  node  labels   near           apart          may
        p    -     app=web  zone/app=web   -              b1
        q    b1    app=web  zone/app=web   -              -
    """,
    "one of its kind on a node outside all zones leaves it the first": """
        pod  node  labels   near           apart          may
        p    -     app=web  zone/app=web   -              a1,a2,b1
        q    out   app=web  -              -              -
    """,
    "each term by its own key, and one pod must be meant by all of them": """
        pod  node  labels        near                      apart  may
        p    -     -             zone/app=db;host/tier=hot -      a1
        q    a1    app=db,tier=hot  -                      -      -
        r    b1    app=db        -                         -      -
        s    b1    tier=hot      -                         -      -
    """,
    "two pods that are meant by one term each are not enough": """
        pod  node  labels   near                      apart  may
        p    -     -        zone/app=db;zone/tier=hot -      -
        q    a1    app=db   -                         -      -
        r    a1    tier=hot -                         -      -
    """,
    "the first of its kind must be meant by all of its own terms": """
        pod  node  labels   near                      apart  may
        p    -     app=db   zone/app=db;zone/tier=hot -      -
        q    a1    -        -                         -      -
    """,
    "away from a pod: other zones, and nodes that are in none": """
        pod  node  labels   near           apart          may
        p    -     -        -              zone/app=db    b1,out
        q    a1    app=db   -              -              -
    """,
    "away from a pod: other hosts": """
        pod  node  labels   near           apart          may
        p    -     -        -              host/app=db    a2,b1,out
        q    a1    app=db   -              -              -
    """,
    "every term keeps away on its own": """
        pod  node  labels   near           apart                    may
        p    -     -        -              host/app=db;zone/app=web a2,out
        q    a1    app=db   -              -                        -
        r    b1    app=web  -              -                        -
    """,
    "a pod outside all zones keeps nobody away": """
        pod  node  labels   near           apart          may
        p    -     -        -              zone/app=db    a1,a2,b1,out
        q    out   app=db   -              -              -
    """,
    "a placed pod keeps away whom its anti-affinity means": """
        pod  node  labels   near           apart          may
        p    -     app=web  -              -              b1,out
        q    a1    app=db   -              zone/app=web   -
    """,
    "and lets others come": """
        pod  node  labels   near           apart          may
        p    -     app=api  -              -              a1,a2,b1,out
        q    a1    app=db   -              zone/app=web   -
    """,
    "the affinity of a placed pod binds nobody else": """
        pod  node  labels   near           apart          may
        p    -     app=web  -              -              a1,a2,b1,out
        q    a1    app=db   zone/app=web   -              -
    """,
    "one per host: pods that exclude their own kind": """
        pod  node  labels   near           apart          may
        p    -     app=web  -              host/app=web   b1,out
        q    a1    app=web  -              host/app=web   -
        r    a2    app=web  -              host/app=web   -
    """,
    "near one kind and away from another": """
        pod  node  labels   near           apart          may
        p    -     app=web  zone/app=db    host/app=db    a2
        q    a1    app=db   -              -              -
        r    b1    app=db   -              -              -
    """,
    "a pod that waits neither attracts nor keeps away": """
        pod  node  labels   near           apart          may
        p    -     app=web  -              host/app=db    a1,a2,b1,out
        q    -     app=db   -              host/app=web   -
    """,
    "a selector of everything means every pod of the namespace": """
        pod  node  labels   near           apart          may
        p    -     -        -              zone/*         b1,out
        q    a1    -        -              -              -
    """,
    "a selector may leave pods out, and who lacks the label stays in": """
        pod  node  labels   near           apart          may
        p    -     -        -              host/app!=db   a1,out
        q    a1    app=db   -              -              -
        r    a2    app=web  -              -              -
        s    b1    -        -              -              -
    """,
    "or take in several": """
        pod  node  labels   near              apart       may
        p    -     -        host/app=db|web   -           a1,a2
        q    a1    app=db   -                 -           -
        r    a2    app=web  -                 -           -
        s    b1    app=api  -                 -           -
    """,
    "no selector means no pod": """
        pod  node  labels   near           apart          may
        p    -     -        zone/none      -              -
        q    a1    -        -              zone/none      -
    """,
    "pods of other namespaces are not meant": """
        pod  node  namespace  labels   near         apart        may
        p    -     ns         app=web  -            zone/app=db  a1,a2,b1,out
        q    a1    other      app=db   -            zone/app=web@other -
    """,
    "unless they are listed": """
        pod  node  namespace  labels   near         apart              may
        p    -     ns         app=web  -            zone/app=db@other  b1,out
        q    a1    other      app=db   -            -                  -
        r    b1    ns         app=db   -            -                  -
    """,
    "or found by their labels": """
        pod  node  namespace  labels   near         apart              may
        p    -     ns         app=web  -            zone/*@team=y      b1,out
        q    a1    other      app=db   -            -                  -
        r    b1    ns         app=db   -            -                  -
    """,
    "or all": """
        pod  node  namespace  labels   near         apart              may
        p    -     ns         app=web  -            host/app=db@*      a2,out
        q    a1    other      app=db   -            -                  -
        r    b1    ns         app=db   -            -                  -
    """,
    "the first of its kind counts only where it means its own namespace": """
        pod  node  namespace  labels   near                apart  may
        p    -     ns         app=web  zone/app=web@other  -      -
        q    a1    ns         app=web  -                   -      -
    """,
}


@pytest.mark.parametrize("table", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_where_a_pod_may_go(table: str) -> None:
    state = state_of(NODES, table)
    expected = table.strip().splitlines()[1].split()[-1]
    # All pods of these tables run and stay, so that both times are alike.
    for when in TIMES:
        found = takers(PodAffinity(state), state, waiting(state), when)
        assert ",".join(found) == ("" if expected == "-" else expected)


# The pod p, and one on the node a1 that is not ours to schedule; may: the nodes that take p.
FOREIGN = """
    labels   near         apart        its-labels  its-apart     may
    app=web  -            -            app=db      -             a1,a2,b1,out
    -        zone/app=db  -            app=db      -             a1,a2
    app=db   zone/app=db  -            app=db      -             a1,a2
    app=db   zone/app=db  -            app=web     -             a1,a2,b1
    -        -            zone/app=db  app=db      -             b1,out
    -        -            host/*       -           -             a2,b1,out
    app=web  -            -            -           zone/app=web  b1,out
    app=api  -            -            -           zone/app=web  a1,a2,b1,out
"""


@pytest.mark.parametrize("row", rows(FOREIGN), ids=lambda row: " ".join(row.values()))
def test_pods_of_other_schedulers_are_around_like_ours(row: dict[str, str]) -> None:
    theirs = f"node labels apart\n a1 {row['its-labels']} {row['its-apart']}"
    ours = f"pod node labels near apart\n p - {row['labels']} {row['near']} {row['apart']}"
    state = state_of(NODES, ours, theirs)
    assert takers(PodAffinity(state), state, waiting(state)) == row["may"].split(",")


def test_a_pod_of_another_scheduler_comes_and_goes_with_or_without_its_node() -> None:
    state = state_of(NODES, "pod node labels\n p - app=web")
    judge = PodAffinity(state)
    repels = {"apart": "zone/app=web"}
    assert judge.around(waiting(state), 0).allow_all
    state.apply(ForeignPodChanged(foreign(repels, "a1", "x")))
    assert takers(judge, state, waiting(state)) == ["b1", "out"]
    with state.trial():
        state.apply(ForeignPodChanged(foreign(repels, "b1", "y")))
        assert takers(judge, state, waiting(state)) == ["out"]
    with state.trial():
        state.apply(ForeignPodChanged(foreign(repels, "b1", "x")))  # the same pod, moved
        assert takers(judge, state, waiting(state)) == ["a1", "a2", "out"]
        state.apply(ForeignPodRemoved(PodId("x")))
        assert takers(judge, state, waiting(state)) == ["a1", "a2", "b1", "out"]
    state.apply(NodeRemoved("a1"))
    assert takers(judge, state, waiting(state)) == ["a2", "b1", "out"]
    state.apply(NodeAdded(node("a1", {"zone": "a"})))
    assert takers(judge, state, waiting(state)) == ["b1", "out"]


DEFECTS = """
    pod  node  labels   near         apart
    p    -     app=web  -            -
    n    -     app=web  zone/app=db  -
    f    -     app=api  zone/app=api -
    x    -     app=job  -            zone/app=db
    q    a1    app=db   -            host/app=web
"""


@pytest.mark.parametrize(
    ("pod", "on", "text"),
    [
        ("n", "out", "lack the label zone of the pod affinity"),
        ("n", "b1", "are in no zone with a pod that the pod affinity asks for"),
        ("n", "a1", "are in one host with a pod whose anti-affinity excludes this one"),
        ("n", "a2", None),
        ("f", "out", "lack the label zone of the pod affinity"),
        ("f", "b1", None),
        ("x", "a2", "are in one zone with a pod that the pod anti-affinity excludes"),
        ("p", "a1", "are in one host with a pod whose anti-affinity excludes this one"),
    ],
)
def test_what_is_told_goes_on_after_the_number_of_nodes(pod: str, on: str, text: str) -> None:
    state = state_of(NODES, DEFECTS)
    assert PodAffinity(state).around(waiting(state, pod), 0).defect(state.nodes[on]) == text


ONE_BY_ONE = """
    pod  node  labels   near         apart
    p    -     app=web  zone/app=db  -
    q    a1    app=db   -            -
"""
GONE = WorkloadStopped(workload=WorkloadName("q"), pods=(POD,))
DISPLACED = WorkloadDisplaced(workload=WorkloadName("q"), pods=(POD,))
OTHER_LABELS = WorkloadChanged(workload("q", {"labels": "app=api"}))
RESERVED = WorkloadReserved(workload=WorkloadName("q"), placements=(Placement(POD, "b1"),), at_ms=0)
# To the nodes that take p now, and later.
CHANGES: dict[str, tuple[list[Event], str, str]] = {
    "who is leaving is still there": (
        [WorkloadLeaving(workload=WorkloadName("q"), pods=(POD,))],
        "a1,a2",
        "",
    ),
    "who has left is not": ([GONE], "", ""),
    "who came back is where it is now": ([GONE, start("q", "b1")], "b1", "b1"),
    "who has a reservation is not there yet": ([GONE, RESERVED], "", "b1"),
    "and is there when it has started": ([GONE, RESERVED, GONE, start("q", "b1")], "b1", "b1"),
    "who was displaced is still there": ([DISPLACED], "a1,a2", ""),
    "and is in two places once it is placed elsewhere": (
        [DISPLACED, start("q", "b1")],
        "a1,a2,b1",
        "b1",
    ),
    "one at each time, if it has a reservation": ([DISPLACED, RESERVED], "a1,a2", "b1"),
    "until it has departed": (
        [
            DISPLACED,
            start("q", "b1"),
            WorkloadDeparted(workload=WorkloadName("q"), pods=(POD,)),
        ],
        "b1",
        "b1",
    ),
    "or gets other labels meanwhile": ([DISPLACED, OTHER_LABELS], "", ""),
    "a node moves to another zone with its pods": (
        [NodeChanged(node("a1", {"zone": "b"}))],
        "a1,b1",
        "a1,b1",
    ),
    "a node that is not known any more is nowhere": ([NodeRemoved("a1")], "", ""),
    "a pod gets other labels": ([OTHER_LABELS], "", ""),
}


@pytest.mark.parametrize(("events", "now", "later"), CHANGES.values(), ids=CHANGES.keys())
def test_what_was_remembered_follows_what_happens(
    events: list[Event], now: str, later: str
) -> None:
    state = state_of(NODES, ONE_BY_ONE)
    judge = PodAffinity(state)
    assert takers(judge, state, waiting(state)) == ["a1", "a2"]
    with state.trial():
        for event in events:
            state.apply(event)
            takers(judge, state, waiting(state))
        assert ",".join(sorted(takers(judge, state, waiting(state), "now"))) == now
        assert ",".join(sorted(takers(judge, state, waiting(state), "later"))) == later
    for when in TIMES:
        assert sorted(takers(judge, state, waiting(state), when)) == ["a1", "a2"]


def test_a_gang_of_one_pod_per_host_spreads_pod_by_pod() -> None:
    state = state_of(NODES)
    gang = workload("g", {"labels": "app=g", "apart": "host/app=g"}, count=3)
    state.apply(WorkloadAdded(gang))
    judge = PodAffinity(state)
    for ordinal, expected in enumerate([["a1", "a2", "b1"], ["a2", "b1"], ["b1"]]):
        assert takers(judge, state, gang) == [*expected, "out"]
        state.apply(start("g", expected[0], ordinal))
    assert takers(judge, state, gang) == ["out"]


def test_of_two_defects_the_same_is_told_whoever_came_first() -> None:
    table = """
        pod  node  labels   near  apart
        p    -     app=web  -     -
        q    -     -        -     zone/app=web
        r    -     -        -     host/app=web
    """
    for order in ("qr", "rq"):
        state = state_of(NODES, table)
        judge = PodAffinity(state)
        for name in order:
            state.apply(start(name, "a1"))
            judge.around(waiting(state), 0)
        told = judge.around(waiting(state), 0).defect(state.nodes["a1"])
        assert told == "are in one host with a pod whose anti-affinity excludes this one"


def test_who_is_gone_is_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job has a label of its own, and none of them comes back."""
    monkeypatch.setattr(pod_affinity, "_SPARE", 5)
    state = state_of(NODES)
    judge = PodAffinity(state)
    for at in range(50):
        own = f"job=j{at}"
        job = workload(f"w{at}", {"labels": own, "near": f"zone/{own}", "apart": f"host/{own}"})
        state.apply(WorkloadAdded(job))
        assert takers(judge, state, job) == ["a1", "a2", "b1"]
        state.apply(start(f"w{at}", "a1"))
        state.apply(WorkloadFinished(WorkloadName(f"w{at}")))
    # One job has 3 entries: its kind and two questions. 50 jobs would have 150.
    assert len(judge._domains._kinds) + len(judge._domains._asked) <= 5 + 3


def test_without_terms_nothing_is_asked_of_the_nodes() -> None:
    state = state_of(NODES, "pod node labels\n q a1 app=db\n p - app=web")
    judge = PodAffinity(state)
    assert judge.around(waiting(state), 0).allow_all
    # Nothing was counted either: a state without terms pays for none.
    assert judge._domains._counted == {}
    assert judge._domains._kinds == {}
