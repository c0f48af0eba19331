"""The picture of use over time: which lines, which labels, and that it is a picture."""

import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.font_manager import fontManager

from fairlead.errors import FairleadError
from fairlead.explain.figures.usage import (
    LABEL_COLUMNS,
    MOST_LINES,
    TITLE_COLUMNS,
    HeldOverTime,
    draw_usage,
    label_heights,
    lines_of,
)
from fairlead.explain.text.names import short_name
from tests.explain.full_disk import no_file_longer_than

RESOURCES = ("cpu", "nvidia.com/gpu")
DAY_MS = 24 * 3_600_000


def picture(queues: dict[str, tuple[int, int]], capacity: tuple[int, int] = (0, 0)) -> HeldOverTime:
    """Every queue holds so much cpu and so many GPUs for all of two days."""
    return HeldOverTime(
        begin_ms=20_000 * DAY_MS,
        end_ms=20_002 * DAY_MS,
        count=4,
        queues={name: [[float(each)] * 4 for each in held] for name, held in queues.items()},
        capacity=[[float(each)] * 4 for each in capacity],
    )


def texts(held: HeldOverTime, folder: Path) -> list[str]:
    file = folder / "usage.svg"
    draw_usage(held, RESOURCES, file)
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    return [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]


def test_each_resource_that_was_held_has_a_panel_and_each_line_a_name(tmp_path: Path) -> None:
    found = texts(picture({"a": (4000, 2000), "b": (0, 1000)}, (8000, 4000)), tmp_path)
    assert [each for each in found if each in (*RESOURCES, "a", "b", "(capacity)")] == [
        *("a", "b", "(capacity)", "nvidia.com/gpu"),
        *("a", "(capacity)", "cpu"),
    ]
    assert "cpu" not in texts(picture({"a": (0, 1000)}), tmp_path)


def test_a_capacity_far_above_is_told_in_words(tmp_path: Path) -> None:
    """100 GPUs, of which 2 were held: a line there would press the other one flat."""
    found = texts(picture({"a": (0, 2000)}, (0, 100_000)), tmp_path)
    assert "nvidia.com/gpu, of 100" in found
    assert "(capacity)" not in found


@pytest.mark.parametrize("name", ["$x$", "_hidden", "a<b>&", "line\nbreak", "漢字", "\x1b[1m"])
def test_any_name_can_be_a_label(name: str, tmp_path: Path) -> None:
    found = texts(picture({name: (0, 1000)}), tmp_path)
    shown = name.replace("\n", "\\n").replace("\x1b", "\\u001b")
    assert shown in found


def test_equal_input_gives_an_equal_picture(tmp_path: Path) -> None:
    held = picture({"a": (4000, 2000)})
    for name in ("1.svg", "2.svg"):
        draw_usage(held, RESOURCES, tmp_path / name)
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()


def test_a_png_is_one(tmp_path: Path) -> None:
    draw_usage(picture({"a": (4000, 2000)}), RESOURCES, tmp_path / "usage.PNG")
    assert (tmp_path / "usage.PNG").read_bytes().startswith(b"\x89PNG")


def test_nothing_held_is_said(tmp_path: Path) -> None:
    assert texts(picture({}), tmp_path) == ["no usage"]


def test_small_queues_are_one_line() -> None:
    """Of nine queues the six largest have lines; 3 + 2 + 1 are drawn together."""
    lines = lines_of(picture({f"q{size}": (0, size) for size in range(1, 10)}), 1)
    assert [name for name, _, _ in lines] == ["q9", "q8", "q7", "q6", "q5", "q4", "(3 others)"]
    assert lines[-1][2] == [6, 6, 6, 6]
    assert len({colour for _, colour, _ in lines}) == MOST_LINES


