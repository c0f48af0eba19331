"""Which rules about past use can hold together, and which hardly make sense together."""

from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import words
from fairlead.manifest.text.path import Path
from fairlead.model.duration import format_duration
from fairlead.usage.settings import MINUTE_MS, UsageRules
from fairlead.usage.window import (
    Cron,
    TimeZoneError,
    Window,
    WindowError,
    begins_at,
    check_window,
)

WindowType: TypeAlias = Literal["sliding", "tumbling", "cron"]

WINDOW_TYPES: Final[dict[str, WindowType]] = words(WindowType)
SAMPLES_PER_HALF_LIFE: Final = 10
WINDOWS_BY_CRON: Final = 12  # a year of months, since they differ in length
# A reader of objects does not know what time it is. A start in 2050 or later is hardly meant.
FAR_AHEAD_MS: Final = 2_524_608_000_000


class RulePlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where in an object its rules stand."""

    window: Path
    half_life: Path
    resolution: Path


def can_begin(window: Cron, cursor: Cursor, at: str) -> bool:
    """Return whether a window by cron can ever begin; if not, that is an error at *at*."""
    try:
        check_window(window)
    except WindowError as wrong:
        code = "bad-time-zone" if isinstance(wrong, TimeZoneError) else "bad-cron"
        cursor.error(at, code, str(wrong), wrong.fix)
        return False
    return True


def longest_ms(window: Window) -> int:
    """Return how much of the past a window may hold; one by cron as its firings up to 1970 show.

    It must be one that can begin.
    """
    if not isinstance(window, Cron):
        return window.length_ms
    longest_so_far_ms, end_ms = 0, begins_at(window, 0)
    for _ in range(WINDOWS_BY_CRON):
        begin_ms = begins_at(window, end_ms - 1)
        longest_so_far_ms = max(longest_so_far_ms, end_ms - begin_ms)
        end_ms = begin_ms
    return longest_so_far_ms


def is_shorter_than_a_sample(rules: UsageRules) -> bool:
    """Return whether use is summed up from samples, and a window may have none in it."""
    window = rules.window
    if rules.way == "exact" or isinstance(window, Cron):
        return False
    return window.length_ms < rules.resolution_ms


def is_far_ahead(start_ms: int) -> bool:
    """Return whether a window starts so late that it is hardly meant, whatever time it is."""
    return start_ms >= FAR_AHEAD_MS


def year_of(start_ms: int) -> int:
    """Return the year in which a window starts."""
    return datetime.fromtimestamp(start_ms // 1000, UTC).year


def advise_on_rules(rules: UsageRules, cursor: Cursor, places: RulePlaces) -> None:
    """Remark on what is legal and hardly meant."""
    window = rules.window
    is_short = not isinstance(window, Cron) and window.length_ms < MINUTE_MS
    if is_short and not is_shorter_than_a_sample(rules):
        message = "found a window shorter than a minute: past usage is forgotten at once"
        cursor.advise(places.window, "ill-matched", message, "write a longer one, such as 1w")
    if rules.half_life_ms is None:
        return
    if rules.half_life_ms < MINUTE_MS:
        message = "found a half-life shorter than a minute: past usage is forgotten at once"
        cursor.advise(places.half_life, "ill-matched", message, "write a longer one, such as 1d")
        return
    _advise_on_half_life(rules, rules.half_life_ms, cursor, places)


def _advise_on_half_life(
    rules: UsageRules, half_life_ms: int, cursor: Cursor, places: RulePlaces
) -> None:
    half_life = format_duration(half_life_ms)
    window = rules.window
    if not isinstance(window, Cron) and window.length_ms < half_life_ms:
        length = format_duration(window.length_ms)
        message = f"found a half-life of {half_life} in a window of {length}: "
        message += "past usage leaves the window before it has faded by half"
        fix = f"write a half-life of {length} or less, or a longer window"
        cursor.advise(places.half_life, "ill-matched", message, fix)
    is_coarse = rules.resolution_ms * SAMPLES_PER_HALF_LIFE > half_life_ms
    if rules.way == "sampled" and is_coarse:
        finest = format_duration(half_life_ms // SAMPLES_PER_HALF_LIFE)
        message = f"found samples {format_duration(rules.resolution_ms)} apart beside a half-life "
        message += f"of {half_life}: what came first and last within a sample counts the same"
        cursor.advise(places.resolution, "ill-matched", message, f"write {finest} or less")
