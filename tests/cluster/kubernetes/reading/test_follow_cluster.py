"""Following a cluster: the state is shown when it changes, and is that of the objects then."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.credentials import FixedToken
from fairlead.cluster.kubernetes.reading.follow_cluster import follow_cluster
from fairlead.cluster.kubernetes.reading.followed_state import FollowedState
from fairlead.cluster.kubernetes.reading.kinds import kinds_to_read, rules_without
from fairlead.cluster.kubernetes.reading.read_cluster import read_cluster
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import read_bytes
from tests.cluster.kubernetes.canned_api import CannedApi, Object, status

WITHIN_S = 20.0
Seen = list[list[str]]


def queue(name: str) -> Object:
    amounts = {"quota": 1, "limit": -1, "overQuotaWeight": 1}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"resources": {"gpu": amounts}},
    }


def shard(name: str) -> Object:
    return {
        "apiVersion": "kai.scheduler/v1",
        "kind": "SchedulingShard",
        "metadata": {"name": name},
        "spec": {"partitionLabelValue": name},
    }


def access_to(server: CannedApi) -> Access:
    return Access(server=server.url, ssl=None, credentials=FixedToken("abc"))


async def follow(
    server: CannedApi,
    story: Callable[[Seen], Awaitable[None]],
    *,
    before_watching: Callable[[], None] = lambda: None,
    added: str = "",
    stale: Seen | None = None,
) -> Seen:
    """Follow a cluster during *story*, which gets the names of the queues of each showing.

    *stale* gets the kinds that are not current.
    """
    access = access_to(server)
    objects = await read_cluster(access, kinds_to_read("kai"))
    before_watching()
    files = read_bytes(added.encode(), "added.yaml", Findings()) if added else []
    state = FollowedState("kai", rules_without(()), [None], objects=objects, added=files)
    seen: Seen = []

    def show(not_current: list[str]) -> None:
        [assembled] = state.settle()
        if stale is not None:
            stale.append(not_current)
        seen.append(sorted(assembled.state.queues))

    following = asyncio.create_task(follow_cluster(access, objects, state, show))
    try:
        async with asyncio.timeout(WITHIN_S):
            await story(seen)
            if following.done():
                following.result()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    return seen


async def until(wanted: Callable[[], bool]) -> None:
    while not wanted():
        await asyncio.sleep(0.01)


def test_the_state_is_shown_at_once_and_after_each_change(server: CannedApi) -> None:
    server.put(queue("a"))

    async def story(seen: Seen) -> None:
        await until(lambda: bool(seen))
        server.put(queue("b"))
        await until(lambda: ["a", "b"] in seen)
        server.remove(queue("a"))
        await until(lambda: ["b"] in seen)

    seen = asyncio.run(follow(server, story))
    assert seen == [["a"], ["a", "b"], ["b"]]


def test_all_kinds_are_current_once_their_watches_run(server: CannedApi) -> None:
    server.put(queue("a"))
    stale: Seen = []

    async def story(seen: Seen) -> None:
        await until(lambda: bool(seen))
        server.put(queue("b"))
        await until(lambda: ["a", "b"] in seen and stale[-1] == [])

    asyncio.run(follow(server, story, stale=stale))


def test_what_happens_between_the_reading_and_the_watch_is_seen(server: CannedApi) -> None:
    """The watch begins at the version of the list, so nothing is listed a second time."""
    server.put(queue("a"))

    async def story(seen: Seen) -> None:
        await until(lambda: ["a", "b"] in seen)

    asyncio.run(follow(server, story, before_watching=lambda: server.put(queue("b"))))
    lists = [each for each in server.requests if "/queues?limit=" in each]
    assert len(lists) == 1


def test_a_watch_that_ends_goes_on_where_it_was(server: CannedApi) -> None:
    server.put(queue("a"))

    async def story(seen: Seen) -> None:
        await until(lambda: bool(seen))
        server.end_watches()
        server.put(queue("b"))
        await until(lambda: ["a", "b"] in seen)

    asyncio.run(follow(server, story))


def test_what_a_file_adds_stays_when_its_kind_is_listed_anew(server: CannedApi) -> None:
    """A version that the server does not know any more asks for a new list of the queues."""
    server.put(queue("a"))
    gone = {"type": "ERROR", "object": status(410, "Expired")}
    queues = "/apis/scheduling.run.ai/v2/queues"

    async def story(seen: Seen) -> None:
        await until(lambda: bool(seen) and server.is_watched(queues))
        server.send(queues, gone)
        server.put(queue("c"))
        await until(lambda: any("c" in each for each in seen))

    seen = asyncio.run(follow(server, story, added=json.dumps(queue("b"))))
    assert seen[0] == ["a", "b"]
    assert seen[-1] == ["a", "b", "c"]
    assert sum("/queues?limit=" in each for each in server.requests) == 2


def settle(state: FollowedState) -> None:
    state.settle()


def test_following_ends_when_the_cluster_has_other_shards(server: CannedApi) -> None:
    """The states are those of the shards that there were, so all is to be read anew."""
    server.put(queue("a"), shard("one"))
    objects = asyncio.run(read_cluster(access_to(server), kinds_to_read("kai")))
    state = FollowedState("kai", rules_without(()), ["one"], objects=objects)

    async def story() -> None:
        following = follow_cluster(access_to(server), objects, state, lambda _: settle(state))
        server.put(shard("two"))
        async with asyncio.timeout(WITHIN_S):
            await following

    asyncio.run(story())
