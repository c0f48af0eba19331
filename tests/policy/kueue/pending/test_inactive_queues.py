"""A ClusterQueue that is stopped, or lacks a flavor, is asked for nothing; its use still counts."""

from tests.policy.kueue.plan_world import FAIR, FAITHFUL, cluster, plan, told

QUEUES = """
name   parent quota within reclaim stop
ALL    -      0     -      -       -
lender ALL    4     Never  Any     -
user   ALL    0     Never  Any     {stop}
"""
WORKLOADS = """
name     queue  asks created running
borrows  user   4    0       1
takesback lender 4   2       -
"""


def test_nobody_is_asked_in_a_queue_that_is_on_hold() -> None:
    state = cluster(QUEUES.format(stop="Hold"), WORKLOADS)
    assert told(plan(state, FAIR)) == ["wait takesback: WaitingForQuota"]


def test_the_same_queue_gives_back_what_it_borrowed_when_it_is_not_stopped() -> None:
    state = cluster(QUEUES.format(stop="-"), WORKLOADS)
    assert told(plan(state, FAIR)) == [
        "evict borrows for takesback: InCohortReclamation",
        "reserve takesback until borrows left",
    ]


def test_what_is_drained_makes_room_for_who_was_promised_some() -> None:
    """With promises kept, whoever leaves counts as gone for what is planned next."""
    state = cluster(QUEUES.format(stop="HoldAndDrain"), WORKLOADS)
    drained = "evict borrows: ClusterQueueStopped"
    assert told(plan(state, FAIR)) == [drained, "reserve takesback until borrows left"]
    assert told(plan(state, FAITHFUL)) == [drained, "wait takesback: WaitingForQuota"]
