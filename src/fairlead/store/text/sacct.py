"""The history of a Slurm site, from what ``sacct --parsable2`` prints, as entries about use.

Each job counts from its start to its end with what was allocated to it. Jobs of one user and queue
that overlap are summed into levels. Left out are the steps of jobs, jobs that never started, and
jobs that held nothing that is counted. What still ran is charged up to the last moment that the
text knows of; from then on nothing is held, because Slurm's jobs are not in our hands.

It counts cpu, memory and GPUs. Slurm keeps no capacity: that is for the caller to say.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from fairlead.model.axes import QueueName
from fairlead.store.text.bad_lines import BadLines
from fairlead.store.text.sacct_fields import (
    RESOURCES,
    allocated_amounts,
    elapsed_ms,
    run_ms,
    start_ms,
)
from fairlead.store.text.text_head import END_OF_TIME_MS, check_moment
from fairlead.usage.entries import Held

NEEDED: Final = ("JobID", "Account", "User", "Start", "End")
ALLOCATED: Final = ("AllocTRES", "TRES")
COMMAND: Final = (
    "sacct --allusers --parsable2 --format JobID,Account,User,Start,End,ElapsedRaw,State,AllocTRES"
)

STEPS: Final = "steps of jobs"
NEVER_STARTED: Final = "never started"
HELD_NOTHING: Final = "held nothing that is counted"
ONE_LEFT_OUT: Final[Mapping[str, str]] = {STEPS: "step of a job"}
"""How a reason to leave lines out reads for one line, where that differs."""


class SacctJob(msgspec.Struct, frozen=True, kw_only=True):
    """What one job held, and when."""

    account: str
    user: str
    start_ms: int
    end_ms: int | None  # None: it still ran
    elapsed_ms: int | None  # None: not told
    amounts: tuple[int, ...]  # one for each of RESOURCES


class SacctHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What a text told: the jobs that count, and how many lines do not and why."""

    jobs: list[SacctJob]
    left_out: dict[str, int]


def read_sacct(
    lines: Iterable[str], name: str, time_zone: ZoneInfo, *, until_ms: int = END_OF_TIME_MS
) -> SacctHistory:
    """Read all of a text, or raise StoreError that tells of each bad line where, what and the cure.

    Times without a zone of their own are those of *time_zone*. Of a job that is there twice with
    the same start, as in two texts put together, the line that knows the end counts. Jobs that
    begin, or held something, from *until_ms* on are refused.
    """
    bad = BadLines(name)
    jobs: dict[tuple[str, int], SacctJob] = {}
    left_out: dict[str, int] = {}
    for number, row in _rows(lines, bad):
        try:
            why = _why_left_out(row)
            job = None if why else _job(row, time_zone, until_ms)
        except ValueError as wrong:
            bad.add(number, str(wrong), "correct or remove this line")
            continue
        if job is None or not any(job.amounts):
            why = why or HELD_NOTHING
            left_out[why] = left_out.get(why, 0) + 1
            continue
        # As it is written: of two lines about one run, maybe only the one with the end knows the
        # turn of an hour that came twice.
        key = (row["JobID"], start_ms(row["Start"], time_zone))
        if key not in jobs or job.end_ms is not None:
            jobs[key] = job
    bad.raise_if_any()
    return SacctHistory(jobs=list(jobs.values()), left_out=left_out)


def last_known_ms(jobs: Iterable[SacctJob]) -> int | None:
    """The last moment of which the jobs tell anything; None if there are none."""
    return max((_known_until_ms(job) for job in jobs), default=None)


def held_entries(
    jobs: Iterable[SacctJob], queue_of: Callable[[str], QueueName | None]
) -> list[Held]:
    """Return what users held in queues, change by change, in the order of time.

    *queue_of* says which queue an account is; None leaves its jobs out. Law: amount times
    time is that of the jobs together, and at the end nothing is held. Cost: O(n log n).
    """
    jobs = list(jobs)
    last_ms = last_known_ms(jobs)
    changes: dict[tuple[int, QueueName, str], list[int]] = {}
    for job in jobs:
        queue = queue_of(job.account)
        if queue is None:
            continue
        ends_ms = last_ms if job.end_ms is None else job.end_ms
        assert ends_ms is not None, "there is a job, so something is known"
        for at_ms, sign in ((job.start_ms, 1), (ends_ms, -1)):
            change = changes.setdefault((at_ms, queue, job.user), [0] * len(RESOURCES))
            for place, amount in enumerate(job.amounts):
                change[place] += sign * amount
    return list(_levels(changes))


def _levels(changes: Mapping[tuple[int, QueueName, str], list[int]]) -> Iterator[Held]:
    held: dict[tuple[QueueName, str], tuple[int, ...]] = {}
    for (at_ms, queue, user), change in sorted(changes.items()):
        if not any(change):
            continue  # one job began as an equal one ended
        before = held.get((queue, user), (0,) * len(RESOURCES))
        amounts = tuple(map(int.__add__, before, change))
        held[queue, user] = amounts
        yield Held(at_ms=at_ms, queue=queue, user=user, amounts=amounts)


def _rows(lines: Iterable[str], bad: BadLines) -> Iterator[tuple[int, dict[str, str]]]:
    numbered = enumerate(lines, start=1)
    _, head = next(numbered, (1, ""))
    names = head.rstrip("\r\n").split("|")
    missing = [name for name in NEEDED if name not in names]
    if not any(name in names for name in ALLOCATED):
        missing.append(ALLOCATED[0])
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        bad.add(1, f"found the column {twice[0]} twice in the first line", f"use {COMMAND}")
    if missing:
        bad.add(1, f"found no column {', '.join(missing)} in the first line", f"use {COMMAND}")
    bad.raise_if_any()
    for number, line in numbered:
        cells = line.rstrip("\r\n").split("|")
        if cells == [""]:
            continue
        if cells == names:
            continue  # the head of a second text that was put behind the first
        if len(cells) != len(names):
            count = "1 field" if len(cells) == 1 else f"{len(cells)} fields"
            found = f"found {count}, expected {len(names)} as in the first line"
            bad.add(number, found, f"leave out names of jobs, which may have a |: use {COMMAND}")
            continue
        yield number, dict(zip(names, cells, strict=True))


def _why_left_out(row: Mapping[str, str]) -> str:
    if "." in row["JobID"]:
        return STEPS
    if row["Start"] in ("Unknown", "None", ""):
        return NEVER_STARTED
    return ""


def _job(row: Mapping[str, str], time_zone: ZoneInfo, until_ms: int) -> SacctJob | None:
    """Return the job; None if it ended the moment it began."""
    if not row["JobID"]:
        raise ValueError("found no JobID, expected one such as 4107 or 4104_1")
    lasted_ms = elapsed_ms(row.get("ElapsedRaw", ""))
    begins_ms, ends_ms = run_ms(row["Start"], row["End"], lasted_ms, time_zone)
    allocated = next(row[name] for name in ALLOCATED if name in row)
    job = SacctJob(
        account=row["Account"],
        user=row["User"],
        start_ms=begins_ms,
        end_ms=ends_ms,
        elapsed_ms=lasted_ms,
        amounts=allocated_amounts(allocated),
    )
    check_moment(_known_until_ms(job), until_ms)
    return None if ends_ms == begins_ms else job


def _known_until_ms(job: SacctJob) -> int:
    if job.end_ms is not None:
        return job.end_ms
    return job.start_ms + (job.elapsed_ms or 0)
