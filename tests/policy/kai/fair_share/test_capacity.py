"""What a queue and its ancestors refuse, with the numbers of the reason."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Amounts, Axis, Limits, QueueName, QuotaAxes
from fairlead.model.events import QueueChanged
from fairlead.model.plan import Comparison, Reason, Term
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.capacity import over_quota, refusal
from tests.model.worlds import queue, started, state_with, workload
from tests.text_table import rows

LEAF = QueueName("leaf")


class Bounds(NamedTuple):
    """A queue on two axes: what it may hold and what it holds."""

    limit: Limits
    quota: Limits
    holds: Amounts
    fixed: Amounts  # of which cannot be preempted


def state_of(path: list[Bounds], axes: tuple[str, str] = ("cpu", "gpu")) -> ClusterState:
    """One queue below the other, the last one named leaf; sums are put in as they are given."""
    state = ClusterState(("cpu", "nvidia.com/gpu"), QuotaAxes([Axis(axis) for axis in axes]))
    parent = None
    for depth, bounds in enumerate(path):
        name = "leaf" if depth == len(path) - 1 else f"level{depth}"
        own = replace(queue(name, parent), ceiling=bounds.limit, guaranteed=bounds.quota)
        state.apply(QueueChanged(own))
        parent = name
    for name, bounds in zip(reversed(state.path(LEAF)), path, strict=True):
        state.sums[name].allocated[:] = bounds.holds
        state.sums[name].non_preemptible[:] = bounds.fixed
    return state


def cell(text: str) -> Limits:
    """``2+3`` is 2 of cpu and 3 of gpu; ``-`` is no limit."""
    cpu, gpu = text.split("+")
    return (None if cpu == "-" else int(cpu), None if gpu == "-" else int(gpu))


def amounts(text: str) -> Amounts:
    return tuple(amount or 0 for amount in cell(text))


def bounds_of(row: dict[str, str]) -> Bounds:
    return Bounds(
        limit=cell(row["limit"]),
        quota=cell(row["quota"]),
        holds=amounts(row["holds"]),
        fixed=amounts(row["fixed"]),
    )


# Two queues, the second inside the first, on the axes cpu+gpu; fixed: what cannot be preempted.
# The request of a job in the leaf, the answer, the queues.
SCENARIOS = {
    # 3 held and 1 more are the limit of 4
    "a limit may be reached": (
        "0+1 preemptible",
        "passes",
        """
        queue  limit  quota  holds  fixed
        level0 -+-    0+0    0+3    0+0
        leaf   -+4    0+0    0+3    0+0
        """,
    ),
    # 4 + 1 > 4 at the leaf
    "and not passed": (
        "0+1 preemptible",
        "OverLimit leaf gpu",
        """
        queue  limit  quota  holds  fixed
        level0 -+-    0+0    0+4    0+0
        leaf   -+4    0+0    0+4    0+0
        """,
    ),
    # 9 + 1 > 9 above, where others hold 5
    "those above have a limit too": (
        "0+1 preemptible",
        "OverLimit level0 gpu",
        """
        queue  limit  quota  holds  fixed
        level0 -+9    0+0    0+9    0+0
        leaf   -+8    0+0    0+4    0+0
        """,
    ),
    # cpu is over its limit already, and the job asks for gpu alone
    "what it does not ask for is no reason": (
        "0+1 preemptible",
        "passes",
        """
        queue  limit  quota  holds  fixed
        level0 2+9    0+0    5+4    0+0
        leaf   1+8    0+0    5+4    0+0
        """,
    ),
    # 2 + 1 > 2 in what cannot be preempted; what can be counts for nothing: 7 is well over 2
    "what cannot be preempted must fit the guarantee": (
        "0+1 fixed",
        "NonPreemptibleOverQuota leaf gpu",
        """
        queue  limit  quota  holds  fixed
        level0 -+-    0+9    0+7    0+2
        leaf   -+-    0+2    0+7    0+2
        """,
    ),
    # the guarantee fails at the leaf (0 + 1 > 0), the limit only above (9 + 1 > 9)
    "the limit is asked first all the way up": (
        "0+1 fixed",
        "OverLimit level0 gpu",
        """
        queue  limit  quota  holds  fixed
        level0 -+9    0+9    0+9    0+0
        leaf   -+-    0+0    0+0    0+0
        """,
    ),
    # both would be over at the leaf and above: the leaf is nearer
    "the queue nearest to the job is told": (
        "0+1 preemptible",
        "OverLimit leaf gpu",
        """
        queue  limit  quota  holds  fixed
        level0 -+4    0+0    0+4    0+0
        leaf   -+4    0+0    0+4    0+0
        """,
    ),
    # no end to the guarantee at either
    "an unlimited guarantee covers everything": (
        "0+9 fixed",
        "passes",
        """
        queue  limit  quota  holds  fixed
        level0 -+-    0+-    0+7    0+7
        leaf   -+-    0+-    0+7    0+7
        """,
    ),
}


@pytest.mark.parametrize(("asks", "answer", "table"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_a_job_in_the_leaf(asks: str, answer: str, table: str) -> None:
    state = state_of([bounds_of(row) for row in rows(table)])
    request, job_class = asks.split()
    reason = refusal(
        state, state.path(LEAF), amounts(request), preemptible=job_class == "preemptible"
    )
    assert told(reason) == answer


def told(reason: Reason | None) -> str:
    if reason is None:
        return "passes"
    (comparison,) = reason.comparisons
    assert comparison.queue == reason.queue
    assert comparison.holds()
    return f"{reason.code} {reason.queue} {comparison.axis}"


def test_a_refusal_carries_the_numbers_that_were_compared() -> None:
    state = state_of([Bounds((None, 16), (0, 0), (0, 14), (0, 0))])
    assert refusal(state, [LEAF], (1, 4), preemptible=True) == Reason(
        code="OverLimit",
        queue=LEAF,
        comparisons=(
            Comparison(
                queue=LEAF,
                axis=Axis("gpu"),
                left=(Term("allocated", 14), Term("request", 4)),
                relation=">",
                right=Term("limit", 16),
            ),
        ),
    )
    state = state_of([Bounds((None, None), (9, 5), (9, 9), (3, 2))])
    assert refusal(state, [LEAF], (1, 4), preemptible=False) == Reason(
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


@pytest.mark.parametrize("axes", [("cpu", "gpu"), ("gpu", "cpu")])
def test_cpu_is_reported_before_gpu_however_the_axes_are_listed(axes: tuple[str, str]) -> None:
    state = state_of([Bounds((1, 1), (0, 0), (1, 1), (0, 0))], axes)
    reason = refusal(state, [LEAF], (1, 1), preemptible=True)
    assert told(reason) == "OverLimit leaf cpu"


def test_the_gates_read_what_runs_in_the_state() -> None:
    limited = replace(queue("leaf"), ceiling=(None, 2000), guaranteed=(9000, 1000))
    state = state_with(limited, workload("job", "leaf", preemptible=False))
    path = state.path(LEAF)
    assert refusal(state, path, (0, 1000), preemptible=False) is None
    state.apply(started("job", None))
    assert told(over_quota(state, path, (0, 1000))) == "NonPreemptibleOverQuota leaf gpu"
    assert refusal(state, path, (0, 1000), preemptible=True) is None
    assert told(refusal(state, path, (0, 1001), preemptible=True)) == "OverLimit leaf gpu"


small = st.integers(0, 6)
vectors = st.tuples(small, small)
limits = st.tuples(st.none() | small, st.none() | small)
paths = st.lists(st.builds(Bounds, limits, limits, vectors, vectors), min_size=1, max_size=4)


@given(paths, vectors, st.booleans())
def test_the_answer_is_that_of_the_gates_written_out(
    path: list[Bounds], request: Amounts, preemptible: bool
) -> None:
    state = state_of(path)
    reason = refusal(state, state.path(LEAF), request, preemptible=preemptible)
    assert told(reason) == written_out(path, request, preemptible)


def written_out(path: list[Bounds], request: Amounts, preemptible: bool) -> str:
    upward = list(zip(state_of(path).path(LEAF), reversed(path), strict=True))
    checks = [("OverLimit", name, each.holds, each.limit) for name, each in upward]
    if not preemptible:
        checks += [
            ("NonPreemptibleOverQuota", name, each.fixed, each.quota) for name, each in upward
        ]
    offenders = [
        f"{code} {name} {axis}"
        for code, name, held, bounds in checks
        for axis, amount, more, bound in zip(("cpu", "gpu"), held, request, bounds, strict=True)
        if more > 0 and bound is not None and amount + more > bound
    ]
    return offenders[0] if offenders else "passes"


@given(paths, vectors, st.booleans(), st.integers(0, 3), limits)
def test_raising_a_limit_or_a_guarantee_never_refuses_more(
    path: list[Bounds], request: Amounts, preemptible: bool, at: int, more: Limits
) -> None:
    at %= len(path)
    old = path[at]
    raised = old._replace(limit=added(old.limit, more), quota=added(old.quota, more))
    after = [*path[:at], raised, *path[at + 1 :]]
    state, wider = state_of(path), state_of(after)
    if refusal(state, state.path(LEAF), request, preemptible=preemptible) is None:
        assert refusal(wider, wider.path(LEAF), request, preemptible=preemptible) is None


def added(bounds: Limits, more: Limits) -> Limits:
    """The bounds raised; None lifts a bound altogether."""
    pairs = zip(bounds, more, strict=True)
    return tuple(
        None if bound is None or extra is None else bound + extra for bound, extra in pairs
    )


@given(paths, st.booleans())
def test_a_request_of_nothing_always_passes(path: list[Bounds], preemptible: bool) -> None:
    state = state_of(path)
    assert refusal(state, state.path(LEAF), (0, 0), preemptible=preemptible) is None


@given(paths, vectors)
def test_what_cannot_be_preempted_passes_only_where_anything_would(
    path: list[Bounds], request: Amounts
) -> None:
    state = state_of(path)
    if refusal(state, state.path(LEAF), request, preemptible=False) is None:
        assert refusal(state, state.path(LEAF), request, preemptible=True) is None
