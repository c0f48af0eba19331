"""Quota freed by an eviction belongs to the workload that preempted for it."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.events import QueueChanged, WorkloadStopped
from fairlead.model.execution.executor import apply
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSets
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.policy.kueue.plan_world import (
    CLASSICAL,
    FAIR,
    FAITHFUL,
    NOW_MS,
    add,
    cluster,
    granted,
    held,
    memory_of,
    plan,
    told,
    with_catalogue,
    with_workload,
)

NO_LOOPS = KueueSettings(fair_sharing=True, options=KueueOptions(no_preemption_loops=True))
with_and_without_fair_sharing = pytest.mark.parametrize(
    "settings", [FAIR, CLASSICAL], ids=["fair sharing", "no fair sharing"]
)


def carry_out(state: ClusterState, settings: KueueSettings = FAIR) -> list[str]:
    """Return what is planned and let it happen; who is evicted takes its time."""
    planned = plan(state, settings)
    apply(state, planned)
    return told(planned)


def leave(state: ClusterState, name: str) -> None:
    """Let one who was evicted be gone."""
    pods = tuple(state.runs[WorkloadName(name)].pods)
    state.apply(WorkloadStopped(workload=WorkloadName(name), pods=pods))


def set_quota(state: ClusterState, name: str, amount: int) -> None:
    state.apply(QueueChanged(replace(state.queues[QueueName(name)], guaranteed=(amount,))))


def is_preempting(state: ClusterState, name: str) -> bool:
    return memory_of(state, name).preempting


# The side LEFT and the queue r own 2 each; what m has is all borrowed, first inside LEFT.
SIDES = """
name parent quota reclaim
ROOT -      0     -
LEFT ROOT   0     -
l    LEFT   2     Any
m    LEFT   0     Any
r    ROOT   2     Any
"""
THREE = """
name queue asks created running
m0   m     2    0       0
r0   r     3    1       -
l0   l     3    2       -
"""


@pytest.mark.parametrize(
    ("settings", "first"),
    [(FAITHFUL, "start r0"), (FAIR, "start l0"), (NO_LOOPS, "start l0")],
    ids=["as Kueue decides", "own mode", "without loops"],
)
def test_only_in_kueue_a_faster_head_takes_the_room_that_was_made_for_another(
    settings: KueueSettings, first: str
) -> None:
    """L0 would make l borrow 1 of 4 where m has borrowed 2, so m0 gives way to it.

    Then 4 are free, l0 and r0 want 3 each, and each would borrow 1: r0 is older.
    """
    state = cluster(SIDES, THREE)
    assert carry_out(state, settings)[:2] == [
        "evict m0 for l0: InCohortFairSharing",
        "reserve l0 until m0 left",
    ]
    leave(state, "m0")
    assert carry_out(state, settings)[0] == first


# Of 2, q and own have 1 each; low has borrowed that of own.
FASTER = (
    """
    name parent quota within        reclaim
    ROOT -      0     -             -
    q    ROOT   1     LowerPriority Any
    own  ROOT   1     Never         Never
    """,
    """
    name queue asks priority created running
    low  q     2    0        0       0
    top  q     2    9        1       -
    """,
)


@pytest.mark.parametrize(
    ("settings", "then"),
    [
        (FAITHFUL, ["start mine", "wait low: WaitingForQuota", "wait top: WaitingForQuota"]),
        (FAIR, ["start top", "wait low: WaitingForQuota", "wait mine: WaitingForQuota"]),
    ],
    ids=["as Kueue decides", "own mode"],
)
def test_who_comes_later_and_borrows_nothing_does_not_have_it_either(
    settings: KueueSettings, then: list[str]
) -> None:
    """Low leaves 2 for top. Meanwhile mine asks for the 1 that is own's.

    As Kueue decides mine is the first, since it borrows nothing. Then 2 - 1 < 2 is left for top,
    and low has left for nobody. Else own has to take its 1 back from top, for which it would need
    the right to reclaim.
    """
    state = cluster(*FASTER)
    assert carry_out(state, settings) == [
        "evict low for top: InClusterQueue",
        "reserve top until low left",
    ]
    add(state, {"name": "mine", "queue": "own", "asks": "1", "created": "2"})
    leave(state, "low")
    assert sorted(carry_out(state, settings)) == then


def test_it_is_kept_also_while_those_who_leave_take_their_time() -> None:
    state = cluster(SIDES, THREE)
    carry_out(state)
    for _ in range(3):
        assert carry_out(state)[0] == "reserve l0 until m0 left"
    leave(state, "m0")
    assert carry_out(state)[0] == "start l0"


def test_what_is_free_and_not_promised_is_given_out_meanwhile() -> None:
    """Of 4, m0 holds 2 and l0 will hold 3, so 1 is left then. 2 are free now: 1 of them can go."""
    state = cluster(SIDES, THREE)
    carry_out(state)
    add(state, {"name": "r1", "queue": "r", "asks": "1", "created": "3"})
    assert "start r1" in carry_out(state)
    leave(state, "m0")
    assert carry_out(state)[0] == "start l0"


def test_what_was_promised_is_not_given_out_meanwhile() -> None:
    """R1 asks for 2, and 2 are free now. But l0 needs 1 of them besides the 2 that m0 leaves."""
    state = cluster(SIDES, THREE)
    carry_out(state)
    add(state, {"name": "r1", "queue": "r", "asks": "2", "created": "0"})
    assert "start r1" not in carry_out(state)
    leave(state, "m0")
    assert carry_out(state)[0] == "start l0"


LENT = """
name parent quota reclaim
ROOT -      0     -
a    ROOT   4     Any
b    ROOT   0     Any
"""


def test_who_fits_only_when_they_have_left_waits_and_evicts_nobody() -> None:
    """B1 holds all 4 of a. A1 takes back 3 of them, and b2 wants the one that is left over."""
    state = cluster(
        LENT,
        """
        name queue asks created running
        b1   b     4    0       0
        a1   a     3    1       -
        b2   b     1    2       -
        """,
    )
    assert carry_out(state) == [
        "evict b1 for a1: InCohortReclamation",
        "reserve a1 until b1 left",
        "wait b2: WaitingForQuota",
    ]
    leave(state, "b1")
    assert carry_out(state) == ["start a1", "start b2", "wait b1: WaitingForQuota"]


def test_who_fits_only_when_they_have_left_is_passed_by_nobody() -> None:
    """1 is free, and 5 - 3 = 2 will be when b1 has left and a1 has its 3: enough for b2.

    B3 would fit now; but then 2 - 1 = 1 would be left for b2.
    """
    state = cluster(
        LENT.replace("ROOT -      0", "ROOT -      1"),
        """
        name queue asks created running
        b1   b     4    0       0
        a1   a     3    1       -
        """,
    )
    carry_out(state)
    add(state, {"name": "b2", "queue": "b", "asks": "2", "created": "2"})
    add(state, {"name": "b3", "queue": "b", "asks": "1", "created": "3"})
    assert "start b3" not in carry_out(state)
    leave(state, "b1")
    assert carry_out(state)[:2] == ["start a1", "start b2"]


def test_of_two_who_fit_when_others_have_left_one_may_fit_now() -> None:
    """1 is free now, and 5 - 3 = 2 will be: both b2 and c1 fit then, and one of them now."""
    state = cluster(
        LENT.replace("ROOT -      0", "ROOT -      1") + "c    ROOT   0     Any",
        """
        name queue asks created running
        b1   b     4    0       0
        a1   a     3    1       -
        """,
    )
    carry_out(state)
    add(state, {"name": "b2", "queue": "b", "asks": "1", "created": "2"})
    add(state, {"name": "c1", "queue": "c", "asks": "1", "created": "3"})
    started = [line for line in carry_out(state) if line.startswith("start")]
    assert started == ["start b2"]
    assert held(state) == {"a": 0, "b": 1, "c": 0}  # and 4 of b are leaving
    leave(state, "b1")
    assert carry_out(state)[:2] == ["start a1", "start c1"]


def test_who_has_its_room_already_leaves_the_rest_to_others() -> None:
    """A1 takes the 3 of b2 and d1 3 of the 4 of b1, which is slow to leave: 7 - 3 - 3 = 1 for c1.

    While b1 is there, 7 - 4 - 3 = 0 are left beside a1, so c1 has to wait for it.
    """
    state = cluster(
        """
        name parent quota reclaim
        ROOT -      0     -
        a    ROOT   3     Any
        b    ROOT   0     Any
        c    ROOT   0     Any
        d    ROOT   4     Any
        """,
        """
        name queue asks created running
        b1   b     4    0       0
        b2   b     3    1       1
        a1   a     3    2       -
        d1   d     3    3       -
        c1   c     1    4       -
        """,
    )
    carry_out(state)
    leave(state, "b2")
    now = carry_out(state)
    assert (now[0], "start c1" in now) == ("start a1", False)
    leave(state, "b1")
    assert sorted(carry_out(state)[:2]) == ["start c1", "start d1"]


def test_a_promise_is_given_up_when_others_hold_what_is_left() -> None:
    """A1 was promised 3 of 6. With 4 in all, of which c1 has the 2 that are c's own, 2 are left."""
    state = cluster(
        LENT + "c    ROOT   2     Any",
        """
        name queue asks created running
        b1   b     4    0       0
        c1   c     2    1       1
        a1   a     3    2       -
        """,
    )
    carry_out(state)
    assert is_preempting(state, "a1")
    set_quota(state, "a", 2)
    assert carry_out(state) == ["wait a1: WaitingForQuota"]
    assert not is_preempting(state, "a1")


