"""``evictions.csv``: a line whenever pods are told to leave, with the numbers that decided it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from fairlead.model.plan import Reason
from fairlead.sim.happenings import Cause, ToldToLeave
from fairlead.sim.results.csv_file import CsvFile, read_table
from fairlead.sim.results.file_errors import damaged
from fairlead.sim.results.reason_json import reason_json, reason_of
from fairlead.sim.results.rows import EvictionRow

COLUMNS: Final = (
    "at_ms",
    "job",
    "queue",
    "pods",
    "cause",
    "beneficiary",
    "code",
    "reason",
    "sentence",
)
_CAUSES: Final[dict[str, Cause]] = {
    "evicted": "evicted",
    "moved": "moved",
    "node-lost": "node-lost",
}

Phrase: TypeAlias = Callable[[Reason], str]
"""Says a reason in a sentence. Sentences are made in a higher layer, so it comes from outside."""


def code_of(reason: Reason) -> str:
    """Say a reason by its code alone."""
    return reason.code


class EvictionTable:
    """Writes who is told to leave."""

    def __init__(self, path: Path, phrase: Phrase) -> None:
        """Begin the table anew."""
        self._file = CsvFile(path, COLUMNS)
        self._phrase = phrase

    def add(self, told: ToldToLeave) -> None:
        """Write one line."""
        reason = told.reason
        self._file.add(
            (
                told.at_ms,
                told.job.name,
                told.job.queue,
                told.pods,
                told.cause,
                told.beneficiary,
                None if reason is None else reason.code,
                None if reason is None else reason_json(reason),
                "its node is gone" if reason is None else self._phrase(reason),
            )
        )

    def close(self) -> None:
        """Leave the table as it is."""
        self._file.close()


def read_evictions(path: Path) -> Iterator[EvictionRow]:
    """Yield the lines of a table, one at a time."""
    for line, cells in read_table(path, COLUMNS):
        try:
            row = _row(cells)
        except (ValueError, KeyError) as wrong:
            raise damaged(path, line, f"found no eviction: {wrong}") from None
        yield row


def _row(cells: list[str]) -> EvictionRow:
    at, job, queue, pods, cause, beneficiary, _, reason, sentence = cells
    return EvictionRow(
        at_ms=int(at),
        job=job,
        queue=queue,
        pods=int(pods),
        cause=_CAUSES[cause],
        beneficiary=beneficiary or None,
        reason=reason_of(reason) if reason else None,
        sentence=sentence,
    )
