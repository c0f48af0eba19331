"""What a watch of a real API server says, across its ends and interruptions."""

import asyncio
from collections.abc import Callable
from itertools import groupby

from fairlead.cluster.kubernetes.client.errors import GoneError, UnreachableError
from fairlead.cluster.kubernetes.client.watch import Bookmark, Changed, Connected, Interrupted
from tests.live.api import MERGE, Api
from tests.live.client.watcher import version_of_pods, watching
from tests.live.etcd import compact
from tests.live.namespaces import create_namespace
from tests.live.pods import create_pod, pods_path
from tools.k8s.cluster import Cluster


def label(api: Api, namespace: str, name: str, value: str) -> None:
    """Change a pod in a way that nothing else reacts to."""
    api.patch(pods_path(namespace, name), {"metadata": {"labels": {"test": value}}}, MERGE)


def test_a_watch_says_every_change_in_order_and_a_later_one_goes_on_from_there(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story() -> None:
        create_pod(api, namespace, "before")
        version = await version_of_pods(cluster, namespace)
        async with watching(cluster, namespace, version) as first:
            create_pod(api, namespace, "a")
            label(api, namespace, "a", "1")
            label(api, namespace, "before", "1")
            await first.saw(("added", "a"), ("modified", "a"), ("modified", "before"))
        api.delete(pods_path(namespace, "a"), grace_period_s=0)
        create_pod(api, namespace, "b")
        last = first.events[-1]
        assert isinstance(last, Changed)
        async with watching(cluster, namespace, last.resource_version) as second:
            # A deletion marks the pod first, also one without a grace period.
            await second.saw(("modified", "a"), ("deleted", "a"), ("added", "b"))

    asyncio.run(story())


def test_a_watch_that_the_server_ends_in_order_resumes_from_its_bookmark(
    cluster: Cluster, api: Api, namespace: str, make_namespace: Callable[[str], str]
) -> None:
    """A turn of 300 s * (1 - 0.99) = 3 s; the server sends a bookmark 2 s before its end."""

    async def story() -> None:
        version = await version_of_pods(cluster, namespace)
        other = make_namespace("elsewhere")
        async with watching(cluster, namespace, version, random=lambda: -0.99) as watcher:
            await watcher.connected()
            create_pod(api, other, "elsewhere")
            assert await watcher.interrupted() is None
            await watcher.connected(times=2)
            create_pod(api, namespace, "a")
            await watcher.saw(("added", "a"))
        kinds = [kind for kind, _ in groupby(watcher.events, type)]
        assert kinds[:4] == [Connected, Bookmark, Interrupted, Connected]
        bookmark = watcher.of_type(Bookmark)[0]
        assert isinstance(bookmark, Bookmark)
        assert int(bookmark.resource_version) > int(version)

    asyncio.run(story())


def test_a_silent_watch_is_taken_for_ended_and_misses_nothing(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story() -> None:
        version = await version_of_pods(cluster, namespace)
        async with watching(cluster, namespace, version, idle_s=0.5) as watcher:
            assert await watcher.interrupted() is None, "that is no fault of the server"
            create_pod(api, namespace, "a")
            await watcher.saw(("added", "a"))

    asyncio.run(story())


def test_a_watch_outlasts_a_frozen_api_server(breakable_cluster: Cluster) -> None:
    api = Api(breakable_cluster)
    namespace = create_namespace(api, "frozen")

    async def story() -> None:
        version = await version_of_pods(breakable_cluster, namespace)
        async with watching(breakable_cluster, namespace, version, idle_s=0.5) as watcher:
            await watcher.connected()
            breakable_cluster.pause("kube-apiserver")
            assert await watcher.interrupted() is None, "the next attempt would say it"
            breakable_cluster.resume("kube-apiserver")
            create_pod(api, namespace, "a")
            await watcher.saw(("added", "a"))

    asyncio.run(story())


def test_a_version_from_before_a_restart_and_a_compaction_asks_for_a_new_list(
    breakable_cluster: Cluster,
) -> None:
    """A server that starts knows no change from before, and etcd has forgotten it as well."""
    api = Api(breakable_cluster)
    namespace = create_namespace(api, "compacted")

    async def story() -> None:
        version = await version_of_pods(breakable_cluster, namespace)
        async with watching(breakable_cluster, namespace, version) as watcher:
            await watcher.connected()
            breakable_cluster.stop("kube-apiserver")
            assert isinstance(await watcher.interrupted(), UnreachableError)
        breakable_cluster.restart("kube-apiserver")
        create_pod(api, namespace, "a")
        compact(breakable_cluster)
        breakable_cluster.restart("kube-apiserver")
        async with watching(breakable_cluster, namespace, version) as late:
            problem = await late.ended()
        assert isinstance(problem, GoneError)
        assert problem.retry_after_s is None
        assert late.changes() == []

    asyncio.run(story())
