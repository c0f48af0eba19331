"""What ``sacct --parsable2`` prints, as jobs that a cluster could run again.

The record of usage reads the same text for another question: which queue held what, and when. Here
it matters when a job came and how long it ran. Both read single fields with the same functions.
"""

import re
from functools import lru_cache, partial
from typing import Final
from zoneinfo import ZoneInfo

from fairlead.sim.traces.exact_number import bounded, whole_between
from fairlead.sim.traces.trace_job import (
    GPU,
    MOST_PODS,
    Asks,
    RowError,
    RowReader,
    TraceError,
    TraceJob,
)
from fairlead.store.text.sacct_fields import (
    RESOURCES,
    allocated_amounts,
    elapsed_ms,
    run_ms,
    start_ms,
)

NEEDED: Final = ("JobID", "Submit", "Start", "End")
COMMAND: Final = (
    "sacct --allusers --parsable2 --format JobID,Account,User,Partition,Submit,Start,End,"
    "ElapsedRaw,TimelimitRaw,NNodes,AllocTRES"
)
_NOT_TOLD: Final = ("Unknown", "None", "")
_ALLOCATED: Final = ("AllocTRES", "TRES")
_LIMIT: Final = re.compile(
    r"(?:(?P<d>[0-9]{1,5})-)?(?P<h>[0-9]{1,5}):(?P<m>[0-9]{1,2}):(?P<s>[0-9]{1,2})"
)


def is_sacct_head(line: str) -> bool:
    """Whether a line is the first of such a text."""
    return "|" in line and "JobID" in line.split("|")


def sacct_reader(head: str, file: str, time_zone: ZoneInfo) -> RowReader:
    """Return the reader of a text with the first line *head*.

    Times without a zone of their own are those of *time_zone*. Raises `TraceError` if a column is
    missing.
    """
    names = head.split("|")
    missing = [name for name in NEEDED if name not in names]
    if not any(name in names for name in _ALLOCATED):
        missing.append(_ALLOCATED[0])
    if missing:
        raise TraceError(
            f"{file}: found no column {', '.join(missing)} in the first line", f"use {COMMAND}"
        )
    return RowReader(kind="sacct", read=partial(_read_line, names, time_zone), zero_unix_ms=0)


def _read_line(
    names: list[str], time_zone: ZoneInfo, _number: int, line: str
) -> TraceJob | str | None:
    cells = line.split("|")
    if cells in ([""], names):
        return None  # blank, or the head of a second text that was put behind the first
    if len(cells) != len(names):
        raise RowError(
            "row",
            f"found {len(cells)} fields, expected {len(names)} as in the first line: leave out "
            "names of jobs, which may have a |",
        )
    row = dict(zip(names, cells, strict=True))
    if "." in row["JobID"]:
        return "steps of jobs"
    if row["Start"] in _NOT_TOLD:
        return "never started"
    if row["End"] in _NOT_TOLD:
        return "still ran when the trace was made"
    try:
        return _job(row, time_zone)
    except RowError:
        raise
    except ValueError as wrong:
        raise RowError("row", str(wrong)) from wrong


def _job(row: dict[str, str], time_zone: ZoneInfo) -> TraceJob:
    lasted_ms = elapsed_ms(row.get("ElapsedRaw", ""))
    begins_ms, ends_ms = run_ms(row["Start"], row["End"], lasted_ms, time_zone)
    assert ends_ms is not None, "the end is known"
    submit_ms = start_ms(row["Submit"], time_zone)
    allocated = next(row[name] for name in _ALLOCATED if name in row)
    return TraceJob(
        id=row["JobID"],
        submit_ms=submit_ms,
        # What Slurm counts as elapsed leaves out the time for which a job was suspended.
        run_ms=ends_ms - begins_ms if lasted_ms is None else lasted_ms,
        user=row.get("User", ""),
        group=row.get("Account", ""),
        queue=row.get("Partition", ""),
        asks=_asks(allocated),
        pods=_nodes(row.get("NNodes") or row.get("AllocNodes") or "1"),
        asked_ms=_limit_ms(row.get("TimelimitRaw", ""), row.get("Timelimit", "")),
        wait_ms=max(0, begins_ms - submit_ms),
    )


@lru_cache(maxsize=65536)  # jobs come in few sizes
def _asks(allocated: str) -> Asks:
    """What was given to a job. No job runs without cpu and memory: 0 is a site that counts none."""
    amounts = zip(RESOURCES, allocated_amounts(allocated), strict=True)
    return tuple((name, bounded(amount)) for name, amount in amounts if amount or name == GPU)


def _nodes(text: str) -> int:
    try:
        return max(1, whole_between(text, 0, MOST_PODS))
    except ValueError as wrong:
        raise RowError("NNodes", str(wrong)) from wrong


def _limit_ms(minutes: str, clock: str) -> int | None:
    """Return the asked time; None where there is no number, as with UNLIMITED."""
    if minutes.isascii() and minutes.isdecimal() and len(minutes) <= 9:
        return int(minutes) * 60_000
    match = _LIMIT.fullmatch(clock)
    if match is None:
        return None
    days, hours, rest, seconds = (int(match[part] or 0) for part in "dhms")
    return (((days * 24 + hours) * 60 + rest) * 60 + seconds) * 1000
