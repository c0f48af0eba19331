"""When a cron expression last fired.

The library steps through local time. A step back from within the hour that comes twice in autumn
would miss what fired in its first turn, so the search begins ahead of now and the first firing that
is not after now, on the clock that never jumps, is the answer. What is due in the hour that spring
leaves out fires at the end of it; what is due in the doubled hour fires in the first turn only,
unless the expression names no fixed minute and hour.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from fairlead.usage.settings import MINUTE_MS, SECOND_MS
from fairlead.usage.window import TimeZoneError, WindowError

NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MAX_SHOWN: Final = 80  # characters of a text in a message
AHEAD = timedelta(hours=3)  # no clock is set back by more
WRITE_FIELDS: Final = (
    'write five fields: minute, hour, day of month, month, day of week, such as "0 0 * * 1"; '
    f"or one of {', '.join(NAMED)}"
)
_FIELDS: Final = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of month", "1 to 31, or L for the last"),
    ("month", "1 to 12, or JAN to DEC"),
    ("day of week", "0 to 7, or SUN to SAT"),
)  # what each is called, and what may stand there


def last_firing_ms(expression: str, time_zone: str, now_ms: int) -> int:
    """The last firing not after *now_ms*; WindowError if there is none, or no such expression.

    Cron fires on whole minutes, so one answer serves for the minute.
    """
    return _last_firing_s(expression, time_zone, now_ms // MINUTE_MS * 60) * SECOND_MS


@lru_cache(maxsize=256)
def _last_firing_s(expression: str, time_zone: str, now_s: int) -> int:
    fields = NAMED.get(expression.strip(), expression)
    if len(fields.split()) != 5:
        raise WindowError(
            f"found the cron expression {_shown(expression)}, expected one of five fields",
            WRITE_FIELDS,
        )
    local = datetime.fromtimestamp(now_s, UTC).astimezone(_zone(time_zone))
    firings = _firings(fields, local + AHEAD)
    if firings is None:
        raise _explained(expression, fields.split(), local)
    for firing in firings:
        fired_s = int(firing.timestamp())
        if fired_s <= now_s:
            return fired_s
    raise WindowError(
        f"found the cron expression {_shown(expression)}, which never fires: not once in fifty "
        "years",
        "write days that there are, and months that have them",
    )


def _firings(fields: str, since: datetime) -> CronSim | None:
    """Firings from the last one before *since* backward; None if a field means nothing."""
    try:
        return CronSim(fields, since, reverse=True)
    except (CronSimError, ValueError):  # the second of a number with thousands of digits
        return None


def _explained(expression: str, written: list[str], since: datetime) -> WindowError:
    """Say which field is wrong and what may stand there.

    A field that is wrong is so among stars, too; where none is, the month lacks the day.
    """
    for place, (name, allowed) in enumerate(_FIELDS):
        among_stars = ["*"] * len(_FIELDS)
        among_stars[place] = written[place]
        if _firings(" ".join(among_stars), since) is None:
            return WindowError(
                f"found the {name} {_shown(written[place])} in the cron expression "
                f"{_shown(expression)}, expected {allowed}",
                f"for the {name} write {allowed}; or *, a list such as 1,3, a range such as 1-3, "
                "a step such as */3",
            )
    _, _, day, month, _ = written
    return WindowError(
        f"found the day of month {_shown(day)} in the cron expression {_shown(expression)}, "
        f"expected one that the month {_shown(month)} has",
        "write an earlier day, L for the last one, or another month",
    )


def _shown(text: str) -> str:
    """A user's text in quotes, cut when long."""
    return repr(text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}...")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise TimeZoneError(
            f"found the time zone {_shown(name)}, which is not known here",
            "write a name such as Europe/Berlin, or remove it for UTC",
        ) from problem
