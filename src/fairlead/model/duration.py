"""Durations as users write them, in whole milliseconds.

The objects that we read come from two worlds: Go's form (`1h30m`, `1.5h`, `500ms`) and
Prometheus's (`1w`, `7d`, `1d12h`). Either is accepted where a duration stands, because users mix
them up and a scheduler must not fall over on `1w`. What both refuse is refused here too.
"""

import re
from datetime import UTC, datetime

from fairlead.errors import DurationError

MAX_TEXT_LENGTH = 64
MAX_NS = 2**63 - 1  # about 292 years: the longest duration that Go can hold

_NS_PER_MS = 1_000_000
_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,  # Greek small letter mu
    "ms": _NS_PER_MS,
    "s": 1_000 * _NS_PER_MS,
    "m": 60_000 * _NS_PER_MS,
    "h": 3_600_000 * _NS_PER_MS,
    "d": 24 * 3_600_000 * _NS_PER_MS,
    "w": 7 * 24 * 3_600_000 * _NS_PER_MS,
    "y": 365 * 24 * 3_600_000 * _NS_PER_MS,
}
_TERM = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w|y)")
_GO = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+")
_PROMETHEUS = re.compile(
    r"(?=[0-9])(?:[0-9]+y)?(?:[0-9]+w)?(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?(?:[0-9]+ms)?"
)
_ZERO = re.compile(r"[+-]?0")
_EXPECTED = "expected a duration such as 90s, 1h30m, 168h, 7d or 1w"
_SHOWN_UNITS_MS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}


def parse_duration(text: str) -> tuple[int, bool]:
    """Read a duration in Go's or Prometheus's form as milliseconds, and whether that is exact.

    What is finer than a millisecond is cut off towards zero. Years, weeks and days are
    Prometheus's (365, 7 and 1 times 24 h): whole, without a sign, largest unit first. Raises
    `DurationError` for anything else. Cost: bounded, whatever the text.
    """
    if len(text) > MAX_TEXT_LENGTH:
        raise DurationError(
            f"found a text of {len(text)} characters, {_EXPECTED} (at most {MAX_TEXT_LENGTH})"
        )
    if _ZERO.fullmatch(text):
        return 0, True
    if not (_GO.fullmatch(text) or _PROMETHEUS.fullmatch(text)):
        raise DurationError(f"found {text!r}, {_EXPECTED}")
    length_ns, exact = 0, True
    for number, unit in _TERM.findall(text):
        term_ns, term_exact = _times(number, _UNITS_NS[unit])
        length_ns += term_ns
        exact = exact and term_exact
    if length_ns > MAX_NS:
        raise DurationError(f"found {text!r}, expected at most 292 years")
    length_ms, rest_ns = divmod(length_ns, _NS_PER_MS)
    return (-length_ms if text[0] == "-" else length_ms), exact and rest_ns == 0


def format_duration(length_ms: int) -> str:
    """Write milliseconds so that Go, Prometheus and `parse_duration` all read it: `168h`, `1h30m`.

    Law: ``parse_duration(format_duration(x)) == (x, True)`` for every x within 292 years; a
    negative one only Go and we can read.
    """
    if length_ms == 0:
        return "0s"
    terms = ["-"] if length_ms < 0 else []
    rest_ms = abs(length_ms)
    for unit, unit_ms in _SHOWN_UNITS_MS.items():
        count, rest_ms = divmod(rest_ms, unit_ms)
        if count:
            terms.append(f"{count}{unit}")
    return "".join(terms)


def _times(number: str, unit_ns: int) -> tuple[int, bool]:
    whole, _, decimals = number.partition(".")
    divisor = 10 ** len(decimals)
    product, rest = divmod(int(whole + decimals) * unit_ns, divisor)
    return product, rest == 0


def moment_text(at_ms: int) -> str:
    """Return a moment in UTC, in whole seconds: ``2026-11-16T08:00:00Z``."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
