"""The text of metrics says what the families say, whatever the names and numbers are."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.family import (
    UNLIMITED,
    Family,
    in_units,
    input_errors_family,
    single,
    usage_store_families,
)
from tests.store.scraped import scraped

# What YAML can hold; a carriage return is read as a line end only by the parser of these tests.
names = st.text(st.characters(codec="utf-8", exclude_characters="\r"))
amounts = st.integers(-(2**53), 2**53)


@given(values=st.dictionaries(names, amounts, min_size=1))
def test_whole_numbers_and_any_name_come_back_as_they_were(values: dict[str, int]) -> None:
    samples = tuple(((name,), Decimal(value)) for name, value in values.items())
    family = Family(name="x", meaning="m", labels=("queue",), samples=samples)
    told = scraped(exposition([family]).decode())["x"]
    assert told == {(("queue", name),): value for name, value in values.items()}


@given(thousandths=st.integers(0, 10**14))
def test_parts_of_a_core_come_back_as_the_decimal_that_was_meant(thousandths: int) -> None:
    family = single("x", "m", in_units("cpu", thousandths))
    value = scraped(exposition([family]).decode())["x"][()]
    assert Decimal(repr(value)) == Decimal(thousandths) / 1000


def test_no_limit_is_written_as_prometheus_writes_it() -> None:
    assert exposition([single("x", "m", UNLIMITED)]).splitlines()[-1] == b"x +Inf"


def test_a_family_without_samples_is_left_out() -> None:
    assert exposition([Family(name="x", meaning="m", samples=())]) == b""


def test_an_age_that_is_not_known_is_no_zero() -> None:
    unknown = scraped(exposition(usage_store_families(age_ms=None, is_degraded=True)).decode())
    assert unknown == {"fairlead_usage_store_degraded": {(): 1}}
    known = scraped(exposition(usage_store_families(age_ms=61_500, is_degraded=False)).decode())
    assert known == {
        "fairlead_usage_store_staleness_seconds": {(): 61.5},
        "fairlead_usage_store_degraded": {(): 0},
    }


def test_errors_of_the_input_are_counted() -> None:
    told = scraped(exposition([input_errors_family(3)]).decode())
    assert told == {"fairlead_input_errors": {(): 3}}
