"""What workloads that wait are told in whole plans, and who need not wait although others leave."""

from fairlead.explain.text.reasons import reason_text
from fairlead.model.events import WorkloadLeaving
from fairlead.model.plan import Plan, Wait
from fairlead.model.state import ClusterState
from tests.policy.kueue.plan_world import CLASSICAL, FAIR, FAITHFUL, cluster, granted, plan, told


def wait_of(planned: Plan, name: str) -> Wait:
    (found,) = (each for each in planned.decisions if each.workload == name)
    assert isinstance(found, Wait)
    return found


def leave(state: ClusterState, name: str) -> None:
    """Let a workload be evicted before the plan."""
    (run,) = (run for each, run in state.runs.items() if each == name)
    (workload,) = (each for each in state.runs if each == name)
    state.apply(WorkloadLeaving(workload=workload, pods=tuple(run.pods)))


def test_what_a_blocked_head_keeps_is_told_as_kept() -> None:
    """Large asks for 4 of 4, of which 2 are used, so it keeps the other 2; small would fit in 2."""
    state = cluster(
        """
        name   parent quota reclaim       strategy
        ROOT   -      0     -             -
        strict ROOT   4     LowerPriority StrictFIFO
        other  ROOT   0     LowerPriority -
        """,
        """
        name  queue  asks priority created running
        runs  strict 2    0        0       0
        large strict 4    0        1       -
        small other  1    0        2       -
        """,
    )
    small = wait_of(plan(state, CLASSICAL), "small")
    assert (small.reason.code, small.reason.names) == ("QuotaIsKept", ("large",))
    assert [each.queue for each in small.reason.held] == ["strict"]
    assert small.reason.held[0].amount == 2


LEAVING = (
    """
    name   parent quota reclaim
    ROOT   -      0     -
    owner  ROOT   4     Any
    guest  ROOT   0     -
    other  ROOT   0     -
    """,
    """
    name   queue asks created running
    lent   guest 4    0       0
    taker  owner 3    1       -
    small  other 1    2       -
    large  other 2    3       -
    """,
)


def test_what_others_leave_is_told_as_kept_for_whom_they_leave() -> None:
    """Lent leaves 4, of which taker has 3: 4 - 3 = 1 is left for small, and large lacks 1."""
    planned = plan(cluster(*LEAVING), FAIR)
    assert told(planned) == [
        "evict lent for taker: InCohortReclamation",
        "reserve taker until lent left",
        "wait small: WaitingForQuota",  # it had its turn before taker, and has one again soon
        "wait large: QuotaIsKept",
    ]
    large = wait_of(planned, "large").reason
    assert large.names == ("taker",)
    assert "waits for quota at cohort/ROOT, which is kept for taker" in reason_text(large)
    (compared,) = large.comparisons
    assert [term.amount for term in (*compared.left, compared.right)] == [2, 1]
    assert [(each.queue, each.amount) for each in large.held] == [("guest", 4)]  # until it left


def test_where_nothing_is_kept_who_waits_is_told_who_has_the_quota_now() -> None:
    planned = plan(cluster(*LEAVING), FAITHFUL)
    for name in ("small", "large"):
        reason = wait_of(planned, name).reason
        assert (reason.code, reason.names) == ("WaitingForQuota", ())
        assert [(each.queue, each.amount) for each in reason.held] == [("guest", 4)]


def test_who_would_not_fit_either_way_is_told_who_has_the_quota_now() -> None:
    """Without lent 4 - 2 = 2 are left, too few for large, whether taker has them or not."""
    state = cluster(
        LEAVING[0],
        """
        name   queue asks created running
        mine   owner 2    0       0
        lent   guest 2    0       0
        taker  owner 2    1       -
        large  other 3    2       -
        """,
    )
    planned = plan(state, FAIR)
    assert told(planned)[:2] == [
        "evict lent for taker: InCohortReclamation",
        "reserve taker until lent left",
    ]
    assert wait_of(planned, "large").reason.code == "WaitingForQuota"


def test_a_queue_that_keeps_its_quota_to_itself_is_told_that_it_uses_it_itself() -> None:
    state = cluster(
        """
        name parent quota lend within
        ALL  -      0     -    -
        own  ALL    4     0    Never
        """,
        """
        name queue asks created running
        chat own   3    0       0
        want own   2    1       -
        """,
    )
    want = wait_of(plan(state, FAIR), "want")
    assert [(each.queue, each.amount) for each in want.reason.held] == [("own", 3)]
    assert "held by own" in reason_text(want.reason)


def test_who_would_borrow_and_may_not_take_for_that_is_told_so() -> None:
    """X uses 1 of its 2 and asks for 3 more, for which it may not take from others."""
    queues = """
        name parent quota reclaim
        ROOT -      0     -
        x    ROOT   2     {reclaim}
        y    ROOT   2     Any
        """
    workloads = """
        name queue asks created running
        mine x     1    0       0
        your y     3    0       0
        want x     3    1       -
        """
    for settings, reclaim in ((CLASSICAL, "Any"), (FAIR, "Never")):
        state = cluster(queues.format(reclaim=reclaim), workloads)
        (claim,) = wait_of(plan(state, settings), "want").claims
        assert claim.reason.code == "BorrowingForbidden"
        (compared,) = claim.reason.comparisons
        assert [term.amount for term in (*compared.left, compared.right)] == [1, 3, 2]


def test_who_fits_at_once_with_fewer_pods_starts_although_others_leave() -> None:
    """2 of 4 are free and 2 will be: with 2 of its pods elastic starts now."""
    state = cluster(
        """
        name quota
        x    4
        """,
        """
        name    queue asks created running
        leaving x     2    0       0
        elastic x     1-4x1 1      -
        """,
    )
    leave(state, "leaving")
    for settings in (FAIR, FAITHFUL):
        planned = plan(state, settings)
        assert told(planned) == ["start elastic"]
        assert granted(planned, "elastic") == ["2 on any"]


def test_who_fits_once_others_have_left_anyway_has_a_promise() -> None:
    state = cluster(
        """
        name quota
        x    4
        """,
        """
        name    queue asks created running
        leaving x     4    0       0
        next    x     3    1       -
        """,
    )
    leave(state, "leaving")
    assert told(plan(state, FAIR)) == ["reserve next until leaving left"]
    assert told(plan(state, FAITHFUL)) == ["wait next: WaitingForQuota"]
