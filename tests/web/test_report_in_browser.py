"""The report in a real browser: pictures are drawn, and a person can use it with mouse and keys."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from fairlead.sim.report.make_report import make_report
from fairlead.sim.results.about import HistoryMark
from fairlead.web.page.write_page import write_page
from tests.sim.report.small_results import JOBS, STORY, small_run, write_result
from tests.web.browser import Page, opened_browser

HOSTILE = "</script><img/src=x/onerror=alert(1)>"
HISTORY = HistoryMark(begins_ms=-90 * 60_000, entries=3, sha256="0123456789abcdef")
MONDAY_MS = 1_767_571_200_000  # 2026-01-05T00:00:00Z
PARENTS: dict[str, str | None] = {HOSTILE: "top", "b": "top", "top": None}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, the second one partial, with a queue whose name would like to be a script."""
    folder = tmp_path_factory.mktemp("report")
    runs = [
        msgspec.structs.replace(small_run("first"), parents=PARENTS, history=HISTORY),
        msgspec.structs.replace(small_run("second", complete=False), parents=PARENTS),
    ]
    result = write_result(
        folder / "result", *runs, jobs=JOBS.replace(" a ", f" {HOSTILE} "), story=_story()
    )
    file = folder / "report.html"
    page = make_report("small", result.runs, is_complete=result.about.complete)
    file.write_bytes(write_page("report", "small", page))
    return file


def _story() -> str:
    return STORY.replace("due       a ", f"due       {HOSTILE} ")


def count(browser: Page, selector: str) -> int:
    found = browser.run(f"document.querySelectorAll({selector!r}).length")
    assert isinstance(found, int)
    return found


def text(browser: Page, selector: str) -> str:
    return str(browser.run(f"document.querySelector({selector!r}).textContent"))


def middle(browser: Page, selector: str) -> tuple[float, float, float]:
    """Return where an element is: its left, its width and the middle of its height."""
    browser.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    browser.settle()
    script = "(({x, y, width, height}) => [x, width, y + height / 2])"
    box = browser.run(f"{script}(document.querySelector({selector!r}).getBoundingClientRect())")
    return box[0], box[1], box[2]


def test_pictures_are_drawn_without_an_error_or_a_request(browser: Page, report: Path) -> None:
    browser.requests.clear()
    browser.open(report)
    # held, evictions, and one for each of the two queues; nobody's past use counts here
    assert count(browser, "svg.chart") == 4
    assert count(browser, "path.area") == 2 + 2
    assert count(browser, "path.due") == 1 + 2  # in all, and for each
    assert browser.errors == []
    assert browser.requests == [report.as_uri()]


def test_it_says_with_which_history_a_run_began(browser: Page, report: Path) -> None:
    browser.open(report)
    assert "after 1h 30m of past use (history 01234567), seed 1" in text(browser, "main")


def test_a_hostile_name_is_shown_as_it_is(browser: Page, report: Path) -> None:
    browser.open(report)
    assert HOSTILE in text(browser, "main")
    assert count(browser, "main img, main script") == 0
    assert browser.errors == []


def test_a_partial_result_is_marked(browser: Page, report: Path) -> None:
    browser.open(report)
    assert "Partial result" in text(browser, ".partial")
    assert "second ends at" in text(browser, ".partial")
    assert count(browser, ".badge") == 1


def test_waits_are_lower_bounds_where_a_job_never_started(browser: Page, report: Path) -> None:
    """Of b, y waited for 12 s, and z, which never started, is 25 s old at the end; x started."""
    browser.open(report)
    y, z = "\u2265\u200912s", "\u2265\u200925s"
    assert cells(browser, "The runs side by side", "first")[3:5] == [y, z]
    assert cells(browser, "Who got what", "b")[-3:-1] == [y, z]
    assert cells(browser, "Who got what", HOSTILE)[-3:-1] == ["0s", "0s"]
    assert cells(browser, "How long jobs waited", "b")[-5:] == [y, z, z, z, "1"]
    assert cells(browser, "How long jobs waited", HOSTILE)[-5:] == ["0s", "0s", "0s", "0s", "0"]


def cells(browser: Page, table: str, name: str) -> list[str]:
    """Return what stands in the row of a table that begins with *name*."""
    rows = f"[...document.querySelectorAll('[aria-label=\"{table}\"] tr')]"
    texts = "[...each.cells].map(cell => cell.textContent)"
    found = browser.run(f"{rows}.map(each => {texts}).find(each => each[0] === {name!r})")
    assert isinstance(found, list)
    return found


# How many days a run has from 2026-01-05 on, and what stands at its first and its last mark: weeks
# and half years are counted from the first day of 1970, years begin with themselves.
AXES = {
    28: ("8 Jan", "29 Jan"),
    3 * 365: ("23 Apr 2026", "19 Oct 2028"),
    9 * 365: ("2027", "2035"),
    30 * 365: ("2030", "2055"),
    290 * 365: ("2050", "2300"),
}


