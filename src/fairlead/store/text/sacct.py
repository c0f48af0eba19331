"""What single fields of ``sacct`` mean: moments, lengths, and what was allocated."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from fairlead.model.axes import QueueName
from fairlead.model.quantity import MAX_QUANTITY
from fairlead.store.text.bad_lines import END_OF_TIME_MS, BadLines, check_moment
from fairlead.usage.entries import Held

RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
"""What is counted, in the order of the amounts."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_END_OF_TIME: Final = datetime(2201, 1, 1, tzinfo=UTC)
_STILL_RUNS: Final = ("Unknown", "None", "")
_NUMBER: Final = re.compile(r"(?P<number>[0-9]{1,18}(?:\.[0-9]{1,9})?)(?P<suffix>[KMGTPE]?)")
_MIB: Final = 2**20
_BYTES: Final[Mapping[str, int]] = {
    "": _MIB,  # what Slurm counts memory in
    "K": 2**10,
    "M": _MIB,
    "G": 2**30,
    "T": 2**40,
    "P": 2**50,
    "E": 2**60,
}


def start_ms(text: str, time_zone: ZoneInfo) -> int:
    """Return a moment: ISO 8601, or seconds since 1970 as with ``SLURM_TIME_FORMAT=%s``.

    Without a zone of its own it is in *time_zone*; of an hour that the clock showed twice, the
    first. Raises ValueError for anything else.
    """
    return _turns(text, time_zone)[0]


def run_ms(
    start: str, end: str, lasted_ms: int | None, time_zone: ZoneInfo
) -> tuple[int, int | None]:
    """Return when a job began and ended; the end is None if it still ran.

    In an hour that the clock showed twice, *lasted_ms* says which turn is meant. Where it is not
    told, or fits none because the job was suspended in between, it is the first turn, unless the
    end would be before the start. Raises ValueError if it is so in any turn.
    """
    begins = _turns(start, time_zone)
    if end in _STILL_RUNS:
        return begins[0], None
    ends = _turns(end, time_zone)
    possible = [(begin, stop) for begin in begins for stop in ends if begin <= stop]
    if not possible:
        raise ValueError(f"found the end {end}, which is before the start")
    fitting = (run for run in possible if run[1] - run[0] == lasted_ms)
    return next(fitting, possible[0])


def elapsed_ms(text: str) -> int | None:
    """Return for how long a job ran, from ``ElapsedRaw``; None where it is not told."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        raise ValueError(f"found ElapsedRaw {text!r}, expected whole seconds")
    return int(text) * 1000


@lru_cache(maxsize=4096)  # jobs come in few sizes, and exact fractions are slow
def allocated_amounts(text: str) -> tuple[int, ...]:
    """Return what a list such as ``cpu=4,mem=16G,gres/gpu=2`` has of each of `RESOURCES`.

    GPUs with a model count if there is no total without one: Slurm lists both.
    """
    found = {"cpu": Fraction(0), "mem": Fraction(0)}
    gpus: Fraction | None = None
    gpus_by_model = Fraction(0)
    for item in filter(None, text.split(",")):
        name, _, number = item.partition("=")
        if name in found:
            found[name] = _quantity(item, number, _BYTES if name == "mem" else {"": 1})
        elif name == "gres/gpu":
            gpus = _quantity(item, number, {"": 1})
        elif name.startswith("gres/gpu:"):
            gpus_by_model += _quantity(item, number, {"": 1})
    devices = gpus_by_model if gpus is None else gpus
    return (_up(found["cpu"] * 1000), _up(found["mem"]), _up(devices * 1000))


def _up(value: Fraction) -> int:
    """Rounded up to a whole base unit, as all requests are."""
    return -(-value.numerator // value.denominator)


def _quantity(item: str, text: str, sizes: Mapping[str, int]) -> Fraction:
    match = _NUMBER.fullmatch(text)
    if match is None or match["suffix"] not in sizes:
        raise ValueError(f"found {item!r}, expected such as cpu=4, mem=16G or gres/gpu=2")
    amount = Fraction(match["number"]) * sizes[match["suffix"]]
    if amount > MAX_QUANTITY:
        raise ValueError(f"found {item!r}, expected at most {MAX_QUANTITY} in all")
    return amount


@lru_cache(maxsize=4096)  # a start is asked for twice, and tasks of an array begin together
def _turns(text: str, time_zone: ZoneInfo) -> tuple[int, ...]:
    """The moments that a text may mean: in an hour that the clock showed twice, there are two."""
    moment = _moment(text, time_zone)
    first_ms = _milliseconds(moment, text)
    again = moment.replace(fold=1)
    if again.utcoffset() == moment.utcoffset():
        return (first_ms,)
    second_ms = _milliseconds(again, text)
    # Of an hour that was skipped the "second turn" is before the first, and means nothing.
    return (first_ms, second_ms) if second_ms > first_ms else (first_ms,)


def _moment(text: str, time_zone: ZoneInfo) -> datetime:
    if text.isascii() and text.isdecimal() and len(text) <= 11:
        return _EPOCH + timedelta(seconds=int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise ValueError(f"found the time {text!r}, expected 2026-11-16T09:00:00") from wrong
    return moment.replace(tzinfo=time_zone) if moment.tzinfo is None else moment


def _milliseconds(moment: datetime, text: str) -> int:
    if not _EPOCH <= moment < _END_OF_TIME:
        raise ValueError(f"found the time {text}, expected one in the years 1970 to 2200")
    return (moment.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)


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
