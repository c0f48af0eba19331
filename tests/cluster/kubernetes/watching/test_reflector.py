"""One kind that is followed: a list, a watch, and what interrupts them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, ObjectFact, Seen
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.cluster.kubernetes.watching.reflector import Reflector
from tests.cluster.kubernetes.acting.scripted_session import broken, error
from tests.cluster.kubernetes.virtual_time import run
from tests.cluster.kubernetes.watching.scripted_cluster import (
    END,
    ScriptedCluster,
    event,
    expired,
    listing,
)

POD = ("", "Pod")
PODS = Resource(group="", version="v1", plural="pods")


class Followed:
    """Pods of a scripted cluster, followed."""

    def __init__(self) -> None:
        self.cluster = ScriptedCluster()
        self.facts: list[ObjectFact] = []
        self.freshness = Freshness(asyncio.get_running_loop().time)
        self.freshness.require(frozenset())
        self.reflector = Reflector(
            self.cluster.session,
            POD,
            PODS,
            take=lambda _, fact: self.facts.append(fact),
            freshness=self.freshness,
            random=lambda: 0.5,
        )

    def said(self) -> list[str]:
        """Return the facts, such as ``seen p``."""
        return [_words(fact) for fact in self.facts]


def followed(story: Callable[[Followed], Awaitable[None]]) -> Followed:
    """Run a story beside a reflector."""

    async def both() -> Followed:
        found = Followed()
        task = asyncio.create_task(found.reflector.run())
        await story(found)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return found

    return run(both())


def test_what_is_there_comes_first_and_then_every_change() -> None:
    async def story(found: Followed) -> None:
        found.cluster.lists["pods"] = [listing("p", "q")]
        lines = found.cluster.of("pods")
        lines.put_nowait(event("ADDED", "r", "6"))
        lines.put_nowait(event("MODIFIED", "p", "7"))
        lines.put_nowait(event("DELETED", "q", "8"))
        assert not found.freshness.is_current()
        await asyncio.sleep(1)
        assert found.freshness.is_current()

    found = followed(story)
    assert found.cluster.asked == ["list pods", "watch pods from 5"]
    assert found.said() == ["listed p q", "seen r", "seen p", "gone q"]


def test_a_watch_that_ends_goes_on_from_where_it_was_and_is_not_current_meanwhile() -> None:
    async def story(found: Followed) -> None:
        lines = found.cluster.of("pods")
        lines.put_nowait(event("ADDED", "p", "6"))
        lines.put_nowait(END)
        found.cluster.refusals["pods"] = []
        await asyncio.sleep(0.01)
        assert not found.freshness.is_current()
        await asyncio.sleep(5)
        assert found.freshness.is_current()

    assert followed(story).cluster.asked == [
        "list pods",
        "watch pods from 5",
        "watch pods from 6",
    ]


def test_after_a_version_that_is_forgotten_everything_is_listed_anew() -> None:
    async def story(found: Followed) -> None:
        found.cluster.lists["pods"] = [listing("p"), listing("q", version="9")]
        found.cluster.of("pods").put_nowait(expired())
        await asyncio.sleep(5)
        assert found.freshness.is_current()

    found = followed(story)
    assert found.said() == ["listed p", "listed q"]
    assert found.cluster.asked[-1] == "watch pods from 9"


@pytest.mark.parametrize("is_in_the_stream", [True, False])
def test_a_server_that_forgets_every_version_is_not_asked_for_lists_all_the_time(
    is_in_the_stream: bool,
) -> None:
    """Its watch cache is broken for ten minutes; a list of all pods may be 100 MB."""

    async def story(found: Followed) -> None:
        for _ in range(1000):
            if is_in_the_stream:
                found.cluster.of("pods").put_nowait(expired())
            else:
                found.cluster.refusals.setdefault("pods", []).append(error(410))
        await asyncio.sleep(600)
        assert not found.freshness.is_current()

    # Pauses of 0.15, 0.3, ... 19.2 and 22.5 s.
    assert followed(story).cluster.asked.count("list pods") < 40


@pytest.mark.parametrize("failure", [error(403), error(500), broken(is_sent=False)])
def test_a_list_that_fails_is_tried_again_more_seldom_each_time(failure: Exception) -> None:
    async def story(found: Followed) -> None:
        found.cluster.lists["pods"] = [*[failure] * 12, listing("p")]
        await asyncio.sleep(100)
        assert not found.freshness.is_current()
        assert found.said() == []
        await asyncio.sleep(200)
        assert found.freshness.is_current()
        assert found.said() == ["listed p"]

    followed(story)


def test_a_problem_that_lasts_is_logged_once_a_minute_and_its_end_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The API server is down for 90 s, in which it is asked about ten times."""

    async def story(found: Followed) -> None:
        await asyncio.sleep(1)
        found.cluster.refusals["pods"] = [error(500), *[broken(is_sent=False)] * 9]
        found.cluster.of("pods").put_nowait(END)
        await asyncio.sleep(300)
        assert found.freshness.is_current()

    caplog.set_level("INFO", "fairlead")
    followed(story)
    assert [each.getMessage().partition(";")[0] for each in caplog.records] == [
        f"cannot watch Pod: {error(500)}".partition(";")[0],
        f"cannot watch Pod: {broken(is_sent=False)}".partition(";")[0],
        f"cannot watch Pod: {broken(is_sent=False)}".partition(";")[0],
        "following Pod again",
    ]


def test_a_list_is_made_when_the_server_says_and_not_before() -> None:
    """The storage of a CRD is being initialised: 429 with Retry-After."""

    async def story(found: Followed) -> None:
        found.cluster.lists["pods"] = [error(429, retry_after_s=7), listing("p")]
        await asyncio.sleep(6.9)
        assert found.cluster.asked == ["list pods"]
        await asyncio.sleep(1)
        assert found.said() == ["listed p"]

    followed(story)


def _words(fact: ObjectFact) -> str:
    match fact:
        case Listed(_, objects):
            return " ".join(["listed", *map(_name, objects)])
        case Seen(found):
            return f"seen {_name(found)}"
        case Gone(found):
            return f"gone {_name(found)}"


def _name(found: Mapping[str, object]) -> str:
    metadata = found["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["name"])
