"""The observer sees everything once and in order, and knows when that cannot be said."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.live.api import Api, Object
from tests.live.elastic_quotas import create_elastic_quota
from tests.live.faults.admin import admin_of
from tests.live.faults.history import PODS, History, Picture
from tests.live.faults.judge import violations
from tests.live.faults.observer import Observer, watching
from tests.live.faults.proxy import Proxy, proxied
from tests.live.nodes import create_node
from tests.live.pods import bind_pod, create_pod, pods_path
from tools.k8s.cluster import Cluster, token

Story = Callable[[Proxy, Observer], Awaitable[None]]
_BOUND_S = 40
_WITHIN_S = 10.0


def _observe(cluster: Cluster, story: Story) -> History:
    """Run a story beside an observer whose connections can be cut."""

    async def play() -> History:
        async with (
            asyncio.timeout(_BOUND_S),
            proxied(cluster.url, cluster.certificate) as proxy,
            admin_of(proxy.url, cluster.certificate, token("admin")) as admin,
            watching(admin) as observer,
        ):
            await story(proxy, observer)
            await observer.check_complete()
            return observer.history

    return asyncio.run(play())


def _changes(history: History, namespace: str) -> list[tuple[str, str]]:
    """Return which pods of a namespace came and went."""
    return [
        (fact.change, fact.object["metadata"]["name"])
        for fact in history.in_order()
        if fact.kind == PODS
        and fact.object["metadata"]["namespace"] == namespace
        and fact.change != "modified"
    ]


def _has_pod(name: str) -> Callable[[Picture], bool]:
    def look(now: Picture) -> bool:
        return any(_name(each) == name for each in now.of(PODS))

    return look


def _name(found: Object) -> str:
    return str(found["metadata"]["name"])


def test_each_change_is_seen_once_and_in_order(cluster: Cluster, api: Api, namespace: str) -> None:
    create_node(api, "n1")
    create_pod(api, namespace, "old", scheduler="none")

    async def story(proxy: Proxy, observer: Observer) -> None:
        await asyncio.to_thread(create_pod, api, namespace, "new", scheduler="none")
        await asyncio.to_thread(api.delete, pods_path(namespace, "old"))
        assert await observer.until(_has_pod("new"), _WITHIN_S)

    history = _observe(cluster, story)
    assert _changes(history, namespace) == [
        ("listed", "old"),
        ("added", "new"),
        ("deleted", "old"),
    ]
    assert not history.gaps


def test_the_versions_of_all_kinds_have_one_order(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story(proxy: Proxy, observer: Observer) -> None:
        await asyncio.to_thread(create_pod, api, namespace, "x", scheduler="none")
        await asyncio.to_thread(create_node, api, "n1")
        await asyncio.to_thread(bind_pod, api, namespace, "x", "n1")

    history = _observe(cluster, story)
    kinds = [fact.kind.rpartition("/")[2] for fact in history.in_order() if fact.change == "added"]
    assert kinds == ["pods", "nodes"]


def test_nothing_is_missed_or_seen_twice_when_watches_break(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story(proxy: Proxy, observer: Observer) -> None:
        for number in range(20):
            if number % 5 == 4:
                proxy.cut_watches()
            await asyncio.to_thread(create_pod, api, namespace, f"x-{number}", scheduler="none")
        assert await observer.until(_has_pod("x-19"), _WITHIN_S)

    history = _observe(cluster, story)
    assert _changes(history, namespace) == [("added", f"x-{each}") for each in range(20)]
    assert not history.gaps


def test_a_watch_that_expires_is_a_gap_that_is_counted(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story(proxy: Proxy, observer: Observer) -> None:
        await asyncio.to_thread(create_pod, api, namespace, "x", scheduler="none")
        assert await observer.until(_has_pod("x"), _WITHIN_S)
        proxy.expire_watches()
        await asyncio.to_thread(api.delete, pods_path(namespace, "x"))
        assert await observer.until(lambda now: not _has_pod("x")(now), _WITHIN_S)

    history = _observe(cluster, story)
    assert history.gaps >= 1
    changes = _changes(history, namespace)
    assert (changes[0], changes[-1]) == (("added", "x"), ("deleted", "x"))


def test_it_goes_on_when_the_api_server_is_started_anew(breakable_cluster: Cluster) -> None:
    api = Api(breakable_cluster)
    name = "observed-restart"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    api.create("/api/v1/namespaces", body)

    async def story(proxy: Proxy, observer: Observer) -> None:
        await asyncio.to_thread(create_pod, api, name, "before", scheduler="none")
        breakable_cluster.restart("kube-apiserver")  # which ends with the thread that started it
        await asyncio.to_thread(create_pod, api, name, "after", scheduler="none")
        assert await observer.until(_has_pod("after"), _WITHIN_S)

    history = _observe(breakable_cluster, story)
    assert {pod for _, pod in _changes(history, name)} == {"before", "after"}
    api.delete(pods_path(name), grace_period_s=0)


def test_what_a_bad_scheduler_does_is_found(cluster: Cluster, api: Api, namespace: str) -> None:
    create_node(api, "n1", cpu="1")
    create_elastic_quota(api, namespace, "quota", min={"cpu": "2", "memory": "2Gi"})

    async def story(proxy: Proxy, observer: Observer) -> None:
        for name in ("x", "y"):
            await asyncio.to_thread(create_pod, api, namespace, name)
            await asyncio.to_thread(bind_pod, api, namespace, name, "n1")
        await asyncio.to_thread(api.create, pods_path(namespace, "x", "eviction"), _eviction("x"))

    found = violations(_observe(cluster, story))
    assert any(each.startswith("n1 is overcommitted") for each in found), found
    assert f"{namespace}/x was evicted, although {namespace} was within its guarantee" in found


def _eviction(name: str) -> Object:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}


def test_what_does_not_come_true_in_time_is_said(cluster: Cluster) -> None:
    async def story(proxy: Proxy, observer: Observer) -> None:
        assert not await observer.until(_has_pod("never"), within_s=0.05)

    _observe(cluster, story)
