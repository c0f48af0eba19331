"""Times as Kubernetes writes them (RFC 3339), in whole milliseconds since 1970, UTC."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_TIMESTAMP = re.compile(
    r"(?P<date_and_time>[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.(?P<decimals>[0-9]{1,9}))?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=1024)  # objects that were made together have the same times
def parse_timestamp(text: str) -> int:
    """Read an RFC 3339 time as milliseconds since 1970; raise `ValueError` for anything else.

    What is finer than a millisecond is cut off. A leap second (``:60``) is refused, as Go does.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 time")
    east = timedelta(hours=int(match["hours"] or 0), minutes=int(match["minutes"] or 0))
    zone = timezone(-east if match["sign"] == "-" else east)
    moment = datetime.fromisoformat(match["date_and_time"].upper()).replace(tzinfo=zone)
    whole_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
    return whole_ms + int((match["decimals"] or "").ljust(3, "0")[:3])
