"""The proxy changes nothing but the one write that it is asked to make fail."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.live.api import Api, Object
from tests.live.faults.admin import Admin, RefusedError, admin_of
from tests.live.faults.fault import Fault, Kind
from tests.live.faults.proxy import Proxy, proxied
from tests.live.faults.writes import Write
from tests.live.pods import pods_path
from tools.k8s.cluster import Cluster, free_ports, token

Story = Callable[[Proxy, Admin], Awaitable[None]]
_BOUND_S = 20


def _pod(name: str) -> Object:
    container = {"name": "main", "image": "registry.example/main:1"}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def _names(api: Api, namespace: str) -> list[str]:
    return [each["metadata"]["name"] for each in api.items(pods_path(namespace))]


def _fault(kind: Kind, namespace: str, number: int = 1) -> Fault:
    return Fault(Write("post", f"pods {namespace}", number), kind)


def _play(cluster: Cluster, fault: Fault | None, story: Story) -> Proxy:
    """Run a story against a proxy, and return the proxy as it was at the end."""

    async def play() -> Proxy:
        async with (
            asyncio.timeout(_BOUND_S),
            proxied(cluster.url, cluster.certificate, fault) as proxy,
            admin_of(proxy.url, cluster.certificate, token("admin")) as through,
        ):
            await story(proxy, through)
            return proxy

    return asyncio.run(play())


@asynccontextmanager
async def _watch(through: Admin, namespace: str) -> AsyncIterator[aiohttp.StreamReader]:
    """Give the lines of a watch of all pods of a namespace from now on."""
    path = pods_path(namespace)
    version = (await through.ask("GET", path))["metadata"]["resourceVersion"]
    query = {"watch": "true", "resourceVersion": version}
    async with through.http.get(through.url + path, params=query) as answer:
        yield answer.content


def test_answers_pass_as_they_are_and_writes_are_noted(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        made = await through.create(pods_path(namespace), _pod("x"))
        assert made == await through.ask("GET", pods_path(namespace, "x"))
        with pytest.raises(RefusedError) as refused:
            await through.ask("POST", pods_path(namespace), _pod("x"))
        assert refused.value.code == 409

    proxy = _play(cluster, None, story)
    assert proxy.journal.writes == [Write("post", f"pods {namespace}", each) for each in (1, 2)]
    assert _names(api, namespace) == ["x"]


def test_requests_one_after_the_other_share_a_connection(cluster: Cluster, namespace: str) -> None:
    made: list[object] = []

    async def note(*found: object) -> None:
        made.append(found)

    async def story(proxy: Proxy, through: Admin) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(note)
        trace.freeze()
        through.http.trace_configs.append(trace)
        for name in "abc":
            await through.create(pods_path(namespace), _pod(name))
            await through.ask("GET", pods_path(namespace, name))

    _play(cluster, None, story)
    assert len(made) == 1


@pytest.mark.parametrize(("kind", "made"), [(Kind.CUT_BEFORE, ["y"]), (Kind.CUT_AFTER, ["x", "y"])])
def test_a_write_is_cut_off_once_before_or_after_the_api_server_did_it(
    cluster: Cluster, api: Api, namespace: str, kind: Kind, made: list[str]
) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        with pytest.raises(aiohttp.ClientError):
            await through.ask("POST", pods_path(namespace), _pod("x"))
        await through.ask("POST", pods_path(namespace), _pod("y"))

    assert _play(cluster, _fault(kind, namespace), story).is_delivered
    assert _names(api, namespace) == made


@pytest.mark.parametrize(
    ("kind", "code"), [(Kind.CONFLICT, 409), (Kind.TOO_MANY, 429), (Kind.BROKEN, 500)]
)
def test_a_write_is_refused_once_and_the_api_server_never_sees_it(
    cluster: Cluster, api: Api, namespace: str, kind: Kind, code: int
) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        await through.ask("POST", pods_path(namespace), _pod("x"))
        with pytest.raises(RefusedError) as refused:
            await through.ask("POST", pods_path(namespace), _pod("y"))
        assert refused.value.code == code
        await through.ask("POST", pods_path(namespace), _pod("z"))

    assert _play(cluster, _fault(kind, namespace, number=2), story).is_delivered
    assert _names(api, namespace) == ["x", "z"]


def test_a_slow_answer_comes_after_the_write_was_done(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        write = asyncio.create_task(through.ask("POST", pods_path(namespace), _pod("x")))
        while not await through.items(pods_path(namespace)):
            await asyncio.sleep(0.01)
        assert not write.done()
        assert (await write)["metadata"]["name"] == "x"

    assert _play(cluster, _fault(Kind.SLOW, namespace), story).is_delivered


def test_a_write_goes_on_when_its_client_gives_up(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        write = asyncio.create_task(through.ask("POST", pods_path(namespace), _pod("x")))
        while not proxy.journal.writes:
            await asyncio.sleep(0)
        write.cancel()
        while not await through.items(pods_path(namespace)):
            await asyncio.sleep(0.01)

    _play(cluster, None, story)
    assert _names(api, namespace) == ["x"]


@pytest.mark.parametrize(("kind", "made"), [(Kind.KILL_BEFORE, []), (Kind.KILL_AFTER, ["x"])])
def test_the_process_is_killed_before_or_after_the_write(
    cluster: Cluster, api: Api, namespace: str, kind: Kind, made: list[str]
) -> None:
    seen: list[list[str]] = []

    async def kill() -> None:
        seen.append(_names(api, namespace))

    async def story(proxy: Proxy, through: Admin) -> None:
        proxy.kill = kill
        with pytest.raises(aiohttp.ClientError):
            await through.ask("POST", pods_path(namespace), _pod("x"))

    _play(cluster, _fault(kind, namespace), story)
    assert seen == [made]


def test_a_watch_passes_each_event_at_once(cluster: Cluster, namespace: str) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        await through.create(pods_path(namespace), _pod("old"))
        async with _watch(through, namespace) as lines:
            for name in "abc":
                await through.create(pods_path(namespace), _pod(name))
                event = json.loads(await lines.readline())
                assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)
            assert proxy.open_watches == 1

    proxy = _play(cluster, None, story)
    assert proxy.open_watches == 0
    assert [each.number for each in sorted(proxy.watched)] == [2, 3, 4]


def test_all_watches_are_cut_when_the_write_comes(cluster: Cluster, namespace: str) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        async with _watch(through, namespace) as one, _watch(through, namespace) as two:
            await through.create(pods_path(namespace), _pod("x"))
            for lines in (one, two):
                with pytest.raises(aiohttp.ClientError):
                    await lines.read()

    assert _play(cluster, _fault(Kind.WATCHES_CUT, namespace), story).is_delivered


def test_all_watches_expire_when_the_write_comes(cluster: Cluster, namespace: str) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        async with _watch(through, namespace) as lines:
            await through.create(pods_path(namespace), _pod("x"))
            *_, last = (await lines.read()).splitlines()
            event = json.loads(last)
            assert event["type"] == "ERROR"
            assert event["object"]["code"] == 410

    assert _play(cluster, _fault(Kind.WATCHES_EXPIRED, namespace), story).is_delivered


@pytest.mark.parametrize("kind", [Kind.WATCHES_CUT, Kind.WATCHES_EXPIRED])
def test_without_a_watch_there_is_none_to_break(
    cluster: Cluster, namespace: str, kind: Kind
) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        await through.create(pods_path(namespace), _pod("x"))

    assert not _play(cluster, _fault(kind, namespace), story).is_delivered


def test_a_fault_at_a_write_that_never_comes_is_not_delivered(
    cluster: Cluster, namespace: str
) -> None:
    async def story(proxy: Proxy, through: Admin) -> None:
        await through.create(pods_path(namespace), _pod("x"))

    assert not _play(cluster, _fault(Kind.BROKEN, namespace, number=2), story).is_delivered


def test_where_no_api_server_answers_the_connection_breaks(cluster: Cluster) -> None:
    async def story() -> None:
        nowhere = f"https://127.0.0.1:{free_ports(1)[0]}"
        async with (
            asyncio.timeout(_BOUND_S),
            proxied(nowhere, cluster.certificate) as proxy,
            admin_of(proxy.url, cluster.certificate, token("admin")) as through,
        ):
            with pytest.raises(aiohttp.ClientError):
                await through.ask("GET", "/api/v1/nodes")

    asyncio.run(story())
