from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.report.make_report import fewer_buckets, how_many_together


def test_neighbours_become_one_and_the_last_may_have_fewer() -> None:
    """1 + 2, 3 + 4, and 5 alone."""
    assert fewer_buckets((1, 2, 3, 4, 5), 2) == [3, 7, 5]
    assert fewer_buckets((1, 2, 3), 1) == [1, 2, 3]
    assert fewer_buckets((1, 2, 3), 9) == [6]


@given(st.lists(st.integers(0, 2**80), min_size=1), st.integers(1, 50))
def test_nothing_is_lost_and_there_are_few_enough(column: list[int], most: int) -> None:
    together = how_many_together(len(column), most)
    fewer = fewer_buckets(column, together)
    assert sum(fewer) == sum(column)
    assert len(fewer) <= most