@pytest.mark.parametrize(("days", "expected"), AXES.items(), ids=map(str, AXES))
def test_texts_of_the_time_axis_do_not_meet_however_long_a_run_is(
    browser: Page, tmp_path: Path, days: int, expected: tuple[str, str]
) -> None:
    result = write_result(tmp_path / "result", small_run())
    page = make_report("small", result.runs, is_complete=True)
    run, length_ms = page.runs[0], days * 86_400_000
    spanned = msgspec.structs.replace(
        run,
        start_ms=MONDAY_MS,
        end_ms=MONDAY_MS + length_ms,
        bucket_ms=-(-length_ms // run.buckets),
    )
    file = tmp_path / "report.html"
    page = msgspec.structs.replace(page, runs=[spanned])
    file.write_bytes(write_page("report", "small", page))
    browser.open(file, width=1000)
    script = "[...document.querySelector('svg.chart').querySelectorAll('text')]"
    script += ".filter(each => each.getAttribute('text-anchor') === 'middle').map(each => "
    script += "(({left, right}) => [each.textContent, left, right])(each.getBoundingClientRect()))"
    texts = browser.run(script)
    assert (texts[0][0], texts[-1][0]) == expected
    gaps = [left - right for (_, _, right), (_, left, _) in pairwise(texts)]
    assert min(gaps) > 8, texts
    assert browser.errors == []


def test_an_eviction_tells_its_reason_when_it_is_clicked(browser: Page, report: Path) -> None:
    """It is at 10 s of 30 s: a third of the way along the lane."""
    browser.open(report)
    assert "Why:" not in text(browser, "#eviction-details")
    left, width, height = middle(browser, "svg.lanes rect.lane")
    browser.click(left + width / 3, height)
    assert "x of </script>" in text(browser, "#eviction-details")
    assert "Why: because" in text(browser, "#eviction-details")


def test_an_eviction_tells_its_reason_by_keyboard(browser: Page, report: Path) -> None:
    browser.open(report)
    browser.run("document.querySelector('svg.lanes').focus()")
    browser.press("ArrowRight")
    assert "Why: because" in text(browser, "#eviction-details")


def test_dragging_looks_closer_and_escape_shows_all_again(browser: Page, report: Path) -> None:
    browser.open(report)
    assert browser.run("document.querySelector('#reset').disabled") is True
    left, width, height = middle(browser, "svg.chart")
    browser.drag((left + width * 0.4, height), (left + width * 0.6, height))
    assert browser.run("document.querySelector('#reset').disabled") is False
    browser.run("document.querySelector('svg.chart').focus()")
    browser.press("Escape")
    assert browser.run("document.querySelector('#reset').disabled") is True


def test_the_cursor_shows_values_by_keyboard(browser: Page, report: Path) -> None:
    """At the start the first queue has all four GPUs, on average 4 x 25 / 30 = 3.33."""
    browser.open(report)
    assert "3.33" in text(browser, ".legend")
    browser.run("document.querySelector('svg.chart').focus()")
    browser.press("ArrowRight")
    assert "at 00:00" in text(browser, ".legend")
    assert "3.33" not in text(browser, ".legend")


def test_another_run_can_be_chosen(browser: Page, report: Path) -> None:
    browser.open(report)
    browser.run("document.querySelector('#run-1').click()")
    assert browser.run("document.querySelector('#choose-run').value") == "1"
    assert browser.errors == []


def test_the_address_names_the_run_and_back_returns(browser: Page, report: Path) -> None:
    browser.open(report)
    browser.run("document.querySelector('#run-1').click()")
    assert browser.run("location.hash") == "#run=second&resource=gpu"
    browser.run("document.querySelector('#run-0').click()")
    browser.run("new Promise(done => { addEventListener('hashchange', done); history.back() })")
    browser.settle()
    assert browser.run("document.querySelector('#choose-run').value") == "1"
    browser.run("new Promise(done => { addEventListener('hashchange', done); history.back() })")
    browser.settle()
    assert browser.run("document.querySelector('#choose-run').value") == "0"
    assert browser.errors == []


@pytest.mark.parametrize(
    ("address", "run"), [("run=second", "1"), ("run=unknown&queue=none", "0"), ("main", "0")]
)
def test_an_address_is_followed_as_far_as_it_can_be(
    browser: Page, report: Path, address: str, run: str
) -> None:
    browser.open(report, fragment=address)
    assert browser.run("document.querySelector('#choose-run').value") == run
    assert browser.errors == []


def test_names_are_searched(browser: Page, report: Path) -> None:
    browser.open(report)
    browser.run(
        "(box => { box.value = 'TO'; box.dispatchEvent(new Event('input')) })"
        "(document.querySelector('#search'))"
    )
    names = "[...document.querySelectorAll('.tall tbody th')].map(each => each.textContent)"
    assert browser.run(names) == ["top"]
    assert "1 of 3" in text(browser, "main")


def test_a_queue_is_looked_at_by_itself(browser: Page, report: Path) -> None:
    """Of a queue that is in no group too; the address names it."""
    browser.open(report)
    browser.run(
        "[...document.querySelectorAll('.tall tbody th button')]"
        ".find(each => each.textContent === 'top').click()"
    )
    assert "The queue top" in text(browser, "#picked-queue")
    assert browser.run("location.hash").endswith("&queue=top")
    assert count(browser, "#picked-queue path.area") == 1
    browser.run("document.querySelector('#picked-queue .buttons button').click()")
    assert count(browser, "#picked-queue") == 0
    assert browser.errors == []


def test_a_picture_has_its_own_scale_on_request(browser: Page, report: Path) -> None:
    """B holds 4 GPUs until 17 s; from 18.75 s on it holds none, and 2 are due."""
    browser.open(report)
    marks = (
        "[...document.querySelectorAll('.small figure:nth-child(2) text[text-anchor=end]')]"
        ".map(each => each.textContent)"
    )
    shared = browser.run(marks)
    for name in ("closer", "later", "closer"):
        browser.run(f"document.querySelector('#{name}').click()")
        browser.settle()
    switch = "document.querySelector('.small figure:nth-child(2) .scale-switch')"
    assert browser.run(marks) == shared
    browser.run(f"{switch}.click()")
    assert browser.run(f"{switch}.getAttribute('aria-pressed')") == "true"
    assert (shared[-1], browser.run(marks)[-1]) == ("4", "2")
    browser.run(f"{switch}.click()")
    assert browser.run(marks) == shared


def test_buttons_zoom_and_move_in_time(browser: Page, report: Path) -> None:
    """30 s: closer shows the middle 15 s, later the last, wider all again."""
    browser.open(report)
    shown = "[report.view.fromMs, report.view.toMs]"

    def click(name: str) -> list[float]:
        browser.run(f"document.querySelector('#{name}').click()")
        browser.settle()
        found = browser.run(shown)
        assert isinstance(found, list)
        return found

    assert browser.run("document.querySelector('#earlier').disabled") is True
    assert click("closer") == [7_500, 22_500]
    assert click("later") == [15_000, 30_000]
    assert click("earlier") == [7_500, 22_500]
    assert click("wider") == [0, 30_000]
    assert click("closer") == [7_500, 22_500]
    assert click("reset") == [0, 30_000]


def test_measures_are_sorted_by_a_click_on_their_title(browser: Page, report: Path) -> None:
    browser.open(report)
    names = (
        "[...document.querySelectorAll('section:nth-last-of-type(2) tbody th')]"
        ".map(each => each.textContent)"
    )
    assert browser.run(names) == [HOSTILE, "b", "top"]
    click = "document.querySelectorAll('section:nth-last-of-type(2) thead button')[{}].click()"
    browser.run(click.format(1))  # most jobs first
    assert browser.run(names) == ["top", "b", HOSTILE]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_narrow_window_needs_no_sideways_scrolling(
    browser: Page, report: Path, theme: str
) -> None:
    browser.open(report, width=400, theme=theme)
    assert browser.run("document.documentElement.scrollWidth") <= 400


def test_colours_follow_the_system_and_the_switch(browser: Page, report: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.open(report, theme="dark")
    dark = browser.run(ground)
    browser.open(report, theme="light")
    assert browser.run(ground) == "rgb(255, 255, 255)" != dark
    browser.run(
        "(select => { select.value = 'dark'; select.dispatchEvent(new Event('change')) })"
        "(document.querySelector('#top select'))"
    )
    assert browser.run(ground) == dark
    browser.run("localStorage.clear()")


LANDSCAPE_PX = 1031
"""What A4 leaves between margins of 12 mm: (297 - 24) / 25.4 x 96."""


def test_on_paper_all_fits_and_nothing_asks_to_be_clicked(browser: Page, report: Path) -> None:
    browser.open(report, width=1600)
    try:
        browser.call("Emulation.setEmulatedMedia", media="print")
        browser.resize(LANDSCAPE_PX, 729)
        browser.settle()
        assert browser.run("document.documentElement.scrollWidth") <= LANDSCAPE_PX
        hidden = ".on-screen, .toolbar, .buttons, .eviction-details, details, select"
        shown = f"[...document.querySelectorAll({hidden!r})].filter(each => each.checkVisibility())"
        assert browser.run(f"{shown}.length") == 0
        assert text(browser, ".on-screen") != "", "there is something to hide"
        # A picture keeps the shape that it was drawn in, however wide the window was: 8 to 1.
        chart = "document.querySelector('svg.chart')"
        browser.run(f"{chart}.setAttribute('viewBox', '0 0 1600 200')")
        shape = browser.run(f"(box => box.width / box.height)({chart}.getBoundingClientRect())")
        assert shape == pytest.approx(8, rel=0.01)
        assert browser.errors == []
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
