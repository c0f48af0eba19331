"""What is written of plans and outcomes to an API server, over a connection."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.cli.live.words import LiveWords
from fairlead.cluster.kubernetes.acting.acts import Outcome, Result
from fairlead.cluster.kubernetes.reporting.reporter import EventsWanted, Reporter
from tests.cluster.kubernetes.client.byte_server import ByteServer, answers, run, serving
from tests.cluster.kubernetes.engine.led_engine import (
    LedEngine,
    node,
    pod,
    pod_key,
    quota,
)
from tests.manifest.translate.api_server import Object

AT_MS = 1_700_000_000_000


class Reported:
    """An engine, a reporter that takes note of it, and the server to which it writes."""

    def __init__(self, server: ByteServer, events: EventsWanted, objects: Sequence[Object]) -> None:
        self.server = server
        self.led = LedEngine(*objects)
        self.reporter = Reporter(
            server.access(),
            LiveWords(),
            events=events,
            hindrance=lambda: "",
            waits_per_second=1000.0,
            now_ms=lambda: AT_MS,
        )

    def plan(self) -> None:
        """Plan, with reasons, and let the reporter take note."""
        plan = self.led.plan(explain=True)
        self.reporter.planned(self.led.engine, plan, self.led.carry_out(plan), 0.0)

    def end(self, name: str, result: Result = "done") -> None:
        """Let the reporter take note of what became of the last act about a pod."""
        self.reporter.ended(Outcome(act=self.led.act(name), result=result))

    async def written(self, count: int) -> list[Any]:
        """Return the bodies of the requests, once there are so many, sorted by their paths."""
        while len(self.server.requests) < count:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)  # for one too many
        requests = sorted(self.server.requests, key=lambda each: (each.path, each.body))
        return [json.loads(each.body) for each in requests]

    def paths(self) -> list[str]:
        """Return the paths that were written to, sorted."""
        return sorted(each.path.partition("/namespaces/")[2] for each in self.server.requests)


@asynccontextmanager
async def reporting(*objects: Object, events: EventsWanted = "changes") -> AsyncIterator[Reported]:
    """Give a reporter that writes to a server which accepts everything."""
    async with serving(answers(200, {})) as server:
        reported = Reported(server, events, objects)
        task = asyncio.create_task(reported.reporter.run())
        try:
            yield reported
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_a_start_is_an_event_only_where_all_are_wanted() -> None:
    async def story(events: EventsWanted) -> list[Any]:
        async with reporting(node("n1"), pod("b/p"), events=events) as reported:
            reported.plan()
            reported.end("b/p")
            return await reported.written(1 if events == "all" else 0)

    (event,) = run(story("all"))
    assert (event["type"], event["reason"]) == ("Normal", "Scheduled")
    assert event["message"] == "Successfully assigned b/p to n1"
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "b",
        "name": "p",
        "uid": "uid-2",
    }
    assert event["source"] == {"component": "fairlead"}
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2023-11-14T22:13:20Z"
    assert run(story("changes")) == []


@pytest.mark.parametrize("result", ["refused", "overtaken"])
def test_what_was_not_done_is_no_event(result: Result) -> None:
    async def story() -> None:
        async with reporting(node("n1"), pod("b/p"), events="all") as reported:
            reported.plan()
            reported.end("b/p", result)
            assert await reported.written(0) == []

    run(story())


def test_an_eviction_is_an_event_on_the_victim_with_the_rule_and_its_numbers() -> None:
    async def story() -> None:
        objects = (node("n1", 2), quota("a", 2, 2), quota("b", 0, 2), pod("b/old", 2))
        async with reporting(*objects) as reported:
            assert reported.led.decide() == ["bind b/old to n1"]
            reported.led.bind("b/old", "n1")
            reported.led.deliver()
            reported.led.create(pod("a/new", 2))
            reported.led.deliver()
            reported.plan()
            reported.end("b/old")
            bodies = [each for each in await reported.written(5) if isinstance(each, dict)]
            assert reported.paths() == [
                "a/elasticquotas/quota/status",
                "a/events",
                "a/pods/new/status",
                "b/elasticquotas/quota/status",
                "b/events",
            ]
            (event,) = [
                each for each in bodies if "reason" in each and each["reason"] == "Preempted"
            ]
            assert (event["reason"], event["involvedObject"]["name"]) == ("Preempted", "old")
            assert event["message"] == "gives way to a/new: b is over its min: cpu: used 2 > min 0"

    run(story())


# Status of quotas.


def running(value: Object) -> None:
    value["status"]["phase"] = "Running"


def test_a_quota_shows_pods_that_run_and_apart_from_them_those_with_a_node() -> None:
    """Pods of 1 and 2 CPUs have a node, and the first is up."""
    pods = [pod("a/p", 1), pod("a/q", 2)]

    async def story() -> None:
        async with reporting(node("n1"), quota("a", 4, 4), *pods) as reported:
            reported.led.bind("a/p", "n1")
            reported.led.bind("a/q", "n1")
            reported.led.server.update(pod_key("a/p"), running)
            reported.led.deliver()
            reported.plan()
            ((patch,),) = await reported.written(1)
            assert patch == {
                "op": "add",
                "path": "/status",
                "value": {"used": {"cpu": "1"}, "scheduled": {"cpu": "3"}},
            }

    run(story())


def test_a_quota_is_written_when_it_changed_and_once_a_second_at_most() -> None:
    async def story() -> None:
        async with reporting(node("n1"), quota("a", 4, 4), pod("b/other")) as reported:
            engine, now_ms = reported.led.engine, reported.led.server.now_ms
            reported.reporter.rested(engine, now_ms)
            reported.led.create(pod("a/p"))
            reported.led.bind("a/p", "n1")
            reported.led.deliver()
            reported.reporter.rested(engine, now_ms + 999)
            assert len(await reported.written(1)) == 1
            reported.reporter.rested(engine, now_ms + 1000)
            assert len(await reported.written(2)) == 2
            reported.led.bind("b/other", "n1")
            reported.led.deliver()
            reported.reporter.rested(engine, now_ms + 2000)
            assert len(await reported.written(2)) == 2

    run(story())


def test_a_quota_is_written_in_the_api_group_that_has_it() -> None:
    older = quota("b", 2, 2)
    older["apiVersion"] = "scheduling.sigs.k8s.io/v1alpha1"

    async def story() -> None:
        async with reporting(node("n1"), quota("a", 2, 2), older) as reported:
            reported.plan()
            await reported.written(2)
            assert sorted(each.path for each in reported.server.requests) == [
                "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/b/elasticquotas/quota/status",
                "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/a/elasticquotas/quota/status",
            ]

    run(story())


def test_a_second_quota_of_a_namespace_shows_nothing() -> None:
    async def story() -> None:
        objects = (node("n1"), quota("a", 2, 2), quota("a", 4, 4, name="second"))
        async with reporting(*objects) as reported:
            reported.plan()
            await reported.written(1)
            assert reported.paths() == ["a/elasticquotas/quota/status"]

    run(story())


def test_a_quota_that_was_not_written_is_written_later() -> None:
    async def story() -> None:
        async with serving(answers(422, {}), answers(200, {})) as server:
            reported = Reported(server, "changes", [node("n1"), quota("a", 4, 4)])
            engine, now_ms = reported.led.engine, reported.led.server.now_ms
            task = asyncio.create_task(reported.reporter.run())
            reported.reporter.rested(engine, now_ms)
            await reported.written(1)
            reported.reporter.rested(engine, now_ms + 1000)
            await reported.written(2)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert reported.reporter.counts.written["queue-status"] == 1
            assert reported.reporter.counts.dropped["queue-status"] == 1

    run(story())
