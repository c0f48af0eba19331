"""What a text says before its entries: of which resources, and when somebody last looked.

Entries tell only changes. Without the last look nobody knows for how long the last of them held.
"""

from datetime import UTC, datetime, timedelta

import msgspec

END_OF_TIME_MS = 7_289_654_400_000  # the first moment of the year 2201, as for --now

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TextHead(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all entries of a text."""

    resources: tuple[str, ...]
    observed_ms: int | None = None  # when a scheduler last looked; None: never, or not told


def check_head(head: TextHead, until_ms: int) -> None:
    """Raise ValueError unless resources are named once and the last look is before *until_ms*."""
    if not head.resources:
        raise ValueError("found no resources, expected at least one")
    for name in head.resources:
        if not name or head.resources.count(name) > 1:
            raise ValueError(f"found the resource {name!r} twice or without a name")
    if head.observed_ms is not None:
        check_moment(head.observed_ms, until_ms)


def check_moment(at_ms: int, until_ms: int) -> None:
    """Raise ValueError for a time that must be a slip: no time at all, or from *until_ms* on."""
    if not 0 <= at_ms < END_OF_TIME_MS:
        raise ValueError(f"found the time {at_ms}, expected milliseconds in the years 1970 to 2200")
    if at_ms >= until_ms:
        raise ValueError(
            f"found the time {at_ms}, which is {_words(at_ms)} and more than a day from now; "
            "where the clock is wrong, say with --now what time it is"
        )


def _words(at_ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=at_ms)).strftime("%Y-%m-%dT%H:%M:%SZ")
