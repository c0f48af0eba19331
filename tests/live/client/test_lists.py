"""All objects of a kind, from a real API server in pages."""

import asyncio

from fairlead.cluster.kubernetes.acting.requests import PODS
from fairlead.cluster.kubernetes.client.lists import Listing, list_objects
from tests.live.api import Api
from tests.live.open_session import open_session
from tests.live.pods import create_pod, pods_path
from tools.k8s.cluster import Cluster

NAMES = [f"p{number}" for number in range(7)]


def listing(cluster: Cluster, namespace: str, page_size: int) -> tuple[Listing, list[int]]:
    """Return the pods of a namespace, and how many objects each page had."""
    pages: list[int] = []

    async def story() -> Listing:
        async with open_session(cluster) as session:
            return await list_objects(
                session, PODS, namespace=namespace, page_size=page_size, note=pages.append
            )

    return asyncio.run(story()), pages


def test_a_list_in_pages_has_every_object_once_with_its_kind(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    """7 pods in pages of 3 = 3 + 3 + 1; which client wrote which field is left out."""
    for name in NAMES:
        create_pod(api, namespace, name)
    found, pages = listing(cluster, namespace, page_size=3)
    assert pages == [3, 3, 1]
    by_server = api.get(pods_path(namespace))
    for each in by_server["items"]:
        del each["metadata"]["managedFields"]
    assert found.objects == [
        {"apiVersion": "v1", "kind": "Pod", **each} for each in by_server["items"]
    ]
    assert [each["metadata"]["name"] for each in by_server["items"]] == NAMES


def test_an_empty_list_has_a_version_for_a_watch(cluster: Cluster, namespace: str) -> None:
    found, pages = listing(cluster, namespace, page_size=3)
    assert (found.objects, pages) == ([], [0])
    assert int(found.resource_version) > 0
