"""When a cron expression last fired.

The library steps through local time. A step back from within the hour that comes twice in autumn
would miss what fired in its first turn, so the search begins ahead of now and the first firing that
is not after now, on the clock that never jumps, is the answer. What is due in the hour that spring
leaves out fires at the end of it; what is due in the doubled hour fires in the first turn only,
unless the expression names no fixed minute and hour.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from fairlead.errors import UsageError
from fairlead.usage.settings import MINUTE_MS, SECOND_MS

NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
AHEAD = timedelta(hours=3)  # no clock is set back by more


def last_firing_ms(expression: str, time_zone: str, now_ms: int) -> int:
    """The last firing not after *now_ms*; UsageError if there is none, or no such expression.

    Cron fires on whole minutes, so one answer serves for the minute.
    """
    return _last_firing_s(expression, time_zone, now_ms // MINUTE_MS * 60) * SECOND_MS


@lru_cache(maxsize=256)
def _last_firing_s(expression: str, time_zone: str, now_s: int) -> int:
    fields = NAMED.get(expression.strip(), expression)
    if len(fields.split()) != 5:
        raise UsageError(
            f"cron expression {expression!r} must have five fields: minute, hour, day of month, "
            f"month, day of week; or be one of {', '.join(NAMED)}"
        )
    local = datetime.fromtimestamp(now_s, UTC).astimezone(_zone(time_zone))
    try:
        firings = CronSim(fields, local + AHEAD, reverse=True)
    except CronSimError as problem:
        raise UsageError(f"cron expression {expression!r}: {problem}") from problem
    for firing in firings:
        fired_s = int(firing.timestamp())
        if fired_s <= now_s:
            return fired_s
    raise UsageError(f"cron expression {expression!r} has not fired in fifty years")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise UsageError(
            f"time zone {name!r} is not known here; one is named like Europe/Berlin"
        ) from problem
