"""How past use fades, grows and is compared; amounts are in billionths of a core or byte."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.policy.kueue.pending.local_queue_usage import (
    entry_penalty,
    in_billionths,
    part_left,
    sampled,
    usage_rank,
)
from fairlead.policy.kueue.settings import AdmissionFairSharing

MINUTE_MS = 60_000
RULES = AdmissionFairSharing(half_life_ms=10 * MINUTE_MS, sampling_interval_ms=5 * MINUTE_MS)
CORE = 10**9

ages = st.integers(0, 10**13)
half_lives = st.integers(1, 10**11)
amounts = st.integers(0, 2**90)


def test_ten_cores_count_as_used_in_part_at_once_and_more_and_more_later() -> None:
    """Half-life 10 minutes, sampled every 5: 1 - 0.5^(5/10) = 0.292893."""
    penalty = entry_penalty({"cpu": 10 * CORE}, RULES)
    assert penalty == {"cpu": 2_928_932_188}
    later = sampled(penalty, {"cpu": 10 * CORE}, 10 * MINUTE_MS, RULES.half_life_ms)
    # 0.5 x 2.928932188 + 0.5 x 10
    assert later == {"cpu": 6_464_466_094}


def test_what_is_beyond_nine_places_is_cut_from_each_product() -> None:
    # After one half-life: 0.5 x 3 and 0.5 x 5 billionths are 1.5 and 2.5, so 1 and 2.
    assert sampled({"cpu": 3}, {"cpu": 5}, 7, 7) == {"cpu": 3}


def test_resources_that_only_one_side_knows_count_too() -> None:
    found = sampled({"cpu": 8}, {"memory": 4}, 2, 1)
    # A quarter is left of what was used; three quarters are of what is in use.
    assert found == {"cpu": 2, "memory": 3}


def test_nothing_is_left_after_a_thousand_half_lives_of_any_amount() -> None:
    assert part_left(10**30, 1) == 0
    assert sampled({"cpu": 2**300}, {"cpu": 7}, 10**30, 1) == {"cpu": 7}


@pytest.mark.parametrize(
    ("resource", "amount", "billionths"),
    [
        ("cpu", 1500, 1_500_000_000),  # millicores
        ("nvidia.com/gpu", 250, 250_000_000),  # thousandths of a device
        ("memory", 3, 3_000_000_000),  # bytes
        ("pods", 2, 2_000_000_000),
    ],
)
def test_amounts_are_counted_in_the_units_that_users_write(
    resource: str, amount: int, billionths: int
) -> None:
    assert in_billionths(resource, amount) == billionths


RANKS = {
    "the weight divides": ({"cpu": 6 * CORE}, (), "4", (False, Fraction(3, 2))),
    "no use is none": ({}, (), "1", (False, Fraction(0))),
    "without a weight it has used infinitely much": ({}, (), "0", (True, Fraction(0))),
    "resources are added up": (
        {"cpu": 2 * CORE, "gpu": 3 * CORE},
        (("cpu", Decimal("0.5")), ("gpu", Decimal(10))),
        "1",
        (False, Fraction(31)),  # 0.5 x 2 + 10 x 3
    ),
    "a resource without a weight counts once": (
        {"cpu": 2 * CORE, "gpu": 3 * CORE},
        (("gpu", Decimal(0)),),
        "1",
        (False, Fraction(2)),
    ),
}


@pytest.mark.parametrize(("consumed", "weights", "weight", "expected"), RANKS.values(), ids=RANKS)
def test_the_rank_of_a_use(
    consumed: dict[str, int],
    weights: tuple[tuple[str, Decimal], ...],
    weight: str,
    expected: tuple[bool, Fraction],
) -> None:
    rules = AdmissionFairSharing(half_life_ms=1, resource_weights=weights)
    assert usage_rank(consumed, rules, Fraction(weight)) == expected


def test_memory_decides_over_cores_unless_its_weight_is_tiny() -> None:
    """64 cores with 1 GiB against 1 core with 2 GiB: 64 + 1073741824 < 1 + 2147483648."""
    cores = {"cpu": 64 * CORE, "memory": 2**30 * CORE}
    bytes_ = {"cpu": CORE, "memory": 2**31 * CORE}
    one = Fraction(1)
    assert usage_rank(cores, RULES, one) < usage_rank(bytes_, RULES, one)
    # A weight of 10^-9 makes a GiB about a core: 64 + 1.07 > 1 + 2.15.
    tiny = AdmissionFairSharing(
        half_life_ms=1, resource_weights=(("memory", Decimal("0.000000001")),)
    )
    assert usage_rank(cores, tiny, one) > usage_rank(bytes_, tiny, one)


@given(ages, half_lives)
def test_what_is_left_is_a_power_of_a_half(age_ms: int, half_life_ms: int) -> None:
    left = part_left(age_ms, half_life_ms)
    plain = 0.5 ** (age_ms / half_life_ms)
    assert float(left) == pytest.approx(plain, rel=1e-9, abs=1e-250)
    assert part_left(age_ms + half_life_ms, half_life_ms) == left / 2 or left < Fraction(1, 2**999)


@given(ages, ages, half_lives)
def test_older_is_never_more(age_ms: int, more_ms: int, half_life_ms: int) -> None:
    assert part_left(age_ms + more_ms, half_life_ms) <= part_left(age_ms, half_life_ms) <= 1


@given(amounts, amounts, ages, half_lives)
def test_a_sample_lies_between_past_and_present(
    consumed: int, in_use: int, age_ms: int, half_life_ms: int
) -> None:
    found = sampled({"cpu": consumed}, {"cpu": in_use}, age_ms, half_life_ms)["cpu"]
    low, high = sorted([consumed, in_use])
    assert low - 1 <= found <= high  # two products are cut


@given(amounts, st.integers(1, 10**9), half_lives)
def test_the_penalty_is_the_first_sample_of_one_who_used_nothing(
    amount: int, interval_ms: int, half_life_ms: int
) -> None:
    rules = AdmissionFairSharing(half_life_ms=half_life_ms, sampling_interval_ms=interval_ms)
    requests = {"cpu": amount}
    assert entry_penalty(requests, rules) == sampled({}, requests, interval_ms, half_life_ms)
