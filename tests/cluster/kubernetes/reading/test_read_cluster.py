"""Reading all objects of a cluster: what is there, what may not be seen, what goes wrong."""

import asyncio

import msgspec
import pytest

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.credentials import FixedToken
from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.client.errors import ServerFaultError, UnauthorizedError
from fairlead.cluster.kubernetes.reading.read_cluster import (
    ClusterObjects,
    Progress,
    read_cluster,
)
from fairlead.errors import ClusterError
from fairlead.manifest.text.documents import cluster_document
from tests.cluster.kubernetes.canned_api import CannedApi, Object, status

PODS: GroupKind = ("", "Pod")
NODES: GroupKind = ("", "Node")
GROUPS: GroupKind = ("example.com", "Group")
WANTED = {PODS: ["v1"], NODES: ["v1"], GROUPS: ["v2", "v1"]}


def pod(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "lab"}}


def node(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def read(
    server: CannedApi, *, budget_s: float | None = 20.0, notes: list[Progress] | None = None
) -> ClusterObjects:
    access = Access(server=server.url, ssl=None, credentials=FixedToken("abc"))

    def note(progress: Progress) -> None:
        if notes is not None:
            notes.append(msgspec.structs.replace(progress))

    return asyncio.run(read_cluster(access, WANTED, budget_s=budget_s, note=note))


def names(found: ClusterObjects, kind: GroupKind) -> list[str]:
    documents = map(cluster_document, found.kinds[kind].listing.objects)
    return [each.source.file.rpartition("/")[2].rpartition(" ")[2] for each in documents]


def test_the_objects_of_all_kinds_that_are_served_are_read(server: CannedApi) -> None:
    server.put(pod("a"), pod("b"), node("n"))
    found = read(server)
    assert list(found.kinds) == [PODS, NODES]
    assert (names(found, PODS), names(found, NODES)) == (["a", "b"], ["n"])
    assert found.count() == 3
    assert found.refused == {}


def test_a_kind_without_objects_is_known_to_have_none(server: CannedApi) -> None:
    server.serve_kind("v1", "Pod")
    found = read(server)
    assert names(found, PODS) == []
    assert GROUPS not in found.kinds


def test_each_list_says_of_which_moment_it_is(server: CannedApi) -> None:
    """The first object is of version 101, the second of 102."""
    server.put(pod("a"), pod("b"))
    assert read(server).kinds[PODS].listing.resource_version == "102"


def test_a_kind_is_read_in_the_first_of_its_versions_that_is_served(server: CannedApi) -> None:
    server.put({"apiVersion": "example.com/v1", "kind": "Group", "metadata": {"name": "g"}})
    found = read(server)
    assert found.kinds[GROUPS].resource.version == "v1"
    assert names(found, GROUPS) == ["g"]


def test_large_kinds_are_read_in_pages(server: CannedApi) -> None:
    """1,001 pods are pages of 500, 500 and 1."""
    server.put(*[pod(f"p{number:04}") for number in range(1001)])
    assert names(read(server), PODS) == [f"p{number:04}" for number in range(1001)]
    assert sum(each.startswith("/api/v1/pods?") for each in server.requests) == 3


def test_each_page_is_noted(server: CannedApi) -> None:
    server.put(*[pod(f"p{number}") for number in range(501)])
    notes: list[Progress] = []
    read(server, notes=notes)
    assert [(each.objects, each.kinds, each.of_kinds) for each in notes] == [
        (500, 0, 1),
        (501, 0, 1),
    ]


def test_a_kind_that_may_not_be_listed_is_left_out(server: CannedApi) -> None:
    server.put(pod("a"), node("n"))
    server.refuse("nodes")
    found = read(server)
    assert list(found.kinds) == [PODS]
    assert list(found.refused) == [NODES]
    assert found.refused[NODES].resource.plural == "nodes"


def test_a_user_without_any_right_is_told_what_to_do(server: CannedApi) -> None:
    server.put(pod("a"), node("n"))
    server.refuse("nodes", "pods")
    with pytest.raises(ClusterError, match=r"none of the 2 kinds.*ClusterRole.*403 Forbidden"):
        read(server)


def test_a_kind_whose_definition_goes_meanwhile_is_absent(server: CannedApi) -> None:
    server.put(pod("a"), node("n"))
    server.play("/api/v1/nodes", (404, status(404, "NotFound")))
    assert list(read(server).kinds) == [PODS]


def test_a_server_that_asks_to_wait_is_asked_again(server: CannedApi) -> None:
    """As for the first list of a new kind."""
    wait = 429, status(429, "TooManyRequests", "storage is (re)initializing", retryAfterSeconds=0)
    server.put(pod("a"))
    server.play("/api/v1/pods", wait, wait)
    assert names(read(server), PODS) == ["a"]


def test_a_server_that_fails_again_and_again_is_an_error(server: CannedApi) -> None:
    server.put(pod("a"), node("n"))
    server.play("/api/v1/pods", *[(500, status(500, "InternalError", "no webhook"))] * 5)
    with pytest.raises(ServerFaultError, match="no webhook"):
        read(server)


def test_a_user_that_is_not_known_is_an_error(server: CannedApi) -> None:
    unknown = 401, status(401, "Unauthorized")
    server.play("/api", unknown, unknown)
    with pytest.raises(UnauthorizedError, match="log in again"):
        read(server)


def test_a_reading_has_a_budget_of_time(server: CannedApi) -> None:
    """The server asks to wait for a minute; there is a tenth of a second."""
    server.put(pod("a"))
    server.play("/api/v1/pods", (429, status(429, "TooManyRequests", retryAfterSeconds=60)))
    with pytest.raises(ClusterError, match=r"not read within 0\.1 s"):
        read(server, budget_s=0.1)
