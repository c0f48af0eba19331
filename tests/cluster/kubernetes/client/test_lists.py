"""Every object of one kind, in pages."""

from decimal import Decimal
from typing import Any

import pytest

from fairlead.cluster.kubernetes.client.errors import (
    ApiError,
    GoneError,
    ServerFaultError,
    TooLongAnswerError,
    UnreadableAnswerError,
)
from fairlead.cluster.kubernetes.client.lists import Listing, list_objects
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.manifest.text.documents import cluster_document
from tests.cluster.kubernetes.client.byte_server import (
    ByteServer,
    Playing,
    answers,
    run,
    serving,
    status,
)

PODS = Resource(group="", version="v1", plural="pods")
QUOTAS = Resource(group="scheduling.sigs.k8s.io", version="v1alpha1", plural="elasticquotas")
NODES = Resource(group="", version="v1", plural="nodes", is_namespaced=False)
EXPIRED = answers(410, status(410, "Expired", "The provided continue parameter is too old"))


def page(*names: str, more: str = "", version: str = "7") -> Playing:
    metadata = {"resourceVersion": version, **({"continue": more} if more else {})}
    items = [{"metadata": {"name": name}} for name in names]
    return answers(
        200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}
    )


def listed(
    *plays: Playing, resource: Resource = PODS, max_body_bytes: int = 2**20, **how: Any
) -> tuple[Listing, ByteServer]:
    async def story() -> tuple[Listing, ByteServer]:
        async with serving(*plays) as server:
            lane = Session(
                server.access(), connections=0, deadline_s=5, max_body_bytes=max_body_bytes
            )
            try:
                return await list_objects(lane, resource, **how), server
            finally:
                await lane.close()

    return run(story())


def names(listing: Listing) -> list[str]:
    return [str(cluster_document(each).source.file).split()[-1] for each in listing.objects]


def test_which_client_wrote_which_field_is_left_out() -> None:
    written = {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}
    items: list[Any] = [{"metadata": {"name": "a", "managedFields": [written]}}, {"metadata": None}]
    found, _ = listed(answers(200, {"metadata": {"resourceVersion": "7"}, "items": items}))
    assert [each["metadata"] for each in found.objects] == [{"name": "a"}, None]


def test_pages_are_put_together() -> None:
    found, server = listed(page("a", "b", more="x=&y"), page("c", version="7"), page_size=2)
    assert names(found) == ["a", "b", "c"]
    assert found.resource_version == "7"
    assert [each.query for each in server.requests] == [
        {"limit": "2"},
        {"limit": "2", "continue": "x=&y"},
    ]


def test_an_item_has_its_kind_which_a_list_leaves_out() -> None:
    found, _ = listed(page("a"))
    assert found.objects == [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]


@pytest.mark.parametrize(
    ("resource", "namespace", "path"),
    [
        (PODS, "", "/api/v1/pods"),
        (PODS, "team-a", "/api/v1/namespaces/team-a/pods"),
        (PODS, "a/../b", "/api/v1/namespaces/a%2F..%2Fb/pods"),
        (NODES, "", "/api/v1/nodes"),
        (QUOTAS, "", "/apis/scheduling.sigs.k8s.io/v1alpha1/elasticquotas"),
        (QUOTAS, "x", "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/x/elasticquotas"),
    ],
)
def test_a_list_is_asked_for_where_the_kind_is_served(
    resource: Resource, namespace: str, path: str
) -> None:
    _, server = listed(page(), resource=resource, namespace=namespace)
    assert [each.path for each in server.requests] == [path]


def test_an_object_and_its_subresource_have_their_paths() -> None:
    assert PODS.path("p", "ns", "binding") == "/api/v1/namespaces/ns/pods/p/binding"
    assert NODES.path("n") == "/api/v1/nodes/n"


def test_a_list_that_has_expired_begins_anew_once() -> None:
    """Of the first attempt, a and b, nothing is kept: b may be deleted by now."""
    found, server = listed(page("a", "b", more="x"), EXPIRED, page("a", "c", version="9"))
    assert names(found) == ["a", "c"]
    assert found.resource_version == "9"
    assert "continue" not in server.requests[2].query


def test_a_list_that_expires_twice_is_an_error() -> None:
    with pytest.raises(GoneError):
        listed(page("a", more="x"), EXPIRED, page("a", more="x"), EXPIRED)


def test_a_page_that_fails_leaves_nothing() -> None:
    with pytest.raises(ServerFaultError):
        listed(page("a", more="x"), answers(500, {}))


def test_a_page_that_is_too_long_is_asked_for_in_halves() -> None:
    """The bound is 1,000 bytes, a page of 8 or 4 has 2,000, one of 2 fits: 8, 4, 2, 2."""
    long = answers(200, b" " * 2000)
    found, server = listed(
        long, long, page("a", "b", more="x"), page("c"), page_size=8, max_body_bytes=1000
    )
    assert names(found) == ["a", "b", "c"]
    assert [each.query["limit"] for each in server.requests] == ["8", "4", "2", "2"]


def test_one_object_that_is_too_long_is_an_error() -> None:
    with pytest.raises(TooLongAnswerError):
        listed(answers(200, b" " * 2000), page_size=2, max_body_bytes=1000)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (b"0.1", Decimal("0.1")),
        (b"1.10", Decimal("1.10")),
        (b"1e3", Decimal("1e3")),
        (b"9007199254740993", 9007199254740993),
        (b"18446744073709551616", 18446744073709551616),
        (b"-0.0", Decimal(0)),
        (b"1e400", "1e400"),
        (b"1e-400", "1e-400"),
        (b'"1.5"', "1.5"),
        (b"true", True),
        (b"null", None),
    ],
)
def test_a_number_means_its_decimal_text(written: bytes, value: object) -> None:
    body = b'{"metadata":{"resourceVersion":"7"},"items":[{"weight":%b}]}' % written
    found, _ = listed(answers(200, body))
    weight = found.objects[0]["weight"]
    assert weight == value
    assert type(weight) is type(value)


def test_a_list_without_items_is_empty() -> None:
    found, _ = listed(answers(200, {"metadata": {"resourceVersion": "7"}, "items": None}))
    assert found.objects == []


@pytest.mark.parametrize(
    "play",
    [
        answers(200, b"{"),
        answers(200, b"[]"),
        answers(200, {"items": []}),
        answers(200, {"metadata": {}, "items": []}),
        answers(200, {"metadata": {"resourceVersion": "7"}, "items": [1]}),
        answers(200, b'{"metadata":{"resourceVersion":"7"},"items":' + b"[" * 5000),
        page("a", more="always the same"),
    ],
    ids=["cut", "a list", "no metadata", "no version", "no object", "too deep", "a circle"],
)
def test_what_is_no_list_is_an_error(play: Playing) -> None:
    with pytest.raises(ApiError) as raised:
        listed(play)
    assert type(raised.value) is UnreadableAnswerError
    assert str(raised.value).startswith("GET /api/v1/pods: ")
