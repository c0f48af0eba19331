"""Means over seeds, how sure they are, and differences of runs that share their work."""

from math import gamma, pi, sqrt
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.measures.spread import Spread, difference, quantile_95, spread, within
from fairlead.sim.measures.summary import Key, Summary, flat_measures
from tests.sim.measures.histories import measure, written


def run(wait_ms: int, user: str = "ann") -> Summary:
    """One job that waits for so long."""
    jobs = f"job queue user submit run gpu\n x a {user} 0 10 1"
    story = f"at what to pods more\n 0 submit x - -\n {wait_ms} start x 1 -"
    summary, _ = measure(written(jobs, story), 100, resources=("gpu",), parents={"a": None})
    return summary


def flat(runs: dict[int, Summary]) -> dict[int, dict[Key, float | None]]:
    return {seed: dict(flat_measures(summary)) for seed, summary in runs.items()}


def found(spreads: tuple[Spread, ...], scope: str, name: str, measure: str) -> Spread:
    [each] = [s for s in spreads if (s.scope, s.name, s.measure) == (scope, name, measure)]
    return each


def test_the_interval_is_as_wide_as_few_runs_demand() -> None:
    """10, 12, 17: mean 13, squares 9 + 1 + 16 = 26, error sqrt(26 / 2 / 3) = 2.081666.

    Two degrees of freedom: t = 4.302653, and 13 -+ 4.302653 x 2.081666 = 4.043314 ... 21.956686.
    """
    spreads = spread([run(10), run(12), run(17)])
    for scope, name in (("cluster", ""), ("queue", "a"), ("user", "ann"), ("kind", "")):
        each = found(spreads, scope, name, "wait/p90_ms")
        assert (each.runs, each.mean) == (3, 13.0)
        assert each.low == pytest.approx(4.043314, abs=1e-6)
        assert each.high == pytest.approx(21.956686, abs=1e-6)


def test_one_run_has_a_mean_and_no_interval() -> None:
    assert found(spread([run(10)]), "cluster", "", "wait/mean_ms") == Spread(
        scope="cluster", name="", measure="wait/mean_ms", runs=1, mean=10.0, low=None, high=None
    )
    assert spread([]) == ()


def test_runs_in_which_a_measure_is_not_defined_are_left_out() -> None:
    spreads = spread([run(10), run(20, user="bob")])
    assert found(spreads, "user", "ann", "wait/max_ms").runs == 1
    assert found(spreads, "user", "bob", "wait/max_ms").mean == 20.0
    makespan = found(spreads, "cluster", "", "makespan_ms")
    assert (makespan.runs, makespan.mean, makespan.low) == (0, None, None)


def test_a_difference_is_taken_seed_by_seed() -> None:
    """8 - 10, 11 - 12, 13 - 17 are -2, -1, -4: mean -7/3, squares 14/3, error sqrt(14/18).

    -2.333333 -+ 4.302653 x 0.881917 = -6.127917 ... 1.461250. Without pairs the interval would
    be nearly twice as wide. Seed 4 was run on one side only.
    """
    before = {1: run(10), 2: run(12), 3: run(17), 4: run(90)}
    after = {3: run(13), 2: run(11), 1: run(8)}
    each = found(difference(flat(before), flat(after)), "queue", "a", "wait/max_ms")
    assert each.runs == 3
    assert each.mean == pytest.approx(-7 / 3)
    assert each.low == pytest.approx(-6.127917, abs=1e-6)
    assert each.high == pytest.approx(1.461250, abs=1e-6)


def test_a_measure_that_one_side_lacks_has_no_difference() -> None:
    spreads = difference(flat({1: run(10)}), flat({1: run(10, user="bob")}))
    assert found(spreads, "user", "ann", "submitted").mean is None
    assert found(spreads, "user", "bob", "submitted").mean is None
    assert found(spreads, "cluster", "", "submitted").mean == 0.0


@given(st.lists(st.integers(0, 90), max_size=6), st.integers(0, 99))
def test_the_order_of_runs_changes_nothing(waits_ms: list[int], seed: int) -> None:
    other = list(waits_ms)
    Random(seed).shuffle(other)
    first, second = (spread([run(wait_ms) for wait_ms in each]) for each in (waits_ms, other))
    assert msgspec.json.encode(first) == msgspec.json.encode(second)


def test_spreads_come_by_scope_name_and_measure() -> None:
    spreads = spread([run(10, user="zoe"), run(10)])
    scopes = ["cluster", "queue", "user", "kind"]
    keys = [(scopes.index(each.scope), each.name, each.measure) for each in spreads]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (29, 2.045), (100, 1.984)],
)
def test_quantiles_are_those_of_the_printed_tables(degrees: int, quantile: float) -> None:
    assert round(quantile_95(degrees), 3) == quantile


def test_very_many_degrees_count_as_a_thousand() -> None:
    assert quantile_95(10**9) == quantile_95(1000) == pytest.approx(1.959964, abs=0.003)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 8, 30])
@pytest.mark.parametrize("t", [0.0, 0.5, 2.0, 9.0])
def test_the_sum_of_cosines_is_the_area_under_the_density(degrees: int, t: float) -> None:
    """Simpson's rule over the density of Student's t, in 2,000 steps."""
    scale = gamma((degrees + 1) / 2) / (sqrt(degrees * pi) * gamma(degrees / 2))
    steps = 2000
    heights = [
        scale * (1 + (t * i / steps) ** 2 / degrees) ** (-(degrees + 1) / 2)
        for i in range(steps + 1)
    ]
    weighted = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
    assert within(t, degrees) == pytest.approx(2 * weighted * t / steps / 3, abs=1e-9)
