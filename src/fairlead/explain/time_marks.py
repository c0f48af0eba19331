"""Marks on the time axis of a picture: dates in UTC, or how long ago it began."""

from datetime import UTC
from typing import TYPE_CHECKING

from fairlead.model.duration import format_duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DAY_MS = 86_400_000


def mark_time(panel: "Axes", *, is_dated: bool) -> None:
    """Mark the time axis, on which the library counts days; without dates, lengths of time."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    # The library has no types for these two.
    locator = AutoDateLocator(tz=UTC, minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    panel.xaxis.set_major_locator(locator)
    if is_dated:
        text = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
        panel.xaxis.set_major_formatter(text)
    else:
        panel.xaxis.set_major_formatter(lambda day, _: format_duration(round(day * DAY_MS)))
    panel.tick_params(labelsize=9)
