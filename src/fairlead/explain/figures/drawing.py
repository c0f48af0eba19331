"""What all figures share: names that fit, fonts that have the letters, the time axis."""

import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import TYPE_CHECKING, Final

from fairlead.errors import FairleadError
from fairlead.model.duration import format_duration

BOXES_ONLY: Final = "Last Resort"  # of fonts that have a box for every letter


def fonts_for(letters: Iterable[str]) -> tuple[list[str], str]:
    """Return fonts to use after the usual one, and those *letters* that no installed font has.

    Of several fonts the one that has most of what is missing comes first, then by name. Cost:
    where the usual font has all letters, as for Latin, Greek and Cyrillic, no other is opened.
    """
    from matplotlib.font_manager import FontProperties, findfont

    missing = set(letters) - _had(str(findfont(FontProperties())), letters)
    chosen: list[str] = []
    has = _installed(missing) if missing else {}
    while has and missing:
        best = min(has, key=lambda name: (-len(has[name] & missing), name))
        if not has[best] & missing:
            break
        chosen.append(best)
        missing -= has[best]
    return chosen, "".join(sorted(missing))


def _installed(letters: set[str]) -> dict[str, set[str]]:
    """Which of *letters* each upright font of a common weight has."""
    from matplotlib.font_manager import fontManager

    return {
        font.name: _had(font.fname, letters)
        for font in fontManager.ttflist
        if font.style == "normal" and font.weight == 400 and not font.name.startswith(BOXES_ONLY)
    }


def _had(file: str, letters: Iterable[str]) -> set[str]:
    from matplotlib.font_manager import get_font

    try:
        font = get_font(file)
    except (OSError, RuntimeError):  # listed, but since removed or damaged
        return set()
    return {letter for letter in letters if font.get_char_index(ord(letter))}


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DAY_MS = 86_400_000


@contextmanager
def drawing_with(letters: Iterable[str], font_size: float | None = None) -> Iterator[str]:
    """Set the library up for pictures with these *letters*, so that equal input draws equally.

    Yields the letters that no installed font has. Raises FairleadError if the library is missing.
    """
    try:
        from matplotlib import rc_context, rcParams
    except ImportError as wrong:
        raise FairleadError(
            "pictures need matplotlib: install it, or fairlead with its extra plot"
        ) from wrong
    fonts, missing = fonts_for(set(letters))
    with rc_context(
        {
            "svg.hashsalt": "fairlead",  # without one, ids are random
            "svg.fonttype": "none",
            "font.family": [*rcParams["font.family"], *fonts],
            "font.size": font_size or rcParams["font.size"],
        }
    ):
        yield missing


def drawn(figure: "Figure", form: str) -> bytes:
    """Return a picture as a file of that *form*."""
    metadata = {"Date": None} if form == "svg" else {}
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # we tell it ourselves
        figure.savefig(picture, format=form, dpi=120, metadata=metadata)
    return picture.getvalue()


def finish_panel(panel: "Axes", *, is_dated: bool) -> None:
    """Draw the grid, and mark the time axis, on which the library counts days.

    Without dates it shows lengths of time.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    panel.set_axisbelow(True)

    # The library has no types for these two.
    locator = AutoDateLocator(tz=UTC, minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    panel.xaxis.set_major_locator(locator)
    if is_dated:
        text = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
        panel.xaxis.set_major_formatter(text)
    else:
        panel.xaxis.set_major_formatter(lambda day, _: format_duration(round(day * DAY_MS)))
    panel.tick_params(labelsize=9)
