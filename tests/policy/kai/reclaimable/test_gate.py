"""Which jobs may take from other queues at all; with the numbers that say why not."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.axes import Amounts, Axis, Limits, QueueName
from fairlead.model.plan import Comparison, Reason, Term
from fairlead.policy.kai.fair_share.capacity import over_quota
from fairlead.policy.kai.reclaimable import first_over, reclaim_refusal
from tests.policy.kai.reclaim_world import (
    Numbers,
    amounts,
    bounds,
    share_of,
    state_of,
    table_queues,
    vectors,
)

LEAF = QueueName("leaf")

# The queue of the job is the last of the table; amounts are cpu+gpu. The request, the answer.
SCENARIOS = {
    # 2 + 2 = 4 of gpu, which are its share
    "a fair share may be reached": (
        "0+2",
        "passes",
        """
        queue parent quota fair holds fixed
        leaf  -      0+0   0+4  0+2   0+0
        """,
    ),
    # 3 + 2 > 4
    "and not passed": (
        "0+2",
        "OverFairShare gpu",
        """
        queue parent quota fair holds fixed
        leaf  -      0+0   0+4  0+3   0+0
        """,
    ),
    # 5 + 0 > 4 of cpu, of which the job wants nothing
    "what it does not ask for counts too": (
        "0+1",
        "OverFairShare cpu",
        """
        queue parent quota fair holds fixed
        leaf  -      0+0   4+4  5+0   0+0
        """,
    ),
    # 5 + 1 > 4 of cpu, 4 + 1 > 4 of gpu
    "all that is over is told": (
        "1+1",
        "OverFairShare cpu gpu",
        """
        queue parent quota fair holds fixed
        leaf  -      0+0   4+4  5+4   0+0
        """,
    ),
    # the parent holds 9 of 1; the leaf 1 + 1 <= 2
    "only its own queue is asked": (
        "0+1",
        "passes",
        """
        queue parent quota fair holds fixed
        dept  -      0+0   0+1  0+9   0+9
        leaf  dept   0+0   0+2  0+1   0+0
        """,
    ),
    # no quota at all: 0 + 1 > 0, which matters to what cannot be preempted alone
    "what can be preempted needs no quota": (
        "0+1",
        "passes",
        """
        queue parent quota fair holds fixed
        leaf  -      0+0   0+4  0+0   0+0
        """,
    ),
    # 1 + 2 = 3 of gpu are the quota; 3 + 2 > 3 are held in all, which only the share of 5 bounds
    "what cannot be preempted may fill its quota": (
        "0+2 fixed",
        "passes",
        """
        queue parent quota fair holds fixed
        leaf  -      0+3   0+5  0+3   0+1
        """,
    ),
    # 2 + 2 > 3
    "and not more": (
        "0+2 fixed",
        "NonPreemptibleOverQuota gpu",
        """
        queue parent quota fair holds fixed
        leaf  -      0+3   0+5  0+3   0+2
        """,
    ),
    # 2 + 0 > 1 of cpu, of which it wants nothing: unlike when it starts on idle room
    "also not of what it does not ask for": (
        "0+1 fixed",
        "NonPreemptibleOverQuota cpu",
        """
        queue parent quota fair holds fixed
        leaf  -      1+3   4+4  2+0   2+0
        """,
    ),
    # the share fails (4 + 1 > 4) and the quota (0 + 1 > 0)
    "the fair share is asked first": (
        "0+1 fixed",
        "OverFairShare gpu",
        """
        queue parent quota fair holds fixed
        leaf  -      0+0   0+4  0+4   0+0
        """,
    ),
    # the quota has no end, the share has: 3 + 1 = 4
    "an unlimited quota covers everything": (
        "0+1 fixed",
        "passes",
        """
        queue parent quota fair holds fixed
        leaf  -      -+-   0+4  0+3   0+3
        """,
    ),
}


def refused(queues: tuple[Numbers, ...], request: Amounts, *, preemptible: bool) -> Reason | None:
    share = share_of(queues[-1])
    return reclaim_refusal(state_of(queues), share, request, preemptible=preemptible)


def told(reason: Reason | None) -> str:
    if reason is None:
        return "passes"
    assert reason.comparisons
    for comparison in reason.comparisons:
        assert comparison.holds()
        assert comparison.queue == reason.queue
    return " ".join([reason.code, *(str(each.axis) for each in reason.comparisons)])


@pytest.mark.parametrize(("asks", "answer", "table"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_a_job_that_would_reclaim(asks: str, answer: str, table: str) -> None:
    request, _, job_class = asks.partition(" ")
    reason = refused(table_queues(table), amounts(request), preemptible=job_class != "fixed")
    assert told(reason) == answer


def test_a_refusal_carries_the_numbers_that_were_compared() -> None:
    queues = (Numbers("leaf", None, (9, 5), (None, None), (9, 16), (0, 14), (0, 2)),)
    assert refused(queues, (1, 4), preemptible=True) == Reason(
        code="OverFairShare",
        queue=LEAF,
        comparisons=(
            Comparison(
                queue=LEAF,
                axis=Axis("gpu"),
                left=(Term("allocated", 14), Term("request", 4)),
                relation=">",
                right=Term("fair share", 16),
            ),
        ),
    )
    roomy = (queues[0]._replace(fair=(9, 20)),)
    assert refused(roomy, (1, 4), preemptible=False) == Reason(
        code="NonPreemptibleOverQuota",
        queue=LEAF,
        comparisons=(
            Comparison(
                queue=LEAF,
                axis=Axis("gpu"),
                left=(Term("non-preemptible", 2), Term("request", 4)),
                relation=">",
                right=Term("quota", 5),
            ),
        ),
    )


class PlanRequest(NamedTuple):
    """A queue on the top level and a job that would reclaim for it."""

    queue: Numbers
    request: Amounts
    preemptible: bool

    def refusal(self) -> Reason | None:
        return refused((self.queue,), self.request, preemptible=self.preemptible)


roomy_shares = st.tuples(st.integers(0, 9), st.integers(0, 9))
leaves = st.builds(
    Numbers, st.just("leaf"), st.none(), bounds, bounds, roomy_shares, vectors, vectors
)
asked = st.builds(PlanRequest, leaves, vectors, st.booleans())


@given(asked)
def test_the_answer_is_that_of_the_gate_written_out(case: PlanRequest) -> None:
    queue, request = case.queue, case.request
    checks: list[tuple[str, Amounts, Limits]] = [("OverFairShare", queue.holds, queue.fair)]
    if not case.preemptible:
        checks.append(("NonPreemptibleOverQuota", queue.fixed, queue.quota))
    answers = []
    for code, held, limits in checks:
        over = [
            axis
            for axis, amount, more, limit in zip(("cpu", "gpu"), held, request, limits, strict=True)
            if limit is not None and amount + more > limit
        ]
        answers += [" ".join([code, *over])] if over else []
    assert told(case.refusal()) == (answers[0] if answers else "passes")


@given(asked, vectors, bounds)
def test_more_fair_share_or_quota_never_turns_a_pass_into_a_refusal(
    case: PlanRequest, more_fair: Amounts, more_quota: Limits
) -> None:
    queue = case.queue
    fair = tuple(map(sum, zip(queue.fair, more_fair, strict=True)))
    quota = tuple(
        None if due is None or more is None else due + more
        for due, more in zip(queue.quota, more_quota, strict=True)
    )
    richer = case._replace(queue=queue._replace(fair=fair, quota=quota))
    if case.refusal() is None:
        assert richer.refusal() is None


@given(asked)
def test_what_cannot_be_preempted_passes_only_where_anything_would(case: PlanRequest) -> None:
    if case._replace(preemptible=False).refusal() is None:
        assert case._replace(preemptible=True).refusal() is None


@given(asked)
def test_a_job_that_may_not_start_over_quota_may_not_reclaim_either(case: PlanRequest) -> None:
    """The gate of reclaim asks for every resource, that of a start for those requested."""
    if over_quota(state_of([case.queue]), [LEAF], case.request) is not None:
        assert case._replace(preemptible=False).refusal() is not None


@given(vectors, vectors, bounds)
def test_the_first_axis_that_is_over_is_found(
    held: Amounts, request: Amounts, limits: Limits
) -> None:
    at = first_over(held, request, limits)
    is_over = [
        limit is not None and amount + more > limit
        for amount, more, limit in zip(held, request, limits, strict=True)
    ]
    assert at == (is_over.index(True) if any(is_over) else None)
