"""How far a run is, on a terminal only."""

import io
import sys

import pytest

from fairlead.cli.output.progress import Interruption
from fairlead.cli.sim.progress import RunProgress
from tests.cli.output.test_progress import Terminal

HOUR = 3_600_000


@pytest.fixture(autouse=True)
def is_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def shown(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    until_ms: int | None,
    jobs: int | None = None,
) -> str:
    """A run of which a quarter takes 10 seconds, looked at every 0.1 s from then on."""
    monkeypatch.setattr(sys, "stderr", stream)
    times = iter([100.0, 110.0, 110.1, 110.3])
    progress = RunProgress(Interruption(), lambda: next(times))
    progress.begin("kai", 0, until_ms, jobs)
    assert progress.may_go_on(6 * HOUR, 1234)
    assert progress.may_go_on(6 * HOUR, 1235)
    assert progress.may_go_on(12 * HOUR, 2000)
    progress.end()
    return stream.getvalue()


def test_a_terminal_sees_time_jobs_and_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, Terminal(), 24 * HOUR).split("\r\x1b[K")
    assert lines == [
        "",
        "kai [######                  ]  25% 6h of 1d, 1,234 jobs done, 30s left",
        "kai [############            ]  50% 12h of 1d, 2,000 jobs done, 10s left",
        "",
    ]


def test_without_an_end_jobs_say_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, Terminal(), None, 4936).split("\r\x1b[K")
    assert lines == [
        "",
        "kai [######                  ]  25% 6h, 1,234 of 4,936 jobs done, 30s left",
        "kai [##########              ]  41% 12h, 2,000 of 4,936 jobs done, 15s left",
        "",
    ]


def test_where_an_end_is_known_time_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "25% 6h of 1d, 1,234 jobs done" in shown(monkeypatch, Terminal(), 24 * HOUR, 9999)


@pytest.mark.parametrize("jobs", [0, 1999])
def test_more_jobs_than_were_expected_are_all_there_are(
    monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    text = shown(monkeypatch, Terminal(), None, jobs)
    assert "[########################] 100% 12h, 2,000 of 2,000 jobs done, 0s left" in text


def test_without_an_end_nothing_is_said_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "kai: 6h, 1,234 jobs done\r" in shown(monkeypatch, Terminal(), None)


def test_a_file_gets_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    progress = RunProgress(Interruption(), lambda: 0.0)
    progress.begin("kai", 0, HOUR, None)
    assert progress.may_go_on(1, 1)
    progress.end()
    assert stream.getvalue() == ""


def test_a_wish_to_stop_is_heard() -> None:
    interruption = Interruption()
    progress = RunProgress(interruption)
    assert progress.may_go_on(0, 0)
    interruption.is_wanted = True
    assert not progress.may_go_on(0, 0)


def test_a_narrow_terminal_sees_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "41")
    lines = shown(monkeypatch, Terminal(), 24 * HOUR).split("\r\x1b[K")
    assert lines[1] == "kai [######                  ]  25% 6h o"
    assert len(lines[1]) == 40
