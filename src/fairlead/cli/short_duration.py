"""Lengths of time as people read them in a table: two units at most."""

from typing import Final

_SECOND_MS: Final = 1000
_MINUTE_MS: Final = 60 * _SECOND_MS
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS


def short_duration(length_ms: float) -> str:
    """Return *length_ms* rounded to what matters: ``1.5s``, ``3m12s``, ``5h3m``, ``2d4h``."""
    if length_ms < 0:
        return f"-{short_duration(-length_ms)}"
    if length_ms < 10 * _SECOND_MS:
        tenths = f"{length_ms / _SECOND_MS:.1f}".removesuffix(".0")
        return f"{tenths}s"
    if (seconds := round(length_ms / _SECOND_MS)) < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return _two(seconds, 60, "m", "s")
    if (minutes := round(length_ms / _MINUTE_MS)) < 24 * 60:
        return _two(minutes, 60, "h", "m")
    return _two(round(length_ms / _HOUR_MS), 24, "d", "h")


def _two(count: int, size: int, large: str, small: str) -> str:
    whole, rest = divmod(count, size)
    return f"{whole}{large}{rest}{small}" if rest else f"{whole}{large}"
