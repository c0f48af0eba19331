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
    """Whether it takes a second or two; ``python -m tests.conformance`` compares the others too."""
    kind, given = entry["kind"], entry["input"]
    if kind not in SIMULATED or given["gpus"] > 16:
        return False
    most_k = {"turns": 3, "steady": 4, "burst": 1.25}[kind]
    return bool(given["k"] <= most_k and (kind == "steady" or given["window"] <= 256))


def counted(outcomes: list[Outcome]) -> Counter[tuple[str, str]]:
    assert [outcome for outcome in outcomes if outcome.status == "failed"] == []
    return Counter((outcome.kind, outcome.status) for outcome in outcomes)


def test_queues_take_turns_and_share_as_published() -> None:
    assert counted(check_file(PUBLISHED, is_quick)) == {
        ("turns", "passed"): 12,
        ("steady", "passed"): 5,
        ("burst", "passed"): 2,
    }


def test_a_real_year_gives_the_known_slowdowns() -> None:
    shared_file("traces/kth-sp2-1996.csv.gz")
    outcomes = check_file(PUBLISHED, lambda entry: entry["kind"] in {"replay", "trace"})
    assert counted(outcomes) == {("replay", "passed"): 2, ("trace", "passed"): 1}
