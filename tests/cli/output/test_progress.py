"""Long work is counted on a terminal, and only there."""

import io
import sys

import pytest

from fairlead.cli.output.progress import STEP, announce, counted


class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self) -> bool:
        return True


def stderr(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> io.StringIO:
    """Put *stream* in its place; not in a fixture, after which pytest puts its own there."""
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_long_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = stderr(monkeypatch, Terminal())
    things = range(2 * STEP + 1)
    assert list(counted(things, "lines read")) == list(things)
    assert terminal.getvalue() == f"\r{STEP:,} lines read\r{2 * STEP:,} lines read\n"


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = stderr(monkeypatch, Terminal())
    assert list(counted(range(STEP - 1), "lines read")) == list(range(STEP - 1))
    announce(STEP - 1, "entries are written")
    assert terminal.getvalue() == ""


def test_work_without_steps_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = stderr(monkeypatch, Terminal())
    announce(STEP, "entries are written")
    assert terminal.getvalue() == f"{STEP:,} entries are written ...\n"


def test_a_file_gets_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stderr(monkeypatch, io.StringIO())
    assert len(list(counted(range(STEP), "lines read"))) == STEP
    announce(STEP, "entries are written")
    assert stream.getvalue() == ""
