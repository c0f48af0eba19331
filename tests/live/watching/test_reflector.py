"""Reflectors on a real API server that is killed, frozen and made to forget."""

import asyncio

import pytest

from fairlead.cluster.kubernetes.client.resource import Resource
from tests.live.api import Api, Object
from tests.live.etcd import compact
from tests.live.installation import DEFINITIONS
from tests.live.namespaces import create_namespace
from tests.live.nodes import NODES, create_node
from tests.live.pods import bind_pod, create_pod, pods_path
from tests.live.waiting import eventually
from tests.live.watching.followed import NODE, POD, Followed, following
from tools.k8s.cluster import Cluster


def on_the_server(api: Api) -> dict[str, str]:
    """Return the resourceVersion of each pod, as the server has it."""
    return {_key(each): each["metadata"]["resourceVersion"] for each in api.items("/api/v1/pods")}


def _key(found: Object) -> str:
    return f"{found['metadata']['namespace']}/{found['metadata']['name']}"


async def agrees(followed: Followed, api: Api) -> None:
    """Return once the facts add up to what the server has, and are current."""
    await eventually(
        "the facts are those of the server, and current",
        lambda: (
            followed.versions(POD),
            on_the_server(api),
            followed.freshness.not_current(),
            followed.freshness.is_current(),
        ),
        lambda seen: seen[0] == seen[1] and not seen[2] and seen[3],
        within_s=30,
    )


def test_the_facts_add_up_to_what_the_server_has(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    async def story() -> None:
        create_pod(api, namespace, "before")
        async with following(cluster) as followed:
            assert followed.freshness.not_current() == ["Node", "Pod"]
            await eventually("all is listed", followed.freshness.are_all_listed)
            create_node(api, "n1")
            create_pod(api, namespace, "a")
            bind_pod(api, namespace, "a", "n1")
            api.delete(pods_path(namespace, "before"), grace_period_s=0)
            await agrees(followed, api)
            assert f"{namespace}/before" not in followed.versions(POD)
            assert followed.versions(NODE).keys() == {"/n1"}
            api.delete(f"{NODES}/n1")
            await eventually("no node", lambda: followed.versions(NODE), lambda seen: not seen)
            assert (followed.lists_of(POD), followed.lists_of(NODE)) == (1, 1)

    asyncio.run(story())


def test_a_kind_is_followed_as_soon_as_its_crd_is_created(cluster: Cluster, api: Api) -> None:
    """The server answers 404 at first and then, for a second, 429 to each list."""
    gadget = ("followed.test.fairlead", "Gadget")
    resource = Resource(group=gadget[0], version="v1", plural="gadgets", is_namespaced=False)
    path = f"{DEFINITIONS}/gadgets.{gadget[0]}"
    body = {"apiVersion": f"{gadget[0]}/v1", "kind": "Gadget", "metadata": {"name": "a"}}

    async def story() -> None:
        async with following(cluster, {gadget: resource}) as followed:
            await asyncio.sleep(0.1)
            assert followed.facts == []
            api.create(DEFINITIONS, definition_of_gadgets(gadget[0]))
            await eventually("Gadgets are listed", followed.freshness.are_all_listed)
            api.create(resource.collection(), body)
            await eventually(
                "the Gadget is seen",
                lambda: followed.versions(gadget).keys(),
                lambda s: s == {"/a"},
            )
            await eventually("all is current", followed.freshness.is_current)

    try:
        asyncio.run(story())
    finally:
        api.delete(path)


def definition_of_gadgets(group: str) -> Object:
    """Return a CRD that accepts everything."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [version],
        },
    }


@pytest.mark.parametrize("forgets", [False, True], ids=["with its history", "compacted"])
def test_nothing_is_lost_over_a_restart_of_the_api_server(
    breakable_cluster: Cluster, forgets: bool
) -> None:
    """While it is away nothing is current. What happens before the watch is back is seen."""
    api = Api(breakable_cluster)
    namespace = create_namespace(api, "restarted")
    for name in ("stays", "goes"):
        create_pod(api, namespace, name)

    async def story() -> None:
        async with following(breakable_cluster) as followed:
            await agrees(followed, api)
            breakable_cluster.stop("kube-apiserver")
            await eventually(
                "nothing is current",
                followed.freshness.not_current,
                lambda seen: seen == ["Node", "Pod"],
            )
            assert not followed.freshness.is_current()
            if forgets:
                compact(breakable_cluster)
            breakable_cluster.restart("kube-apiserver")  # the event loop stands still meanwhile
            api.delete(pods_path(namespace, "goes"), grace_period_s=0)
            create_pod(api, namespace, "comes")
            assert not followed.freshness.is_current()
            await agrees(followed, api)
            names = {each for each in followed.versions(POD) if each.startswith(namespace)}
            assert names == {f"{namespace}/stays", f"{namespace}/comes"}

    asyncio.run(story())


def test_nothing_is_lost_over_a_restart_of_etcd(breakable_cluster: Cluster) -> None:
    api = Api(breakable_cluster)
    namespace = create_namespace(api, "etcd")

    async def story() -> None:
        async with following(breakable_cluster) as followed:
            await agrees(followed, api)
            create_pod(api, namespace, "a")
            breakable_cluster.restart("etcd")
            create_pod(api, namespace, "b")
            await agrees(followed, api)
            assert {f"{namespace}/a", f"{namespace}/b"} <= followed.versions(POD).keys()

    asyncio.run(story())