def test_a_promise_is_given_up_when_the_quota_for_it_is_gone() -> None:
    """A1 was promised 3 of 4. With 2 there are too few for it, whoever leaves."""
    state = cluster(
        LENT,
        """
        name queue asks created running
        b1   b     4    0       0
        a1   a     3    1       -
        """,
    )
    carry_out(state)
    assert is_preempting(state, "a1")
    set_quota(state, "a", 2)
    assert carry_out(state) == ["wait a1: ExceedsMaxQuota"]
    assert not is_preempting(state, "a1")


def test_a_promise_that_was_given_up_keeps_nobody_else_from_the_room() -> None:
    state = cluster(
        LENT,
        """
        name queue asks created running
        b1   b     4    0       0
        a1   a     3    1       -
        a2   a     2    2       -
        """,
    )
    carry_out(state)
    set_quota(state, "a", 2)
    carry_out(state)
    leave(state, "b1")
    assert "start a2" in carry_out(state)


def two_sets_and_two_flavors() -> ClusterState:
    """Of 2 red, r has 2. Of 1 blue, the first pod of w gets 1; so its second one needs r's red."""
    return cluster(
        """
        name parent quota within
        q    -      2,1   LowerPriority
        """,
        """
        name queue asks priority created running on
        r    q     2    0        0       0       red
        w    q     1+2  5        1       -       -
        """,
        "gpu:red,blue",
    )


