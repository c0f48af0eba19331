"""A few rounds of each fuzzer of ours, always the same ones."""

from tests.fuzz import http, store
from tests.fuzz.rounds import survive


def test_a_damaged_store_answers_what_it_held_or_says_that_it_is_damaged() -> None:
    assert survive(store.attack, seconds=60, seed=7, most=60).keys() >= {"answered", "told"}


def test_wrong_replies_are_told_and_wrong_requests_keep_no_scrape_out() -> None:
    assert survive(http.attack, seconds=60, seed=1, most=15).keys() >= {"told", "scraped"}
