"""What single fields of ``sacct`` mean: moments, lengths, and what was allocated."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
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
    return _milliseconds(_moment(text, time_zone), text)


def end_ms(text: str, begins_ms: int, time_zone: ZoneInfo) -> int | None:
    """Return when a job ended; None if it still ran. Raises ValueError if that is no such moment.

    An end before the start, in an hour that the clock showed twice, is in that hour's second turn.
    """
    if text in _STILL_RUNS:
        return None
    moment = _moment(text, time_zone)
    ends_ms = _milliseconds(moment, text)
    if ends_ms < begins_ms and moment.tzinfo is time_zone:
        ends_ms = _milliseconds(moment.replace(fold=1), text)
    if ends_ms < begins_ms:
        raise ValueError(f"found the end {text}, which is before the start")
    return ends_ms


def elapsed_ms(text: str) -> int | None:
    """Return for how long a job ran, from ``ElapsedRaw``; None where it is not told."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        raise ValueError(f"found ElapsedRaw {text!r}, expected whole seconds")
    return int(text) * 1000


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
