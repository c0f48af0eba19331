"""Which kinds an API server has."""

import asyncio
from collections.abc import Mapping

import pytest

from fairlead.cluster.kubernetes.client.discovery import GroupKind, find_resources
from fairlead.cluster.kubernetes.client.errors import ServerFaultError
from fairlead.cluster.kubernetes.client.lanes import (
    acts_session,
    lease_session,
    watches_session,
)
from fairlead.cluster.kubernetes.client.resource import Resource
from tests.cluster.kubernetes.client.byte_server import (
    ByteServer,
    Playing,
    Request,
    answers,
    run,
    serving,
)

KUEUE = "kueue.x-k8s.io"


def served(name: str, kind: str, *, namespaced: bool = True, verbs: str = "list watch") -> object:
    return {"name": name, "kind": kind, "namespaced": namespaced, "verbs": verbs.split()}


PAGES: dict[str, object] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {"name": KUEUE, "versions": [{"version": "v1beta2"}, {"version": "v1beta1"}]},
            {"name": "metrics.k8s.io", "versions": [{"version": "v1beta1"}]},
            {"name": "empty.example.com", "versions": [{"version": "v1"}]},
        ],
    },
    "/api/v1": {
        "resources": [
            served("pods", "Pod"),
            served("pods/binding", "Binding", verbs="create"),
            served("pods/eviction", "Eviction", verbs="create list"),
            served("nodes", "Node", namespaced=False),
            served("bindings", "Binding", verbs="create"),
        ]
    },
    f"/apis/{KUEUE}/v1beta2": {"resources": [served("workloads", "Workload")]},
    f"/apis/{KUEUE}/v1beta1": {
        "resources": [served("workloads", "Workload"), served("cohorts", "Cohort")]
    },
}


def found(
    wanted: Mapping[GroupKind, tuple[str, ...]],
) -> tuple[dict[GroupKind, Resource], ByteServer]:
    async def play(request: Request, writer: asyncio.StreamWriter) -> None:
        page = PAGES.get(request.path)
        failed = 503 if "metrics.k8s.io" in request.path else 404
        answer: Playing = answers(failed, {}) if page is None else answers(200, page)
        await answer(request, writer)

    async def story() -> tuple[dict[GroupKind, Resource], ByteServer]:
        async with serving(play) as server:
            lane = watches_session(server.access())
            try:
                return await find_resources(lane, wanted), server
            finally:
                await lane.close()

    return run(story())


def test_each_kind_is_found_in_the_first_version_that_is_served() -> None:
    resources, server = found(
        {
            ("", "Pod"): ("v1",),
            ("", "Node"): ("v1",),
            (KUEUE, "Workload"): ("v1beta2", "v1beta1"),
            (KUEUE, "Cohort"): ("v1beta2", "v1beta1"),
        }
    )
    assert resources == {
        ("", "Pod"): Resource(group="", version="v1", plural="pods"),
        ("", "Node"): Resource(group="", version="v1", plural="nodes", is_namespaced=False),
        (KUEUE, "Workload"): Resource(group=KUEUE, version="v1beta2", plural="workloads"),
        (KUEUE, "Cohort"): Resource(group=KUEUE, version="v1beta1", plural="cohorts"),
    }
    paths = [each.path for each in server.requests]
    assert len(paths) == len(set(paths)) == 5, "each page is asked for once"


@pytest.mark.parametrize(
    ("group", "kind", "version"),
    [
        ("", "Binding", "v1"),  # cannot be listed
        ("", "Eviction", "v1"),  # a subresource
        ("", "Pod", "v2"),
        (KUEUE, "Workload", "v1"),
        (KUEUE, "Topology", "v1beta1"),
        ("missing.example.com", "Pod", "v1"),
        ("empty.example.com", "Pod", "v1"),  # its last CRD was deleted between two requests
    ],
)
def test_a_kind_that_cannot_be_read_is_left_out(group: str, kind: str, version: str) -> None:
    assert found({(group, kind): (version,)})[0] == {}


def test_a_group_whose_server_is_down_counts_only_where_it_is_wanted() -> None:
    assert found({("", "Pod"): ("v1",)})[0]
    with pytest.raises(ServerFaultError):
        found({("metrics.k8s.io", "PodMetrics"): ("v1beta1",)})


def test_the_lanes_have_connections_of_their_own() -> None:
    """40 acts share 32 connections, 40 watches have 40, and the lease has one."""

    async def story() -> list[int]:
        async with serving(slow) as server:
            opened = []
            for lane in map_lanes(server):
                before = server.connections
                await asyncio.gather(*(lane.ask("GET", "/api") for _ in range(40)))
                opened.append(server.connections - before)
                await lane.close()
            return opened

    async def slow(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.02)
        await answers(200, {})(request, writer)

    def map_lanes(server: ByteServer) -> list:  # type: ignore[type-arg]
        access = server.access()
        return [acts_session(access), watches_session(access), lease_session(access)]

    assert run(story()) == [32, 40, 1]
