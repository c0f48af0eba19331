"""What became of the rows of a trace: how many gave jobs, and why the others did not."""

from collections import Counter
from typing import Final

from fairlead.errors import Finding
from fairlead.sim.traces.trace_job import RowError

MOST_FINDINGS: Final = 10
"""Broken rows beyond these are only counted: they mostly have one cause."""
MOST_CHARACTERS: Final = 200
BROKEN_ROW: Final = "broken-row"


class TraceTally:
    """The books of one reading of a trace.

    Law: once all jobs were taken, ``rows`` is ``given`` plus all that was dropped plus ``broken``.
    """

    def __init__(self, file: str = "") -> None:
        """Begin with nothing read; *file* is how the trace is called."""
        self.file = file
        self.rows = 0  # with something in them that is not a heading or a comment
        self.given = 0
        self.broken = 0
        self.sharing_gpu = 0  # of those given: jobs that take part of a device
        self.dropped: Counter[str] = Counter()  # by reason
        self.findings: list[Finding] = []  # about the first broken rows

    def add_broken(self, line: int, wrong: RowError) -> None:
        """Count a broken row, and keep what is wrong if it is among the first."""
        self.broken += 1
        if len(self.findings) >= MOST_FINDINGS:
            return
        message = str(wrong)
        if len(message) > MOST_CHARACTERS:
            half = MOST_CHARACTERS // 2  # the end says what was expected
            message = f"{message[:half]}...{message[-half:]}"
        self.findings.append(
            Finding(
                severity="warning",
                code=BROKEN_ROW,
                file=self.file,
                line=line,
                path=wrong.column,
                message=message,
                fix="correct or remove this row",
            )
        )

    def lines(self) -> list[str]:
        """Return the books for people, one fact a line, most frequent reason first."""
        facts = [f"{self.file}: {_count(self.rows, 'row')}, {_count(self.given, 'job')}"]
        if self.broken:
            facts.append(f"broken: {_count(self.broken, 'row')}")
        by_count = sorted(self.dropped.items(), key=lambda each: (-each[1], each[0]))
        facts += [f"dropped: {_count(count, 'row')}, {why}" for why, count in by_count if count]
        if self.sharing_gpu:
            facts.append(f"share a GPU with others: {_count(self.sharing_gpu, 'job')}")
        return facts


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
