"""The whole loop beside a scripted API server: what it begins, and in which order it ends."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.loop.leadership import Alone
from fairlead.cluster.kubernetes.loop.live_scheduler import LiveScheduler
from fairlead.cluster.kubernetes.loop.supervision import EndedError
from fairlead.manifest.text.documents import cluster_document
from tests.cluster.kubernetes.acting.scripted_session import OK, ScriptedSession
from tests.cluster.kubernetes.client.byte_server import FixedToken
from tests.cluster.kubernetes.engine.led_engine import SETTINGS, node, pod, quota
from tests.cluster.kubernetes.watching.scripted_cluster import ScriptedCluster
from tests.manifest.translate.api_server import ApiServer, Object

BOUND_S = 20  # no test takes longer, whatever it waits for


class Term(Alone):
    """A leadership that notes its release, and that a test can end."""

    def __init__(self, happened: list[str]) -> None:
        self._happened = happened
        self.end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.begin = asyncio.Event()
        self.begin.set()

    async def gained(self) -> None:
        await self.begin.wait()

    async def lost(self) -> str:
        return await self.end

    async def release(self) -> None:
        self._happened.append("released")


class Whole:
    """A scheduler whose sessions are scripted: one pod is to be bound to one node."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.happened: list[str] = []
        self.stop = asyncio.Event()
        self.cluster = ScriptedCluster()
        for each in stored(node("n1"), quota("a", 4, 4), pod("a/p")):
            plural = f"{each['kind'].lower()}s"
            page = {"kind": f"{each['kind']}List", "apiVersion": each["apiVersion"]}
            self.cluster.lists[plural] = [
                {**page, "metadata": {"resourceVersion": "9"}, "items": [each]}
            ]
        self.acts = ScriptedSession()
        self.term = Term(self.happened)
        module = "fairlead.cluster.kubernetes.loop.live_scheduler"
        monkeypatch.setattr(f"{module}.acts_session", lambda _: self._noted(self.acts, "acts"))
        watches = self._noted(self.cluster, "watches")
        monkeypatch.setattr(f"{module}.watches_session", lambda _: watches)
        access = Access(server="http://127.0.0.1:1", ssl=None, credentials=FixedToken())
        self.scheduler = LiveScheduler(
            access, "elastic-quota", [cluster_document(SETTINGS)], self.term
        )

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so."""
        while not is_so():
            await asyncio.sleep(0.005)

    def _noted(self, session: Any, name: str) -> Any:
        async def close() -> None:
            self.happened.append(f"closed {name}")

        session.close = close
        return session


def stored(*objects: Object) -> list[Object]:
    """Return objects as an API server shows them."""
    server = ApiServer()
    for each in objects:
        server.create(each)
    return list(server.objects.values())


def told(monkeypatch: pytest.MonkeyPatch, story: Any) -> None:
    """Run a story beside a scheduler, and see what ended it."""

    async def both() -> None:
        whole = Whole(monkeypatch)
        async with asyncio.timeout(BOUND_S):
            task = asyncio.create_task(whole.scheduler.run(whole.stop, [], {}))
            await story(whole, task)

    asyncio.run(both())


def test_a_pod_is_bound_and_what_is_on_its_way_ends_before_the_lease_is_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SIGTERM comes while a bind has no answer: another leader must not begin before it has one."""

    async def story(whole: Whole, task: "asyncio.Task[None]") -> None:
        await whole.until(lambda: whole.acts.requests)
        assert whole.acts.sent() == ["binding p"]
        assert whole.scheduler.is_ready()
        whole.stop.set()
        await asyncio.sleep(0.03)
        assert whole.happened == []
        whole.acts.requests[0].gets(OK)
        await task
        assert whole.happened == ["closed watches", "closed acts", "released"]

    told(monkeypatch, story)


def test_the_lease_is_not_released_while_the_outcome_of_a_request_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.cluster.kubernetes.loop.live_scheduler._ACTS_END_WITHIN_S", 0.02)

    async def story(whole: Whole, task: "asyncio.Task[None]") -> None:
        await whole.until(lambda: whole.acts.requests)
        whole.stop.set()
        await task
        assert whole.happened == ["closed watches", "closed acts"]

    told(monkeypatch, story)


def test_a_scheduler_that_leads_no_more_ends_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(whole: Whole, task: "asyncio.Task[None]") -> None:
        await whole.until(lambda: whole.acts.requests)
        whole.acts.requests[0].gets(OK)
        whole.term.end.set_result("the Lease belongs to another")
        with pytest.raises(EndedError, match="the Lease belongs to another"):
            await task

    told(monkeypatch, story)


def test_nothing_is_listed_before_this_process_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(whole: Whole, task: "asyncio.Task[None]") -> None:
        whole.term.begin.clear()
        await asyncio.sleep(0.02)
        assert whole.cluster.asked == []
        whole.stop.set()
        await task
        assert whole.happened == ["released"]

    told(monkeypatch, story)


def test_a_defect_of_the_engine_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("fairlead.cluster.kubernetes.engine.engine.Engine.take", fails)

    async def story(whole: Whole, task: "asyncio.Task[None]") -> None:
        with pytest.raises(ZeroDivisionError):
            await task
        assert whole.happened[-1] == "released"

    told(monkeypatch, story)
