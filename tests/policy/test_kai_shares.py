"""From state to fair share: what of the state goes into KAI's division, and what follows."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    Event,
    Placement,
    QueueChanged,
    UsageChanged,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kai.fair_share.shares import KaiShare, KaiShares, allocatable, saturation
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.policy.kai.random_worlds import build, worlds
from tests.text_table import number, rows

GPU = 1000  # thousandths of a device


def state_of(table: str) -> ClusterState:
    """Queues with one workload that runs and one that waits; amounts in whole GPUs."""
    axes = QuotaAxes([Axis("gpu")], counted_as={"nvidia.com/gpu": "gpu"})
    state = ClusterState(("nvidia.com/gpu",), axes)
    for row in rows(table):
        quota, limit = number(row["quota"]), number(row["limit"])
        queue = Queue(
            name=QueueName(row["queue"]),
            parent=None if row["parent"] == "-" else QueueName(row["parent"]),
            priority=int(row.get("priority", "100")),
            weights=(Decimal(row["weight"]),),
            guaranteed=(None if quota is None else quota * GPU,),
            ceiling=(None if limit is None else limit * GPU,),
            borrow_limit=(None,),
            lend_limit=(None,),
        )
        state.apply(QueueChanged(queue))
        for word in ("runs", "waits"):
            if int(row[word]):
                state.apply(WorkloadAdded(_work(row["queue"], word, int(row[word]))))
        if int(row["runs"]):
            state.apply(
                WorkloadStarted(
                    workload=WorkloadName(f"{row['queue']}-runs"),
                    placements=(Placement(numbered_pod("main", 0), "node"),),
                    at_ms=0,
                )
            )
    return state


def _work(queue: str, word: str, gpus: int) -> Workload:
    return Workload(
        name=WorkloadName(f"{queue}-{word}"),
        queue=QueueName(queue),
        pod_sets=PodSets((PodSet(name="main", count=1, min_count=1, requests=(gpus * GPU,)),)),
        min_count=1,
    )


def shares_of(table: str, gpus: int, k: Fraction = Fraction(1)) -> dict[str, KaiShare]:
    return {row.queue: row for row in KaiShares(state_of(table), (gpus * GPU,), k).rows()}


SCENARIOS = {
    # 10 GPUs: 2 + 4 deserved leave 4, by weight 1:3 that is 1 and 3
    "what is over goes by weight": """
        queue  parent  quota  limit  weight  runs  waits  fair
        a      -       2      -      1       2     8      3
        b      -       4      -      3       0     9      7
    """,
    # a asks for 3 of its 8, so 7 are left for b
    "a guarantee that nobody asks for is lent": """
        queue  parent  quota  limit  weight  runs  waits  fair
        a      -       8      -      1       1     2      3
        b      -       0      -      1       0     9      7
    """,
    # all ten go to high, which can use no more than its limit of 6
    "priority first, up to the limit": """
        queue  parent  quota  limit  weight  runs  waits  priority  fair
        high   -       0      6      1       0     9      200       6
        low    -       0      -      1       0     9      100       4
    """,
    # top: 6 and 4 by weight; then research's 6 is 3 guaranteed to nlp and 3 by weight 1:2
    "children divide their parent's share": """
        queue     parent    quota  limit  weight  runs  waits  fair
        research  -         0      -      3       0     0      6
        sales     -         0      -      2       0     9      4
        nlp       research  3      -      1       0     9      4
        vision    research  0      -      2       0     9      2
    """,
}


@pytest.mark.parametrize("table", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_ten_gpus(table: str) -> None:
    shares = shares_of(table, gpus=10)
    for row in rows(table):
        assert shares[row["queue"]].fair_share == (int(row["fair"]) * GPU,), row["queue"]


def test_what_runs_and_what_waits_is_requested() -> None:
    shares = shares_of(SCENARIOS["what is over goes by weight"], gpus=10)
    assert shares["a"].requested == (10 * GPU,)


EQUALS = """
    queue  parent  quota  limit  weight  runs  waits
    a      -       0      -      1       0     9
    b      -       0      -      1       0     9
"""


def test_usage_lowers_a_share_and_without_usage_k_has_no_effect() -> None:
    state = state_of(EQUALS)
    plain = KaiShares(state, (8 * GPU,), Fraction(1)).rows()
    assert [row.fair_share for row in plain] == [(4 * GPU,), (4 * GPU,)]
    assert plain == KaiShares(state, (8 * GPU,), Fraction(0)).rows()
    state.apply(UsageChanged({QueueName("a"): (500_000_000,)}))
    # a: 1/2 + 1 x (1/2 - 1/2) = 1/2, b: 1/2 + 1 x 1/2 = 1; of 8 that is 2 2/3 and 5 1/3
    after = KaiShares(state, (8 * GPU,), Fraction(1)).rows()
    assert [row.fair_share for row in after] == [(3 * GPU,), (5 * GPU,)]
    assert after[0].usage_e9 == (500_000_000,)


def test_weights_are_exact_decimals() -> None:
    table = EQUALS.replace("b      -       0      -      1 ", "b      -       0      -      0.5")
    assert [row.fair_share[0] for row in shares_of(table, gpus=9).values()] == [6 * GPU, 3 * GPU]


#   guaranteed  ceiling  fair  allocatable
ALLOCATABLE = """
    guaranteed  ceiling  fair  most
    2           -        5     5
    8           -        5     8
    8           6        5     6
    -           -        5     -
    -           6        5     6
"""


@pytest.mark.parametrize("row", rows(ALLOCATABLE), ids=lambda row: " ".join(row.values()))
def test_what_a_queue_may_hold_at_most(row: dict[str, str]) -> None:
    guaranteed, ceiling = number(row["guaranteed"]), number(row["ceiling"])
    assert allocatable(guaranteed, ceiling, int(row["fair"])) == number(row["most"])


def test_saturation_without_a_share_is_none_at_all_or_infinite() -> None:
    assert saturation(0, 0) == 0
    assert saturation(1, 0) is None
    assert saturation(3, 2) == Fraction(3, 2)


def test_an_orphan_takes_no_part() -> None:
    table = EQUALS + "    lost   ghost   5      -      1       0     9\n"
    assert set(shares_of(table, gpus=8)) == {"a", "b"}


@given(events=worlds())
def test_the_incremental_shares_are_the_plain_ones(events: list[Event]) -> None:
    state = build(events)
    chosen = KaiSettings()
    assert KaiPolicy(chosen).shares(state) == KaiPolicy(chosen, plain=True).shares(state)
