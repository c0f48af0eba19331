"""How reports are written: at which pace, under which conditions, and what becomes of failures."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.reporting.outbox import LaneName, Outbox
from fairlead.cluster.kubernetes.reporting.reports import ObjectStatus, Report
from fairlead.cluster.kubernetes.reporting.writer import Pace, ReportCounts, Writer
from tests.cluster.kubernetes import virtual_time
from tests.cluster.kubernetes.acting.scripted_session import (
    OK,
    Answer,
    Request,
    ScriptedSession,
    broken,
    error,
    pod,
)
from tests.cluster.kubernetes.reporting.written import event, status

Rule = Callable[[Request], Answer | None]


class Written:
    """A writer, and what became of its reports."""

    def __init__(self, rule: Rule) -> None:
        self.scripted = ScriptedSession(rule)
        self.outbox = Outbox({"prompt": 100, "waits": 100})
        self.counts = ReportCounts()
        self.given_up: list[Report] = []
        self.hindrance = ""
        paces: dict[LaneName, Pace] = {"prompt": Pace(2), "waits": Pace(1, 20.0)}
        self.writer = Writer(
            self.scripted.session,
            self.outbox,
            self.counts,
            paces=paces,
            hindrance=lambda: self.hindrance,
            given_up=self.given_up.append,
            random=lambda: 0.5,
        )

    def sent(self) -> list[str]:
        """Return what was asked for, such as ``PATCH pods/p/status``."""
        return [
            f"{each.method} {each.path.rpartition('/lab/')[2]}" for each in self.scripted.requests
        ]

    def body(self, number: int = -1) -> Any:
        """Return the body of a request."""
        return self.scripted.requests[number].body


@asynccontextmanager
async def writing(rule: Rule = lambda _: OK) -> AsyncIterator[Written]:
    """Give a writer that runs until the end of the block."""
    written = Written(rule)
    task = asyncio.create_task(written.writer.run())
    try:
        yield written
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def answers(*given: Answer) -> Rule:
    """Answer requests in their order; the last answer is that of all further ones."""
    left = list(given)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def test_waits_are_written_20_a_second_and_prompt_reports_at_once() -> None:
    async def story() -> None:
        async with writing() as written:
            for number in range(40):
                written.outbox.put("waits", status(f"p{number}"))
            await asyncio.sleep(0.96)  # the first at once, then 19 more, 50 ms apart
            assert len(written.sent()) == 20
            for number in range(10):
                written.outbox.put("prompt", status(f"q{number}", node="n1"))
            await asyncio.sleep(0.001)
            assert len(written.sent()) == 30
            assert written.counts.written["pod-status"] == 30

    virtual_time.run(story())


def test_a_status_is_applied_to_the_pod_and_the_version_that_it_is_about() -> None:
    async def story() -> None:
        async with writing() as written:
            written.outbox.put("prompt", status("p", "too little cpu", node="n1"))
            await asyncio.sleep(1)
            assert written.sent() == ["PATCH pods/p/status"]
            metadata = {"name": "p", "namespace": "lab", "uid": "uid-p", "resourceVersion": "7"}
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "too little cpu",
                "lastTransitionTime": "2026-11-19T12:00:00Z",
            }
            assert written.body() == {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "status": {"conditions": [condition], "nominatedNodeName": "n1"},
            }

    virtual_time.run(story())


@pytest.mark.parametrize(
    ("found", "sent"),
    [
        (pod("p", version="9"), ["PATCH pods/p/status", "GET pods/p", "PATCH pods/p/status"]),
        (pod("p", version="9", node="n1"), ["PATCH pods/p/status", "GET pods/p"]),
        (pod("p", version="9", deletionTimestamp="x"), ["PATCH pods/p/status", "GET pods/p"]),
        (pod("p", version="9", uid="another"), ["PATCH pods/p/status", "GET pods/p"]),
        (error(404), ["PATCH pods/p/status", "GET pods/p"]),
    ],
    ids=["it still waits", "it is bound", "it leaves", "another has its name", "it is gone"],
)
def test_after_a_conflict_the_status_of_a_pod_is_written_only_if_it_still_waits(
    found: Answer, sent: list[str]
) -> None:
    async def story() -> None:
        async with writing(answers(error(409), found, OK)) as written:
            written.outbox.put("waits", status("p"))
            await asyncio.sleep(1)
            assert written.sent() == sent
            assert len(sent) == 2 or written.body()["metadata"]["resourceVersion"] == "9"
            assert written.given_up == []

    virtual_time.run(story())


def test_a_status_that_conflicts_again_and_again_is_given_up() -> None:
    def rule(request: Request) -> Answer:
        return error(409) if request.method == "PATCH" else pod("p")

    async def story() -> None:
        async with writing(rule) as written:
            written.outbox.put("waits", status("p"))
            await asyncio.sleep(1)
            assert written.sent() == ["PATCH pods/p/status", "GET pods/p"] * 3
            assert written.given_up == [status("p")]

    virtual_time.run(story())


# The answers to an Event -> what is sent for it.
EVENTS = {
    "the first": (1, [OK], ["POST events"]),
    "one that was written, but not answered": (1, [error(409)], ["POST events"]),
    "one more": (2, [OK], ["PATCH events/p.1"]),
    "one more after the first was forgotten": (
        2,
        [error(404), OK],
        ["PATCH events/p.1", "POST events"],
    ),
}


@pytest.mark.parametrize(("count", "given", "sent"), EVENTS.values(), ids=EVENTS.keys())
def test_an_event_is_written_once_and_counted_on(
    count: int, given: list[Answer], sent: list[str]
) -> None:
    async def story() -> None:
        async with writing(answers(*given)) as written:
            written.outbox.put("waits", event("p", count=count))
            await asyncio.sleep(1)
            assert written.sent() == sent
            assert written.body()["count"] == count
            assert written.body()["lastTimestamp"] == "1970-01-01T00:01:01Z"
            assert written.counts.written["event"] == 1

    virtual_time.run(story())


def test_the_status_of_an_object_is_replaced_as_a_whole() -> None:
    async def story() -> None:
        async with writing() as written:
            resource = Resource(group="g", version="v1", plural="quotas")
            report = ObjectStatus(
                resource=resource, namespace="lab", name="q", status={"used": {"cpu": "1"}}
            )
            written.outbox.put("prompt", report)
            await asyncio.sleep(1)
            assert written.sent() == ["PATCH quotas/q/status"]
            whole = {"op": "add", "path": "/status", "value": {"used": {"cpu": "1"}}}
            assert written.body() == [whole]

    virtual_time.run(story())


@pytest.mark.parametrize(
    "failure",
    [error(429, retry_after_s=3), error(503, retry_after_s=3), broken(is_sent=True)],
    ids=["the server asks for less", "the server fails", "the answer is lost"],
)
def test_what_cannot_be_written_now_is_written_later(failure: Answer) -> None:
    async def story() -> None:
        async with writing(answers(failure, OK)) as written:
            written.outbox.put("waits", event("p"))
            await asyncio.sleep(10)
            assert written.sent() == ["POST events", "POST events"]
            assert written.counts.failed["event"] == 1
            assert written.given_up == []

    virtual_time.run(story())


def test_the_time_that_a_server_names_is_waited_for() -> None:
    async def story() -> None:
        async with writing(answers(error(429, retry_after_s=3), OK)) as written:
            written.outbox.put("waits", event("p"))
            await asyncio.sleep(2.9)
            assert written.sent() == ["POST events"]

    virtual_time.run(story())


def test_what_may_not_be_written_is_given_up_and_seldom_tried() -> None:
    """Without the right to write, 100 reports must not be 100 refusals at once."""

    async def story() -> None:
        async with writing(lambda _: error(403)) as written:
            for number in range(100):
                written.outbox.put("prompt", status(f"p{number}"))
            await asyncio.sleep(10)
            assert len(written.given_up) == len(written.sent()) < 20

    virtual_time.run(story())


def test_nothing_is_written_while_something_forbids_it() -> None:
    async def story() -> None:
        async with writing() as written:
            written.hindrance = "another replica leads"
            written.outbox.put("waits", status("p"))
            await asyncio.sleep(1)
            assert written.sent() == []
            assert written.given_up == [status("p")]

    virtual_time.run(story())