@with_and_without_fair_sharing
def test_each_pod_set_gets_the_flavor_that_it_was_promised(settings: KueueSettings) -> None:
    """Looked at anew when r has left, the 1 would go to red: 2 - 1 = 1 < 2, and 2 > 1 of blue."""
    state = two_sets_and_two_flavors()
    promised = plan(state, settings)
    assert told(promised) == ["evict r for w: InClusterQueue", "reserve w until r left"]
    assert granted(promised, "w") == ["1 on blue", "1 on red"]
    carry_out(state, settings)
    leave(state, "r")
    kept = plan(state, settings)
    assert told(kept) == ["start w", "wait r: WaitingForQuota"]
    assert granted(kept, "w") == ["1 on blue", "1 on red"]


@with_and_without_fair_sharing
def test_what_was_promised_stays_the_same_while_others_leave(settings: KueueSettings) -> None:
    """X would fit into the 1 of blue, which no workload uses yet. But it is w's."""
    state = two_sets_and_two_flavors()
    carry_out(state, settings)
    add(state, {"name": "x", "queue": "q", "asks": "1", "created": "2"}, "gpu:red,blue")
    meanwhile = plan(state, settings)
    assert told(meanwhile)[0] == "reserve w until r left"
    assert granted(meanwhile, "w") == ["1 on blue", "1 on red"]
    assert "start x" not in told(meanwhile)  # 2 + 1 - (1 + 2) = 0


def test_a_promise_for_other_pods_counts_no_more() -> None:
    """W has one pod of 2 by now, which has to wait until r has left: 2 > 1 of blue."""
    state = two_sets_and_two_flavors()
    carry_out(state)
    one = replace(state.workloads[WorkloadName("w")].pod_sets[1], name="main")
    with_workload(state, "w", pod_sets=PodSets((one,)), min_count=1)
    assert "start w" not in carry_out(state)
    leave(state, "r")
    assert granted(plan(state, FAIR), "w") == ["1 on red"]


