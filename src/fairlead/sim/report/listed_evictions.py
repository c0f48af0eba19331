"""Evictions for a page: all of them, or of too many some from all of the time, with a count."""

from collections.abc import Iterable, Mapping
from typing import Final

from fairlead.sim.report.report_page import ListedEvictions
from fairlead.sim.results.rows import EvictionRow

LONGEST_SENTENCE: Final = 400


class _Thinned:
    """Keeps at most so many rows: whenever there are too many, every other one goes.

    So what is kept is every 2^n-th, spread over all of the time, and memory is bounded.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._step = 1
        self.total = 0
        self.kept: list[EvictionRow] = []

    def add(self, row: EvictionRow) -> None:
        if self.total % self._step == 0:
            self.kept.append(row)
            if len(self.kept) > self._most:
                self.kept = self.kept[::2]
                self._step *= 2
        self.total += 1


def listed_evictions(
    rows: Iterable[EvictionRow], places: Mapping[str, int], start_ms: int, most: int
) -> ListedEvictions:
    """Return at most *most* of *rows*; *places* says where each queue stands.

    Equal sentences are told once. Cost: linear in the rows; memory: *most* of them.
    """
    assert most > 0
    thinned = _Thinned(most)
    for row in rows:
        thinned.add(row)
    kept = thinned.kept
    sentences: dict[str, int] = {}
    why = [sentences.setdefault(_short(row.sentence), len(sentences)) for row in kept]
    return ListedEvictions(
        total=thinned.total,
        at_ms=[row.at_ms - start_ms for row in kept],
        job=[row.job for row in kept],
        queue=[places.get(row.queue) for row in kept],
        pods=[row.pods for row in kept],
        cause=[row.cause for row in kept],
        beneficiary=[row.beneficiary or "" for row in kept],
        why=why,
        sentences=list(sentences),
    )


def _short(sentence: str) -> str:
    if len(sentence) <= LONGEST_SENTENCE:
        return sentence
    return sentence[: LONGEST_SENTENCE - 1] + "…"
