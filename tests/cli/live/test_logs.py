"""What a live scheduler logs, for people and for programs."""

import io
import json
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fairlead.cli.live import logs
from fairlead.cli.live.decision_log import DecisionLog
from fairlead.cli.live.logs import FIELDS, LogForm, default_form, logging_to
from fairlead.cli.live.words import LiveWords
from fairlead.cluster.kubernetes.acting.acts import Outcome, Result
from tests.cluster.kubernetes.engine.led_engine import LedEngine, node, pod, quota, started

LOG = logging.getLogger("fairlead.test")


@contextmanager
def logged(form: LogForm = "text", *, is_verbose: bool = False) -> Iterator[list[str]]:
    """Give the lines that were logged in the block, once it has ended; times are left out."""
    stream, lines = io.StringIO(), list[str]()
    with logging_to(stream, form, is_verbose=is_verbose):
        yield lines
    lines += [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in stream.getvalue().splitlines()]


def test_lines_for_people_name_the_level_of_what_went_wrong() -> None:
    with logged() as lines:
        LOG.info("start %s", "a/p", extra={FIELDS: {"pod": "a/p"}})
        LOG.warning("a watch is interrupted")
        LOG.debug("numbers")
        logging.getLogger("asyncio").info("of no matter")
    assert lines == ["start a/p", "warning: a watch is interrupted"]


def test_lines_for_programs_have_fields_beside_the_message() -> None:
    with logged("json") as lines:
        LOG.info("start %s", "a/p", extra={FIELDS: {"pod": "a/p", "node": "ñ1"}})
    (line,) = map(json.loads, lines)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line == {
        "level": "info",
        "logger": "fairlead.test",
        "message": "start a/p",
        "pod": "a/p",
        "node": "ñ1",
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_is_kept(form: LogForm) -> None:
    with logged(form) as lines:
        try:
            raise ValueError("seven")
        except ValueError:
            LOG.exception("it failed")
    assert "ValueError: seven" in "\n".join(lines)
    assert form == "text" or len(lines) == 1


def test_numbers_are_logged_if_they_are_asked_for() -> None:
    with logged(is_verbose=True) as lines:
        LOG.debug("numbers")
    assert lines == ["numbers"]


def test_what_is_no_terminal_gets_lines_for_programs() -> None:
    assert default_form(io.StringIO()) == "json"


class Stuck(io.StringIO):
    """A stream that takes nothing until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.is_taking = threading.Event()

    def write(self, text: str) -> int:
        assert self.is_taking.wait(30)
        return super().write(text)


def test_a_stream_that_hangs_delays_nothing_and_what_was_dropped_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs, "_MOST_LINES", 10)
    stream = Stuck()
    with logging_to(stream, "text", is_verbose=False):
        for number in range(100):
            LOG.info("line %d", number)
        stream.is_taking.set()
    *_, last = stream.getvalue().splitlines()
    kept = stream.getvalue().count(" line ")
    assert 10 <= kept <= 12
    assert last.partition("warning: ")[2] == f"{100 - kept} lines of the log were dropped"


# Decisions.


class Followed:
    """An engine, and the log of what it decides."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.led = LedEngine(*objects)
        self.log = DecisionLog(LiveWords())

    def plan(self, *, explain: bool = True) -> None:
        """Plan, and let the log take note."""
        plan = self.led.plan(explain=explain)
        self.log.planned(self.led.engine, plan, self.led.carry_out(plan), 0.002)

    def end(self, name: str, result: Result) -> None:
        """Let the log take note of what became of the last act about a pod."""
        self.log.ended(Outcome(act=self.led.act(name), result=result, why="because"))


def test_each_decision_is_a_line_and_a_wait_only_when_its_reason_changes() -> None:
    with logged() as lines:
        followed = Followed(node("n1", 2), quota("a", 2, 2), quota("b", 0, 2), pod("b/old", 2))
        followed.plan()
        followed.led.bind("b/old", "n1")
        followed.end("b/old", "done")
        followed.led.deliver()
        followed.led.create(pod("a/new", 2), pod("b/late", 9))
        followed.led.deliver()
        for _ in range(3):
            followed.plan()
            followed.plan(explain=False)
    assert lines == [
        "start b/old on n1 (queue b): Borrows",
        "evict b/old for a/new (queue b): MinTakenBack",
        "reserve a/new (queue a): TakesBack",
        "wait b/late (queue b): OverMax",
        "reserve a/new (queue a): WaitsForLeaving",
    ]


def test_programs_get_each_part_of_a_decision() -> None:
    with logged("json") as lines:
        Followed(node("n1", 2), quota("a", 2, 2), pod("a/p", 2)).plan()
    (line,) = map(json.loads, lines)
    del line["time"], line["level"], line["logger"], line["message"]
    assert line == {
        "decision": "start",
        "pod": "a/p",
        "node": "n1",
        "queue": "a",
        "reason": "WithinMin",
    }


def test_numbers_of_a_decision_are_for_those_that_ask() -> None:
    with logged(is_verbose=True) as lines:
        Followed(node("n1", 2), quota("a", 2, 2), pod("a/p", 2), pod("a/q", 3)).plan()
    assert lines[0] == (
        "start a/p on n1 (queue a): WithinMin: "
        "within the min of a: cpu: used 0 + request 2 <= min 2"
    )
    assert "used 2 + request 3 > max 2" in lines[1]
    assert lines[2] == "planned 2 decisions in 2.0 ms"


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ("done", []),
        ("overtaken", ["start a/p: overtaken: because"]),
        ("refused", ["warning: start a/p: refused: because"]),
    ],
)
def test_an_act_that_was_not_done_says_why(result: Result, line: list[str]) -> None:
    followed = Followed(node("n1"), quota("a", 4, 4), pod("a/p"))
    followed.plan()
    with logged() as lines:
        followed.end("a/p", result)
    assert lines == line


def test_pods_of_other_schedulers_are_not_logged() -> None:
    with logged() as lines:
        Followed(node("n1"), quota("a", 4, 4), pod("a/p", scheduler="other")).plan()
    assert lines == []


def test_a_pod_that_waits_again_is_logged_again() -> None:
    followed = Followed(node("n1", 2), quota("a", 4, 4), pod("a/old", 2))
    started(followed.led, ["a/old"])
    followed.led.create(pod("a/p"))
    followed.led.deliver()
    with logged() as lines:
        followed.plan()
        followed.led.delete("a/old")
        followed.led.leave("a/old")
        followed.led.deliver()
        followed.plan()
        followed.end("a/p", "refused")
    assert lines == [
        "wait a/p (queue a): NoNodeFits",
        "start a/p on n1 (queue a): WithinMin",
        "warning: start a/p: refused: because",
    ]
