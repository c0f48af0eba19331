"""In which order workloads wait whose LocalQueues have used much or little of late."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Start
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage, local_queue_usage
from fairlead.policy.kueue.pending.queue import pending_order
from fairlead.policy.kueue.settings import AdmissionFairSharing, KueueSettings
from tests.policy.kueue.plan_world import NAMESPACE, plan, with_catalogue
from tests.policy.kueue.use_world import BILLION, BY_USE, QUEUE, order, uses_of, world

ORDERS = {
    "who used less comes first, whatever the priority": (
        """
        name used  at     weight
        a    2000  10000  1
        b    1000  10000  1
        """,
        """
        name queue asks priority created door
        a1   q     1    9        1       a
        b1   q     1    0        2       b
        """,
        "b1 a1",
    ),
    "where uses are equal priority, time and name decide": (
        """
        name used  at     weight
        a    2000  10000  1
        b    2000  10000  1
        """,
        """
        name queue asks priority created door
        a1   q     1    0        2       a
        b2   q     1    0        2       b
        b1   q     1    0        1       b
        a2   q     1    3        9       a
        """,
        "a2 b1 a1 b2",
    ),
    "the weight divides what was used": (
        # 3000 / 3 = 1000 < 2000 / 1
        """
        name used  at     weight
        a    2000  10000  1
        b    3000  10000  3
        """,
        """
        name queue asks priority created door
        a1   q     1    0        1       a
        b1   q     1    0        2       b
        """,
        "b1 a1",
    ),
    "who has no weight comes last, also with no use": (
        """
        name used  at     weight
        a    0     10000  0
        b    9000  10000  1
        c    5000  10000  0
        """,
        """
        name queue asks priority created door
        c1   q     1    1        1       c
        a1   q     1    9        1       a
        b1   q     1    0        2       b
        """,
        "b1 a1 c1",  # of those without weight the more important is first
    ),
    "older use has faded": (
        # 4000 of one half-life ago is 2000 now, which is less than 3000 of now.
        """
        name used  at     weight
        a    4000  0      1
        b    3000  10000  1
        """,
        """
        name queue asks priority created door
        b1   q     1    0        1       b
        a1   q     1    0        2       a
        """,
        "a1 b1",
    ),
    "what runs counts since the last update": (
        # a holds 8 devices (8000): 0.5 x 0 + 0.5 x 8000 = 4000 > 3000
        """
        name used  at     weight
        a    0     0      1
        b    3000  10000  1
        """,
        """
        name queue asks priority created door running
        run  q     8000 0        0       a    0
        a1   q     1    0        1       a    -
        b1   q     1    0        2       b    -
        """,
        "b1 a1",
    ),
    "without a last update nothing counts but what is written": (
        """
        name used  at     weight
        a    0     -      1
        b    1     -      1
        """,
        """
        name queue asks priority created door running
        run  q     8000 0        0       a    0
        b1   q     1    0        1       b    -
        a1   q     1    0        2       a    -
        """,
        "a1 b1",
    ),
    "a last update in the future is of now": (
        # Of a 2000 count; with what runs it would come to nearly 8000.
        """
        name used  at     weight
        a    2000  99999  1
        b    2001  10000  1
        """,
        """
        name queue asks priority created door running
        run  q     8000 0        0       a    0
        a1   q     1    0        1       a    -
        b1   q     1    0        0       b    -
        """,
        "a1 b1",
    ),
    "one for which others give way stays the first": (
        """
        name used  at     weight
        a    2000  10000  1
        b    1000  10000  1
        """,
        """
        name queue asks priority created door preempting
        a1   q     1    0        2       a    yes
        a2   q     1    5        1       a    no
        b1   q     1    9        1       b    no
        """,
        "a1 b1 a2",
    ),
}


@pytest.mark.parametrize(("doors", "workloads", "expected"), ORDERS.values(), ids=ORDERS)
def test_they_stand_by_the_use_of_their_local_queues(
    doors: str, workloads: str, expected: str
) -> None:
    assert order(world(doors, workloads)) == expected.split()


def test_the_worked_example_of_ten_cores() -> None:
    """Half-life 10 minutes, samples every 5: 2.928932188 at once, 6.464466094 10 minutes later."""
    rules = AdmissionFairSharing(half_life_ms=600_000, sampling_interval_ms=300_000)
    settings = KueueSettings(admission_fair_sharing=rules)
    doors = "name used at weight\na 0 0 1"
    pending = "name queue asks priority created door running\nw q 10000 0 0 a {}"
    local_usage = local_queue_usage(world(doors, pending.format("-")), settings, 0)
    assert local_usage is not None
    assert local_usage.rank(WorkloadName("w")) == (False, Fraction(0))
    local_usage.admit(WorkloadName("w"), ((0, 10_000),))
    at_once = local_usage.rank(WorkloadName("w"))
    assert at_once == (False, Fraction(2_928_932_188, BILLION))
    state = world(doors, pending.format("0"))
    name = f"{NAMESPACE}/a"
    written = replace(
        state.catalogue.local_queues[name], consumed_billionths=(("gpu", 2_928_932_188),)
    )
    with_catalogue(state, local_queues={name: written})
    later = local_queue_usage(state, settings, 600_000)
    assert later is not None
    assert later.rank(WorkloadName("w")) == (False, Fraction(6_464_466_094, BILLION))


door_rows = st.tuples(st.integers(0, 3), st.sampled_from(["-", "0", "5000"]), st.integers(0, 2))
workload_rows = st.tuples(
    st.integers(0, 2), st.integers(1, 4), st.integers(0, 1), st.integers(0, 2), st.booleans()
)


def drawn_world(
    doors: list[tuple[int, str, int]],
    workloads: list[tuple[int, int, int, int, bool]],
    quota: int,
    turn: int,
) -> ClusterState:
    """Return a world whose workloads are taken in beginning with that of number *turn*."""
    lines = [f"d{at} {used} {since} {weight}" for at, (used, since, weight) in enumerate(doors)]
    pending = [
        f"w{at} q {asks} {priority} {created} d{door} {'1' if runs else '-'}"
        for at, (door, asks, priority, created, runs) in enumerate(workloads)
    ]
    turn %= len(pending)
    head = "name queue asks priority created door running"
    return world(
        "\n".join(["name used at weight", *lines]),
        "\n".join([head, *pending[turn:], *pending[:turn]]),
        quota,
        "LowerPriority",
    )


@given(
    st.lists(door_rows, min_size=3, max_size=3),
    st.lists(workload_rows, min_size=1, max_size=7),
    st.integers(0, 12),
    st.integers(0, 6),
)
def test_each_head_is_who_a_plain_look_at_all_finds(
    doors: list[tuple[int, str, int]],
    workloads: list[tuple[int, int, int, int, bool]],
    quota: int,
    turn: int,
) -> None:
    """The line that is sorted anew before every admission has the one admitted next in front.

    Those who were passed over before do not fit: of the same plan nobody leaves, so they never do.
    """
    state = drawn_world(doors, workloads, quota, turn)
    planned = plan(state, BY_USE)
    assert planned == plan(drawn_world(doors, workloads, quota, 0), BY_USE)
    local_usage = uses_of(state)
    left = order(state)
    for before, behind in pairwise(left):
        assert _stands_before(state, local_usage, before, behind)
    beneficiaries = {each.workload for each in planned.decisions if not isinstance(each, Start)}
    for name in [str(each.workload) for each in planned.decisions if isinstance(each, Start)]:
        for ahead in left[: left.index(name)]:
            assert ahead in beneficiaries, (name, ahead)
        left.remove(name)
        asks = state.workloads[WorkloadName(name)].pod_sets[0].requests[0]
        local_usage.admit(WorkloadName(name), ((0, asks),))
        left = list(pending_order(state, QUEUE, BY_USE, local_usage))
        left = [each for each in left if _not_started(planned.decisions, each, name)]


def _not_started(decisions: tuple[object, ...], name: str, last: str) -> bool:
    """Tell whether a workload is not among those that the plan starts up to *last*."""
    starts = [str(each.workload) for each in decisions if isinstance(each, Start)]
    return name not in starts[: starts.index(last) + 1]


def _stands_before(state: ClusterState, local_usage: LocalQueueUsage, one: str, other: str) -> bool:
    """The rule once more, question by question."""
    first, second = state.workloads[WorkloadName(one)], state.workloads[WorkloadName(other)]
    used, other_used = local_usage.rank(first.name), local_usage.rank(second.name)
    if used != other_used:
        return used < other_used
    if first.priority != second.priority:
        return first.priority > second.priority
    return (first.created_ms, one) < (second.created_ms, other)