@with_and_without_fair_sharing
def test_nobody_is_promised_one_flavor_and_takes_that_of_another(settings: KueueSettings) -> None:
    """V1 has the 2 red of qb, v2 the 2 blue of qa. P1 must not ask v1, who is more important.

    When both have left, red comes first and is free for p1 too; p2 can run nowhere else.
    """
    state = cluster(
        """
        name parent quota within reclaim
        R    -      0,0   -      -
        qa   R      0,2   Never  LowerPriority
        qb   R      2,0   Never  Any
        qv   R      0,0   Never  Never
        """,
        """
        name queue asks priority created running on   kind
        v1   qv    2    10       0       0       red  -
        v2   qv    2    0        0       0       blue -
        p1   qa    2    5        1       -       -    -
        p2   qb    2    0        2       -       -    red
        """,
        "gpu:red,blue",
    )
    labelled = [ResourceFlavor(name=n, node_labels=(("kind", n),)) for n in ("red", "blue")]
    with_catalogue(state, flavors={flavor.name: flavor for flavor in labelled})
    assert carry_out(state, settings) == [
        "evict v2 for p1: InCohortReclamation",
        "reserve p1 until v2 left",
        "evict v1 for p2: InCohortReclamation",
        "reserve p2 until v1 left",
    ]
    leave(state, "v1")
    leave(state, "v2")
    kept = plan(state, settings)
    assert told(kept)[:2] == ["start p1", "start p2"]
    assert (granted(kept, "p1"), granted(kept, "p2")) == (["1 on blue"], ["1 on red"])
    carry_out(state, settings)
    assert carry_out(state, settings) == ["wait v1: WaitingForQuota", "wait v2: WaitingForQuota"]


@with_and_without_fair_sharing
def test_who_was_promised_fewer_pods_gets_no_more_of_them(settings: KueueSettings) -> None:
    """4 in all, 2 of qa and 2 of qb. P1 may ask v2 only: so 2 of its 4 pods are promised to it.

    When both have left there is room for 4, but 2 of that were promised to p2.
    """
    state = cluster(
        """
        name parent quota within reclaim
        R    -      0     -      -
        qa   R      2     Never  LowerPriority
        qb   R      2     Never  Any
        qv   R      0     Never  Never
        """,
        """
        name queue asks  priority created running
        v1   qv    2     10       0       0
        v2   qv    2     0        0       0
        p1   qa    2-4x1 5        1       -
        p2   qb    2     0        2       -
        """,
    )
    assert carry_out(state, settings) == [
        "evict v2 for p1: InCohortReclamation",
        "reserve p1 until v2 left",
        "evict v1 for p2: InCohortReclamation",
        "reserve p2 until v1 left",
    ]
    leave(state, "v1")
    leave(state, "v2")
    kept = plan(state, settings)
    assert told(kept)[:2] == ["start p1", "start p2"]
    assert granted(kept, "p1") == ["2 on any"]
    carry_out(state, settings)
    assert carry_out(state, settings) == ["wait v1: WaitingForQuota", "wait v2: WaitingForQuota"]


def test_the_clock_plays_no_part() -> None:
    state = cluster(SIDES, THREE)
    carry_out(state)
    leave(state, "m0")
    soon, late = plan(state, FAIR, NOW_MS), plan(state, FAIR, NOW_MS * 1000)
    assert soon.decisions == late.decisions


@pytest.mark.parametrize("count", [2, 4])
def test_a_promise_of_more_or_fewer_pods_than_there_must_be_counts_no_more(count: int) -> None:
    """W was promised 3 pods of 1. With 2 pods there is none left for the third, 4 need all of 4."""
    state = cluster(
        """
        name parent quota within
        q    -      4     LowerPriority
        """,
        """
        name queue asks priority created running
        r    q     4    0        0       0
        w    q     3x1  5        1       -
        """,
    )
    carry_out(state)
    changed = replace(state.workloads[WorkloadName("w")].pod_sets[0], count=count, min_count=count)
    with_workload(state, "w", pod_sets=PodSets((changed,)), min_count=count)
    carry_out(state)
    leave(state, "r")
    assert granted(plan(state, FAIR), "w") == [f"{count} on any"]
