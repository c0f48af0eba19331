"""Pods around count at their time: some are here only now, some only later."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    Event,
    ForeignPodChanged,
    Placement,
    WorkloadDisplaced,
    WorkloadLeaving,
    WorkloadReserved,
)
from fairlead.placement.pod_affinity import PodAffinity
from tests.placement.affinity_takers import NODES, POD, TIMES, takers, waiting
from tests.placement.affinity_world import foreign, start, state_of
from tests.text_table import rows

# The pod p, and one on the node a1 that is around at one of the two times, or at both;
# now, later: the nodes that take p at that time.
TWO_TIMES = """
    labels   near         apart        its-labels  its-apart     it        now          later
    -        zone/app=db  -            app=db      -             runs      a1,a2        a1,a2
    -        zone/app=db  -            app=db      -             leaves    a1,a2        -
    -        zone/app=db  -            app=db      -             departs   a1,a2        -
    -        zone/app=db  -            app=db      -             reserves  -            a1,a2
    app=db   zone/app=db  -            app=db      -             leaves    a1,a2        a1,a2,b1
    app=db   zone/app=db  -            app=db      -             departs   a1,a2        a1,a2,b1
    app=db   zone/app=db  -            app=db      -             reserves  a1,a2,b1     a1,a2
    -        -            zone/app=db  app=db      -             runs      b1,out       b1,out
    -        -            zone/app=db  app=db      -             leaves    b1,out       a1,a2,b1,out
    -        -            zone/app=db  app=db      -             departs   b1,out       a1,a2,b1,out
    -        -            zone/app=db  app=db      -             reserves  a1,a2,b1,out b1,out
    app=web  -            -            -           host/app=web  runs      a2,b1,out    a2,b1,out
    app=web  -            -            -           host/app=web  leaves    a2,b1,out    a1,a2,b1,out
    app=web  -            -            -           host/app=web  departs   a2,b1,out    a1,a2,b1,out
    app=web  -            -            -           host/app=web  reserves  a1,a2,b1,out a2,b1,out
"""


def let_it(happen: str) -> list[Event]:
    """Return the events after which q is on a1 and *happen* is what it does."""
    name, pods = WorkloadName("q"), (POD,)
    place = (Placement(POD, "a1"),)
    begin = start("q", "a1")
    events: dict[str, list[Event]] = {
        "runs": [begin],
        "leaves": [begin, WorkloadLeaving(workload=name, pods=pods)],
        "departs": [begin, WorkloadDisplaced(workload=name, pods=pods)],
        "reserves": [WorkloadReserved(workload=name, placements=place, at_ms=0)],
    }
    return events[happen]


@pytest.mark.parametrize("row", rows(TWO_TIMES), ids=lambda row: " ".join(row.values()))
def test_each_pod_is_around_at_its_time(row: dict[str, str]) -> None:
    table = f"""
        pod  node  labels              near         apart
        p    -     {row["labels"]}     {row["near"]} {row["apart"]}
        q    -     {row["its-labels"]} -            {row["its-apart"]}
    """
    state = state_of(NODES, table)
    judge = PodAffinity(state)
    takers(judge, state, waiting(state))
    for event in let_it(row["it"]):
        state.apply(event)
    for when in TIMES:
        assert (",".join(takers(judge, state, waiting(state), when)) or "-") == row[when]


# Nobody else displaces pods, or makes reservations.
OF_OTHERS = [row for row in rows(TWO_TIMES) if row["it"] in ("runs", "leaves")]


@pytest.mark.parametrize("row", OF_OTHERS, ids=lambda row: " ".join(row.values()))
def test_a_pod_of_another_scheduler_is_around_until_it_has_left(row: dict[str, str]) -> None:
    ours = f"pod node labels near apart\n p - {row['labels']} {row['near']} {row['apart']}"
    state = state_of(NODES, ours)
    its = foreign({"labels": row["its-labels"], "apart": row["its-apart"]}, "a1")
    state.apply(ForeignPodChanged(replace(its, leaving=row["it"] == "leaves")))
    for when in TIMES:
        assert (",".join(takers(PodAffinity(state), state, waiting(state), when)) or "-") == row[
            when
        ]


def test_one_pod_that_leaves_takes_no_other_of_its_kind_along() -> None:
    """Of two that p may be near one goes; a third of them comes to another zone later."""
    table = """
        pod  node  labels  near
        p    -     -       zone/app=db
        q    a1    app=db  -
        r    a1    app=db  -
        s    -     app=db  -
    """
    state = state_of(NODES, table)
    judge = PodAffinity(state)
    state.apply(WorkloadLeaving(workload=WorkloadName("q"), pods=(POD,)))
    place = (Placement(POD, "b1"),)
    state.apply(WorkloadReserved(workload=WorkloadName("s"), placements=place, at_ms=0))
    assert takers(judge, state, waiting(state), "now") == ["a1", "a2"]
    assert takers(judge, state, waiting(state), "later") == ["a1", "a2", "b1"]
