"""Sharing over time, and a year of a real machine, come to the figures that were published."""

from collections import Counter
from pathlib import Path
from typing import Any

from tests.conformance.outcome import Outcome
from tests.conformance.vector_file import check_file
from tests.shared_folder import shared_file

PUBLISHED = Path(__file__).parent.parent / "vectors" / "published-results.json"
SIMULATED = {"turns", "steady", "burst"}


def is_quick(entry: Any) -> bool:
    """Whether it takes seconds; ``python -m tests.conformance`` compares the others too."""
    given = entry["input"]
    return bool(given["gpus"] <= 16 and given["window"] <= 256 and given["k"] <= 3)


def counted(outcomes: list[Outcome]) -> Counter[tuple[str, str]]:
    assert [outcome for outcome in outcomes if outcome.status == "failed"] == []
    return Counter((outcome.kind, outcome.status) for outcome in outcomes)


def test_queues_take_turns_and_share_as_published() -> None:
    outcomes = check_file(PUBLISHED, lambda entry: entry["kind"] in SIMULATED and is_quick(entry))
    assert counted(outcomes) == {("turns", "passed"): 12, ("burst", "passed"): 3}


def test_a_real_year_gives_the_known_slowdowns() -> None:
    shared_file("traces/kth-sp2-1996.csv.gz")
    outcomes = check_file(PUBLISHED, lambda entry: entry["kind"] in {"replay", "trace"})
    assert counted(outcomes) == {("replay", "passed"): 2, ("trace", "passed"): 1}
