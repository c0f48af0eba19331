"""The picture of use over time: which lines, which labels, and that it is a picture."""

import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import FairleadError
from fairlead.explain.held_over_time import HeldOverTime
from fairlead.explain.usage_plot import MOST_LINES, draw_usage, label_heights, lines_of

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
    assert texts(picture({}), tmp_path) == ["nobody held anything"]


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


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(FairleadError, match=r"cannot write .*: No such file"):
        draw_usage(picture({"a": (1, 1)}), RESOURCES, tmp_path / "no/such/usage.svg")


def test_a_missing_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(FairleadError, match="pictures need matplotlib: install it"):
        draw_usage(picture({"a": (1, 1)}), RESOURCES, tmp_path / "usage.svg")