def test_a_queue_has_one_colour_in_all_panels() -> None:
    held = picture({"a": (1, 9), "b": (2, 1), "c": (9, 0)})
    colours = [{name: colour for name, colour, _ in lines_of(held, place)} for place in (0, 1)]
    assert colours[1] == {name: colours[0][name] for name in ("a", "b")}


@given(st.lists(st.floats(0, 1), max_size=8))
def test_labels_keep_their_order_and_their_distance(wanted: list[float]) -> None:
    heights = label_heights(wanted, 0.1)
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    placed = [heights[at] for at in order]
    assert all(0 <= height <= 1 for height in placed)
    assert all(b - a >= 0.1 - 1e-9 for a, b in pairwise(placed))


def test_labels_with_room_stay_where_they_are() -> None:
    assert label_heights([0.9, 0.1, 0.5], 0.1) == [0.9, 0.1, 0.5]


def test_a_long_name_leaves_room_for_the_lines(tmp_path: Path) -> None:
    """A panel is about as wide beside a name of 300 letters as beside one of 28."""
    widths = []
    for length in (28, 300):
        held = picture({"m" * length: (0, 1000)})
        assert max(map(len, texts(held, tmp_path))) == LABEL_COLUMNS
        widths.append(_panel_width((tmp_path / "usage.svg").read_text(encoding="utf-8")))
    assert widths[1] > 0.98 * widths[0]


def _panel_width(svg: str) -> float:
    """Of the panel's white ground: M left bottom, L right bottom, and so on."""
    [path] = re.findall(r'<g id="patch_2">\s*<path d="([^"]*)"', svg)
    across = [float(each) for each in re.findall(r"[ML] ([\d.]+) ", path)]
    return max(across) - min(across)


def test_a_resource_with_a_long_name_fits_its_panel(tmp_path: Path) -> None:
    name = "example.com/" + "x" * 200
    draw_usage(picture({"a": (0, 1000)}), ("cpu", name), tmp_path / "usage.svg")
    assert f">{short_name(name, TITLE_COLUMNS)}<" in (tmp_path / "usage.svg").read_text("utf-8")


@pytest.fixture
def _latin_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the font that comes with the library is installed."""
    usual = [font for font in fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(fontManager, "ttflist", usual)


@pytest.mark.usefixtures("_latin_only")
@pytest.mark.parametrize("form", ["png", "svg"])
def test_letters_that_no_font_has_are_noted_once_where_they_are_boxes(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """The viewer of an SVG may have a font that we have not."""
    held = picture({"漢": (4000, 1000), "漢字": (4000, 1000)})
    told = draw_usage(held, RESOURCES, tmp_path / f"usage.{form}")
    note = (
        "no installed font has 字漢, so the picture has boxes there: install one, or draw an .svg"
    )
    assert told == (note if form == "png" else None)
    assert capsys.readouterr().err == ""
    assert list(recwarn) == []


@pytest.mark.usefixtures("_latin_only")
def test_letters_of_a_queue_that_is_not_drawn_are_not_noted(tmp_path: Path) -> None:
    many = {f"q{size}": (0, size) for size in range(2, 12)}
    held = picture({**many, "漢字": (0, 1)})
    assert draw_usage(held, RESOURCES, tmp_path / "usage.png") is None


def test_a_picture_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    """A limit on the length of files stops the writing halfway, as a full disk does."""
    file = tmp_path / "usage.png"
    file.write_bytes(b"precious")
    with (
        no_file_longer_than(1000),
        pytest.raises(FairleadError, match=r"cannot write .*usage\.png: File too large"),
    ):
        draw_usage(picture({"a": (1, 1)}), RESOURCES, file)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"precious"]


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(FairleadError, match=r"cannot write .*: No such file"):
        draw_usage(picture({"a": (1, 1)}), RESOURCES, tmp_path / "no/such/usage.svg")


def test_a_missing_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(FairleadError, match="pictures need matplotlib: install it"):
        draw_usage(picture({"a": (1, 1)}), RESOURCES, tmp_path / "usage.svg")
