"""Who is looked at first, who stands behind whom, and who comes back when."""

from fairlead.model.execution.executor import apply
from fairlead.model.plan import Start, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.plan_world import (
    CLASSICAL,
    FAIR,
    add,
    cluster,
    cycles,
    decided,
    finish,
    held,
    plan,
    told,
    with_queue,
)
from tests.policy.kueue.told_reason import told as told_reason

BY_CREATION = KueueSettings(requeued_by="Creation")


def strategy(name: str) -> str:
    return f"""
    name parent quota strategy
    q    -      4     {name}
    """


WAITS_FOR_TWO = """
name  queue asks priority created running
older q     2    0        0       0
big   q     3    5        1       -
small q     2    0        2       -
tiny  q     1    0        3       -
"""


def test_with_strict_fifo_a_head_that_does_not_fit_blocks_those_behind_it() -> None:
    """4 - 2 = 2 are free: big asks for 3, and small and tiny stand behind it."""
    planned = plan(cluster(strategy("StrictFIFO"), WAITS_FOR_TWO))
    assert told(planned) == [
        "wait big: WaitingForQuota",
        "wait small: BehindHead",
        "wait tiny: BehindHead",
    ]
    behind = decided(planned, "tiny")
    assert told_reason(behind.reason) == ["BehindHead q", "big"]


def test_with_best_effort_fifo_it_steps_aside_for_those_that_fit() -> None:
    """Small takes the 2 that are free, so that tiny finds nothing."""
    planned = plan(cluster(strategy("BestEffortFIFO"), WAITS_FOR_TWO))
    assert told(planned) == [
        "start small",
        "wait big: WaitingForQuota",
        "wait tiny: WaitingForQuota",
    ]


def test_who_stepped_aside_is_the_first_again_when_somebody_finishes() -> None:
    """Once older and small are done, 4 are free: big takes 3 and tiny the last one."""
    state = cluster(strategy("BestEffortFIFO"), WAITS_FOR_TWO)
    assert list(cycles(state, CLASSICAL))[-1] == [
        "wait big: WaitingForQuota",
        "wait tiny: WaitingForQuota",
    ]
    finish(state, "older")
    finish(state, "small")
    assert told(plan(state)) == ["start big", "start tiny"]


def test_who_stepped_aside_is_looked_at_again_when_quota_changes() -> None:
    """With 7 instead of 4, the 2 + 2 in use leave 3 for big."""
    state = cluster(strategy("BestEffortFIFO"), WAITS_FOR_TWO)
    list(cycles(state, CLASSICAL))
    with_queue(state, "q", guaranteed=(7,))
    assert told(plan(state)) == ["start big", "wait tiny: WaitingForQuota"]


def test_one_head_of_each_queue_in_each_cycle() -> None:
    """Of the 4 that no workload owns, a and b get 2 each, although all of a's came before b's."""
    state = cluster(
        """
        name parent quota
        POOL -      4
        a    POOL   0
        b    POOL   0
        """,
        """
        name queue asks created
        a1   a     1    1
        a2   a     1    2
        a3   a     1    3
        b1   b     1    4
        b2   b     1    5
        """,
    )
    assert told(plan(state)) == [
        "start a1",
        "start b1",
        "start a2",
        "start b2",
        "wait a3: WaitingForQuota",
    ]


def three(columns: str, *jobs: str) -> ClusterState:
    """One place, and jobs that all ask for it."""
    lines = "\n".join(jobs)
    return cluster("name parent quota\nq - 1", f"name queue asks {columns}\n{lines}")


def winner(state: ClusterState, settings: KueueSettings = CLASSICAL) -> str:
    (won,) = [each for each in plan(state, settings).decisions if isinstance(each, Start)]
    return won.workload


def test_the_more_important_is_first_however_late_it_came() -> None:
    state = three("priority created", "a q 1 0 0", "b q 1 7 9", "c q 1 6 1")
    assert winner(state) == "b"


def test_among_equals_the_oldest_is_first_and_then_the_name_decides() -> None:
    assert winner(three("created", "a q 1 5", "b q 1 3", "c q 1 4")) == "b"
    assert winner(three("created", "b q 1 3", "c q 1 3", "a q 1 4")) == "b"


def test_who_was_put_back_counts_from_its_eviction_or_from_its_creation() -> None:
    """A was created at 1 and put back at 8; b came at 5."""
    state = three("created requeued", "a q 1 1 8", "b q 1 5 -")
    assert winner(state) == "b"
    assert winner(state, BY_CREATION) == "a"


def test_who_was_preempted_goes_back_to_its_old_place() -> None:
    """Old gives way to vip at once and waits from 1 on, as before; new came at 2.

    When vip is done, old is before new.
    """
    state = cluster(
        """
        name parent quota within
        q    -      2     LowerPriority
        """,
        """
        name queue asks priority created running
        old  q     2    0        1       5
        new  q     2    0        2       -
        vip  q     2    9        3       -
        """,
    )
    assert list(cycles(state, CLASSICAL)) == [
        ["evict old for vip: InClusterQueue", "reserve vip until old left", "wait new: BehindHead"],
        ["start vip", "wait old: WaitingForQuota", "wait new: WaitingForQuota"],
        ["wait old: WaitingForQuota", "wait new: WaitingForQuota"],
    ]
    finish(state, "vip")
    assert told(plan(state)) == ["start old", "wait new: WaitingForQuota"]


