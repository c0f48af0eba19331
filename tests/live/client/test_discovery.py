"""Which kinds an API server has, found by asking a real one."""

import asyncio
from collections.abc import Iterable, Mapping

import pytest

from fairlead.cluster.kubernetes.client.discovery import GroupKind, find_resources
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.watching.kinds import kinds_to_watch, missing_kinds
from tests.live.api import Api
from tests.live.installation import DEFINITIONS
from tests.live.open_session import open_session
from tests.live.waiting import wait_until
from tools.k8s.cluster import Cluster

GROUP = "later.test.fairlead"


def found(cluster: Cluster, wanted: Mapping[GroupKind, Iterable[str]]) -> dict[GroupKind, Resource]:
    async def story() -> dict[GroupKind, Resource]:
        async with open_session(cluster) as session:
            return await find_resources(session, wanted)

    return asyncio.run(story())


def test_every_kind_that_elastic_quota_watches_is_found(cluster: Cluster) -> None:
    wanted = kinds_to_watch("elastic-quota")
    served = found(cluster, wanted)
    assert served.keys() == wanted.keys()
    assert missing_kinds("elastic-quota", frozenset(served)) == frozenset()
    paths = {kind: each.collection() for kind, each in served.items()}
    assert paths["", "Pod"] == "/api/v1/pods"
    assert paths["policy", "PodDisruptionBudget"] == "/apis/policy/v1/poddisruptionbudgets"
    for group in ("scheduling.x-k8s.io", "scheduling.sigs.k8s.io"):
        assert paths[group, "ElasticQuota"] == f"/apis/{group}/v1alpha1/elasticquotas"
    cluster_wide = {kind for (_, kind), each in served.items() if not each.is_namespaced}
    assert cluster_wide == {
        "CSINode",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "StorageClass",
    }


def test_without_the_older_group_no_kind_is_missing(breakable_cluster: Cluster) -> None:
    served = found(breakable_cluster, kinds_to_watch("elastic-quota"))
    assert ("scheduling.sigs.k8s.io", "ElasticQuota") not in served
    assert missing_kinds("elastic-quota", frozenset(served)) == frozenset()


@pytest.fixture
def definition(api: Api) -> dict[str, object]:
    """Gives the definition of a kind that is served as v1 and v1beta1."""
    version = {
        "served": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [
                {"name": "v1", "storage": True, **version},
                {"name": "v1beta1", "storage": False, **version},
            ],
        },
    }


def test_a_kind_is_found_in_the_version_that_is_preferred_while_its_crd_exists(
    cluster: Cluster, api: Api, definition: dict[str, object]
) -> None:
    newest_last = {(GROUP, "Gadget"): ("v2", "v1beta1", "v1")}
    assert found(cluster, newest_last) == {}
    api.create(DEFINITIONS, definition)
    try:
        gadgets = Resource(group=GROUP, version="v1beta1", plural="gadgets")
        wait_until(  # versions come to be served one after the other
            "Gadget is found in its preferred version",
            lambda: found(cluster, newest_last),
            lambda seen: seen == {(GROUP, "Gadget"): gadgets},
        )
    finally:
        api.delete(f"{DEFINITIONS}/gadgets.{GROUP}")
    wait_until("no Gadget is found", lambda: found(cluster, newest_last), lambda seen: not seen)
