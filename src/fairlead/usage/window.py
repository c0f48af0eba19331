"""Which part of the past counts: where a window over it begins.

A sliding window is as long as it is. A tumbling one begins at every multiple of its length from a
start; before that start the same grid goes on backward, so that every moment lies in a window. A
window by cron begins at the last firing of an expression, in a time zone of its own.
"""

from typing import TypeAlias

import msgspec

from fairlead.errors import UsageError


class WindowError(UsageError):
    """A window can never begin; the message says why, and *fix* what to write."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


class TimeZoneError(WindowError):
    """The name of a time zone is not known here."""


class Sliding(msgspec.Struct, frozen=True):
    """The last so many milliseconds."""

    length_ms: int


class Tumbling(msgspec.Struct, frozen=True):
    """What has passed since the last multiple of the length, counted from the start."""

    length_ms: int
    start_ms: int = 0


class Cron(msgspec.Struct, frozen=True):
    """What has passed since an expression of five fields, or a name such as @daily, last fired."""

    expression: str
    time_zone: str = "UTC"


Window: TypeAlias = Sliding | Tumbling | Cron


def begins_at(window: Window, now_ms: int) -> int:
    """Where the window that ends at *now_ms* begins; never after it.

    Raises WindowError for an expression or a time zone that means nothing.
    """
    match window:
        case Sliding(length_ms=length_ms):
            return now_ms - length_ms
        case Tumbling(length_ms=length_ms, start_ms=start_ms):
            return now_ms - (now_ms - start_ms) % length_ms
        case Cron(expression=expression, time_zone=time_zone):
            # Imported late: few windows need the library.
            from fairlead.usage.cron_firing import last_firing_ms

            return last_firing_ms(expression, time_zone, now_ms)


def check_window(window: Window) -> None:
    """Raise WindowError, with the reason and the cure, for a window that can never begin."""
    if not isinstance(window, Cron) and window.length_ms <= 0:
        raise WindowError(
            f"a window of {window.length_ms} ms is no window; it must be longer than 0",
            "write a length above 0",
        )
    begins_at(window, 0)
