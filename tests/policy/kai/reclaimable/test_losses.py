"""The pieces in which a job gives way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.axes import Amounts, QueueName
from fairlead.policy.kai.reclaimable import losses_of
from tests.policy.kai.reclaim_world import vectors
from tests.text_table import rows

# Pods of the sizes 1, 2, 4, 8 were evicted in this order: each sum tells which pods are in it.
# "-" is a pod that found another place.
PIECES = """
    evicted  minimum  losses
    1,2,4,8  0        1,2,4,8
    1,2,4,8  1        2,4,8,1
    1,2,4,8  2        4,8,3
    1,2,4,8  4        15
    1,2,4,8  9        15
    8,4,2,1  2        2,1,12
    8        1        8
    -,2,4,8  3        8,6
    1,-,4,-  1        4,1
    -,2,4,8  1        2,4,8
"""


@pytest.mark.parametrize("row", rows(PIECES), ids=lambda row: f"{row['evicted']} {row['minimum']}")
def test_pods_beyond_the_minimum_go_one_by_one_before_the_rest(row: dict[str, str]) -> None:
    evicted = [None if size == "-" else (int(size),) for size in row["evicted"].split(",")]
    losses = losses_of(QueueName("q"), evicted, int(row["minimum"]))
    assert ",".join(str(loss.amounts[0]) for loss in losses) == row["losses"]


def test_a_job_that_is_not_evicted_loses_nothing() -> None:
    assert losses_of(QueueName("q"), [], 2) == []
    assert losses_of(QueueName("q"), [None, None], 1) == []


@given(st.lists(vectors, min_size=1, max_size=6), st.integers(0, 7))
def test_the_losses_sum_to_what_was_evicted(evicted: list[Amounts], minimum: int) -> None:
    losses = losses_of(QueueName("q"), evicted, minimum)
    lost = [sum(column) for column in zip(*(loss.amounts for loss in losses), strict=True)]
    assert lost == [sum(column) for column in zip(*evicted, strict=True)]
    assert {loss.queue for loss in losses} == {"q"}
