"""Of too many evictions some are listed, from all of the time, and all are counted."""

from itertools import pairwise

import pytest

from fairlead.sim.report.make_report import LONGEST_SENTENCE, listed_evictions
from fairlead.sim.results.eviction_table import EvictionRow


def row(at_ms: int, sentence: str = "because", queue: str = "a") -> EvictionRow:
    return EvictionRow(
        at_ms=at_ms,
        job=f"job-{at_ms}",
        queue=queue,
        pods=2,
        cause="evicted",
        beneficiary=None,
        reason=None,
        sentence=sentence,
    )


def test_few_are_all_listed_with_times_since_the_start() -> None:
    rows = [row(110), row(120, "or not"), row(130, queue="unknown")]
    listed = listed_evictions(rows, {"a": 0}, 100, 10)
    assert listed.total == 3
    assert listed.at_ms == [10, 20, 30]
    assert listed.queue == [0, 0, None]
    assert listed.sentences == ["because", "or not"]
    assert listed.why == [0, 1, 0]


@pytest.mark.parametrize("count", [4, 5, 7, 100, 1001])
def test_of_many_every_nth_is_listed_and_all_are_counted(count: int) -> None:
    listed = listed_evictions(map(row, range(count)), {"a": 0}, 0, 4)
    assert listed.total == count
    assert 2 < len(listed.at_ms) <= 4
    steps = {after - before for before, after in pairwise(listed.at_ms)}
    assert len(steps) == 1
    assert count - listed.at_ms[-1] <= steps.pop() + 1


def test_a_sentence_without_end_is_cut() -> None:
    listed = listed_evictions([row(0, "x" * 10_000)], {"a": 0}, 0, 4)
    assert len(listed.sentences[0]) == LONGEST_SENTENCE
    assert listed.sentences[0].endswith("x…")
