"""Decisions carry numbers that can be checked, survive a round trip, and can be carried out."""

import msgspec
import pytest

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import Placement, QueueChanged, WorkloadAdded
from fairlead.model.execution.executor import apply
from fairlead.model.plan import (
    Comparison,
    Evict,
    Move,
    Plan,
    Reason,
    Relation,
    Reserve,
    Start,
    Tally,
    Term,
    Wait,
)
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import numbered_pod
from tests.model.invariants import check_invariants
from tests.model.worlds import RESOURCES, node, queue, started, state_with, workload

TEAM = QueueName("team")
POD = numbered_pod("main", 0)

COMPARISONS: list[tuple[int | float | None, Relation, int | float | None, bool]] = [
    (187.5, "<", 250.0, True),
    (14 + 4, ">", 16, True),
    (12 + 4, ">", 16, False),
    (16, "<=", 16, True),
    (16, ">=", 16, True),
    (16, "<", 16, False),
    (99, "<=", None, True),  # nothing is above "no limit"
    (99, ">", None, False),
    (None, ">", 16, True),  # and "no limit" is above every number
    (None, "<=", 16, False),
]


@pytest.mark.parametrize(("left", "relation", "right", "holds"), COMPARISONS)
def test_a_comparison_knows_whether_it_holds(
    left: int | float | None, relation: Relation, right: int | float | None, holds: bool
) -> None:
    comparison = Comparison(
        queue=TEAM,
        axis=Axis("gpu"),
        left=(Term("allocated", left),),
        relation=relation,
        right=Term("limit", right),
    )
    assert comparison.holds() is holds


def test_a_plan_survives_json() -> None:
    over_limit = Comparison(
        queue=TEAM,
        axis=Axis("gpu", "spot"),
        left=(Term("allocated", 14), Term("request", 4)),
        relation=">",
        right=Term("limit", 16),
    )
    reason = Reason(
        code="OverLimit",
        queue=TEAM,
        comparisons=(over_limit,),
        tallies=(Tally(count=3, of=8, what="lack gpu"),),
    )
    place = (Placement(POD, "n1"),)
    name = WorkloadName("job")
    plan = Plan(
        taken_ms=5,
        decisions=(
            Start(workload=name, placements=place, charged=(TEAM,), reason=reason),
            Reserve(
                workload=name, placements=place, charged=(TEAM,), waits_for=(name,), reason=reason
            ),
            Evict(workload=name, pods=(POD,), beneficiary=None, reason=reason),
            Move(workload=name, origins=place, placements=place, beneficiary=name, reason=reason),
            Wait(workload=name, reason=reason),
        ),
    )
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_a_plan_is_carried_out_in_its_order() -> None:
    why = Reason(code="test")
    old, new, moved = WorkloadName("old"), WorkloadName("new"), WorkloadName("moved")
    state = state_with(
        queue("team"),
        *(node(name) for name in ("n1", "n2")),
        *(workload(name, "team") for name in (old, new, moved)),
    )
    state.apply(started(old, "n1"))
    state.apply(started(moved, "n1"))
    plan = Plan(
        taken_ms=7,
        decisions=(
            Evict(workload=old, pods=(POD,), beneficiary=new, reason=why),
            Move(
                workload=moved,
                origins=(Placement(POD, "n1"),),
                placements=(Placement(POD, "n2"),),
                beneficiary=new,
                reason=why,
            ),
            Start(workload=new, placements=(Placement(POD, "n1"),), charged=(TEAM,), reason=why),
            Wait(workload=old, reason=why),
        ),
    )
    apply(state, plan)
    assert state.runs[old].pods == {POD: Placed("n1", 0, "leaving")}
    assert state.runs[moved].pods == {POD: Placed("n2", 7)}
    assert state.runs[new].started_ms() == 7
    check_invariants(state)


def test_a_workload_that_moves_keeps_its_flavors() -> None:
    axes = QuotaAxes([Axis("cpu"), Axis("gpu", "spot")], counted_as={"nvidia.com/gpu": "gpu"})
    state = ClusterState(RESOURCES, axes)
    name = WorkloadName("job")
    state.apply(QueueChanged(queue("team")))
    state.apply(WorkloadAdded(workload(name, "team")))
    flavors = ({"nvidia.com/gpu": "spot"},)
    state.apply(msgspec.structs.replace(started(name, "n1"), flavors=flavors))
    assert state.sums[TEAM].allocated == [1000, 1000]
    move = Move(
        workload=name,
        origins=(Placement(POD, "n1"),),
        placements=(Placement(POD, "n2"),),
        beneficiary=None,
        reason=Reason(code="test"),
    )
    apply(state, Plan(taken_ms=7, decisions=(move,)))
    assert state.sums[TEAM].allocated == [1000, 1000]
    assert state.runs[name].pods == {POD: Placed("n2", 7)}
    check_invariants(state)
