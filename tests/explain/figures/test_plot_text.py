"""Names in a picture: how they are shortened, and which fonts are found for them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped]
from fontTools.ttLib.tables._g_l_y_f import Glyph  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.font_manager import fontManager

from fairlead.explain.figures.drawing import fonts_for
from fairlead.explain.figures.usage import HeldOverTime, draw_usage
from fairlead.explain.text.names import short_name

NAMES = {
    "team-physics": "team-physics",  # 12 columns
    "team-physics-2": "team-p…ics-2",  # 6 + 1 + 5
    "漢字漢字漢字": "漢字漢字漢字",  # two columns each
    "漢字漢字漢字a": "漢字漢…漢字a",  # 6 + 1 + 5
    "漢字漢字漢字漢": "漢字漢…字漢",  # 6 + 1 + 4: half a letter cannot be shown
    "e\u0301" * 12: "e\u0301" * 12,  # an accent of its own takes no column
}


@pytest.mark.parametrize(("name", "shown"), NAMES.items(), ids=map(ascii, NAMES))
def test_a_long_name_keeps_its_begin_and_its_end(name: str, shown: str) -> None:
    assert short_name(name, 12) == shown


@given(st.text(alphabet="ab漢-", max_size=40), st.integers(3, 30))
def test_a_name_is_never_wider_than_there_is_room(name: str, columns: int) -> None:
    shown = short_name(name, columns)
    assert sum(2 if each == "漢" else 1 for each in shown) <= columns
    head, _, tail = shown.partition("…")
    assert name.startswith(head)
    assert name.endswith(tail)
    assert shown == name or "…" in shown


Installer = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    """Installs a font of some name that has only some letters, for one test."""
    monkeypatch.setattr(fontManager, "ttflist", list(fontManager.ttflist))

    def add(name: str, letters: str) -> None:
        file = tmp_path / f"{name}.ttf"
        order = [".notdef", *(f"letter{at}" for at in range(len(letters)))]
        font = FontBuilder(1000)
        font.setupGlyphOrder(order)
        font.setupCharacterMap({ord(each): order[at + 1] for at, each in enumerate(letters)})
        font.setupGlyf({each: Glyph() for each in order})
        font.setupHorizontalMetrics(dict.fromkeys(order, (1000, 0)))
        font.setupHorizontalHeader(ascent=800, descent=-200)
        font.setupNameTable({"familyName": name, "styleName": "Regular"})
        font.setupOS2(usWeightClass=400)
        font.setupPost()
        font.save(file)
        fontManager.addfont(file)

    return add


# In an area for private use, where no font of a test machine has anything.
FIRST, SECOND, THIRD = "\uf8a0", "\uf8a1", "\uf8a2"


def test_letters_of_the_usual_font_need_no_other() -> None:
    assert fonts_for("team-physics Ωß…") == ([], "")


def test_a_letter_that_no_font_has_is_told() -> None:
    assert fonts_for(f"a{SECOND}{FIRST}") == ([], FIRST + SECOND)


def test_the_font_that_has_most_comes_first_and_a_needless_one_is_left_out(
    install: Installer,
) -> None:
    install("One", FIRST)
    install("Two", FIRST + SECOND)
    install("Three", THIRD)
    assert fonts_for(f"a{FIRST}{SECOND}") == (["Two"], "")
    assert fonts_for(f"{FIRST}{SECOND}{THIRD}") == (["Two", "Three"], "")


def test_of_fonts_that_have_as_much_the_name_decides(install: Installer) -> None:
    for name in ("Beta", "Alpha", "Gamma"):
        install(name, FIRST)
    assert fonts_for(FIRST + SECOND) == (["Alpha"], SECOND)


def test_a_font_that_is_gone_is_passed_over(install: Installer, tmp_path: Path) -> None:
    install("Gone", FIRST)
    install("There", FIRST)
    (tmp_path / "Gone.ttf").unlink()
    assert fonts_for(FIRST) == (["There"], "")


def test_a_picture_is_drawn_with_the_font_that_has_the_letters(
    install: Installer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The new font has nothing but blanks, so the boxes are gone."""
    usual = [font for font in fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(fontManager, "ttflist", usual)
    held = HeldOverTime(
        begin_ms=0, end_ms=1000, count=2, queues={"漢字": [[1.0, 2.0]]}, capacity=[[0.0, 0.0]]
    )
    pictures, notes = [], []
    for name in ("boxes.png", "blanks.png"):
        notes.append(draw_usage(held, ("cpu",), tmp_path / name))
        pictures.append((tmp_path / name).read_bytes())
        install("Blank", "漢字")
    assert pictures[0] != pictures[1]
    assert [note is None for note in notes] == [False, True]
