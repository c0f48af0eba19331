"""What single fields of ``sacct`` mean: moments, lengths, and what was allocated."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

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
    return Fraction(match["number"]) * sizes[match["suffix"]]


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
