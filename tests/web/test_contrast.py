"""Texts of a page can be read, and lines of a picture seen, in light and in dark."""

import re
from importlib.resources import files
from itertools import pairwise

import pytest

STYLE = files("fairlead.web.page").joinpath("page.css").read_text(encoding="utf-8")
THEMES = ("light", "dark")
PAIR = r"light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)"


def colours(name: str) -> list[tuple[str, ...]]:
    """Every value of a variable, in light and in dark."""
    return re.findall(rf"--{name}: {PAIR}", STYLE)


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_definition() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("text", "ground"),
        ("text", "panel"),
        ("faint", "ground"),
        ("faint", "panel"),
        ("mark", "ground"),
        ("mark", "panel"),
        ("warn", "ground"),
        ("warn", "warn-ground"),
    ],
)
def test_texts_have_a_contrast_of_four_and_a_half(text: str, ground: str, theme: str) -> None:
    at = THEMES.index(theme)
    ((*texts,), (*grounds,)) = colours(text)[0], colours(ground)[0]
    assert contrast(texts[at], grounds[at]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_edges_and_lines_of_queues_have_a_contrast_of_three(theme: str) -> None:
    at = THEMES.index(theme)
    ground = colours("ground")[0][at]
    edges = [each[at] for each in colours("e")]
    assert len(edges) == 9
    assert [edge for edge in edges if contrast(edge, ground) < 3] == []


@pytest.mark.parametrize("theme", THEMES)
def test_areas_that_lie_on_each_other_differ_in_lightness(theme: str) -> None:
    """So that they can be told apart without their colours; the last one lies on the seventh."""
    at = THEMES.index(theme)
    fills = [each[at] for each in colours("c")]
    stacked = [*fills[:7], fills[-1]]
    assert [pair for pair in pairwise(stacked) if contrast(*pair) < 1.3] == []