PREEMPTION = """
name parent quota within
q    -      2     LowerPriority
"""


def test_who_preempts_stays_first_although_somebody_more_important_comes() -> None:
    """Low is evicted for mid. Before it has left, top comes: it stands behind mid.

    Mid gets what was made for it; only then top may ask, and asks mid, once mid has started.
    """
    state = cluster(
        PREEMPTION,
        """
        name queue asks priority created running
        low  q     2    0        1       1
        mid  q     2    5        2       -
        """,
    )
    apply(state, plan(state))
    add(state, {"name": "top", "queue": "q", "asks": "2", "priority": "9", "created": "3"})
    first, second, third, *_ = cycles(state, CLASSICAL)
    assert first == ["reserve mid until low left", "wait top: BehindHead"]
    assert second == [
        "start mid",
        "wait top: WaitingForQuota",
        "wait low: WaitingForQuota",
    ]
    assert third[0] == "evict mid for top: InClusterQueue"


def test_without_having_preempted_the_more_important_is_first() -> None:
    state = cluster(
        PREEMPTION,
        """
        name queue asks priority created
        mid  q     2    5        2
        top  q     2    9        3
        """,
    )
    assert told(plan(state)) == ["start top", "wait mid: WaitingForQuota"]


def test_who_preempted_and_can_no_longer_be_admitted_gives_up_its_place() -> None:
    """Mid preempted once and asks for 2; but now quota is 1, which small has the use of."""
    for name in ("StrictFIFO", "BestEffortFIFO"):
        state = cluster(
            f"""
            name parent quota strategy
            q    -      1     {name}
            """,
            """
            name  queue asks priority created preempting
            mid   q     2    5        1       yes
            small q     1    0        2       -
            """,
        )
        last = list(cycles(state, CLASSICAL))[-1]
        behind = ["wait small: BehindHead"] if name == "StrictFIFO" else []
        assert last == ["wait mid: ExceedsMaxQuota", *behind]


def test_who_is_leaving_is_not_told_again_and_its_quota_is_not_free_yet() -> None:
    """The second plan comes before low has left: mid still waits for it, and no workload starts."""
    state = cluster(
        PREEMPTION,
        """
        name queue asks priority created running
        low  q     2    0        1       1
        mid  q     2    5        2       -
        """,
    )
    planned = plan(state)
    assert told(planned) == ["evict low for mid: InClusterQueue", "reserve mid until low left"]
    apply(state, planned)
    assert told(plan(state)) == ["reserve mid until low left"]


def test_a_queue_without_a_cohort_has_its_own_quota_and_no_more() -> None:
    """Beside it 4 are idle, but there is nothing that both belong to."""
    state = cluster(
        """
        name  parent quota
        alone -      2
        rich  -      4
        """,
        """
        name queue asks
        a    alone 1
        b    alone 2
        """,
    )
    for settings in (CLASSICAL, FAIR):
        planned = plan(state, settings)
        assert told(planned) == ["start a", "wait b: WaitingForQuota"]
        assert told_reason(decided(planned, "b").reason) == [
            "WaitingForQuota alone",
            "any/gpu: request 2 > available 1 at alone",
            "alone has 1 any/gpu, 0 borrowed",
        ]


def test_those_behind_a_head_that_waits_for_victims_wait_behind_it() -> None:
    state = cluster(
        PREEMPTION,
        """
        name queue asks priority created running
        low  q     2    0        1       1
        mid  q     1    5        2       -
        next q     1    4        3       -
        """,
    )
    planned = plan(state)
    assert told(planned)[-1] == "wait next: BehindHead"
    behind = decided(planned, "next")
    assert isinstance(behind, Wait)
    assert behind.reason.names == ("mid",)


def test_once_the_victims_have_left_the_next_one_gets_the_rest() -> None:
    """Low held 2 and mid needs 1: the other one is for next."""
    state = cluster(
        PREEMPTION,
        """
        name queue asks priority created running
        low  q     2    0        1       1
        mid  q     1    5        2       -
        next q     1    4        3       -
        """,
    )
    list(cycles(state, CLASSICAL))
    assert held(state) == {"q": 2}
    assert "low" not in state.runs


def test_two_that_ask_for_the_same_in_two_queues_are_each_told_of_their_own() -> None:
    """Q may borrow 1, r nothing: what each can have at most differs."""
    state = cluster(
        """
        name parent quota borrow
        POOL -      5     -
        q    POOL   1     1
        r    POOL   1     0
        """,
        """
        name queue asks
        a    q     3
        b    r     3
        """,
    )
    planned = plan(state)
    assert [told_reason(decided(planned, name).reason)[1] for name in ("a", "b")] == [
        "any/gpu: request 3 > potential 2 at q",
        "any/gpu: request 3 > potential 1 at r",
    ]
