"""A job with pending pods may be a victim before it tries for those pods itself."""

from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement, WorkloadStarted
from fairlead.model.plan import Reserve, Start
from fairlead.model.workload import numbered_pod
from fairlead.policy.kai.actions.cycle import KaiCycle
from fairlead.policy.kai.policy import fast_backend
from fairlead.policy.kai.settings import KaiSettings
from tests.model.invariants import check_invariants
from tests.policy.kai.actions.test_look_ahead import NOW_MS, world


def test_a_pod_that_joined_as_a_victims_does_not_try_for_another_place() -> None:
    """The second pod of p0 runs on n0, its first one waits; n0 has 1 + 2 + 1 of 4 in use.

    The other pod of p1 is due 2 GPUs there, so r0 and p0 have to leave. In the place that r0 had on
    n1 comes the pod of p0 that waited, since it is first by name. When the turn of p0 comes,
    nothing of it is left to claim for.
    """
    state = world(
        "n0=4 n1=3",
        "d1=0 t2=4",
        """
        job  queue  pods  min  gpu  priority  at
        r0   d1     3     3    1    75        n1,n1,n0
        r1   d1     1     1    1    75        n1
        p0   d1     2     1    1    50        -
        p1   t2     2     1    2    50        n0
        r2   d1     1     1    2    50        -
        r3   d1     1     1    1    100       -
        """,
    )
    second = (Placement(numbered_pod("p0", 1), "n0"),)
    state.apply(WorkloadStarted(workload=WorkloadName("p0"), placements=second, at_ms=0))
    with state.trial():
        decisions = KaiCycle(
            state, KaiSettings(), NOW_MS, fast_backend(state, KaiSettings())
        ).decisions()
        check_invariants(state)
    places = [
        (each.workload, place.pod)
        for each in decisions
        if isinstance(each, Start | Reserve)
        for place in each.placements
    ]
    assert len(places) == len(set(places))
