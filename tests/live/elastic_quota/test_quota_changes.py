"""Quotas that change, go and come while pods of theirs run or wait."""

import json
from typing import Any

import pytest

from tests.live.api import Api
from tests.live.conftest import StartFairlead
from tests.live.elastic_quota.holding import bound_pods, wait_until_counts, wait_until_hold
from tests.live.elastic_quotas import (
    create_elastic_quota,
    create_pod_group,
    elastic_quotas_path,
)
from tests.live.etcd import put
from tests.live.nodes import create_node
from tests.live.pods import create_pod
from tests.live.waiting import assert_stays, wait_until


def cpu_pod(api: Api, namespace: str, name: str, **spec: Any) -> None:
    create_pod(api, namespace, name, cpu="1", memory="", **spec)


def test_a_raised_max_lets_the_next_pod_start(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    create_node(api, "node-1", cpu="8")
    create_elastic_quota(api, namespace, "quota", min={"cpu": "1"}, max={"cpu": "1"})
    start_fairlead()
    cpu_pod(api, namespace, "first")
    cpu_pod(api, namespace, "second")
    wait_until_hold(api, {namespace: {"first"}})
    api.patch(
        elastic_quotas_path(namespace, "quota"),
        {"spec": {"min": {"cpu": "2"}, "max": {"cpu": "2"}}},
    )
    wait_until_hold(api, {namespace: {"first", "second"}})


def test_pods_of_a_deleted_quota_go_on_and_count_in_the_next_one(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    """The plugin never learns of pods that ran before their quota was made."""
    create_node(api, "node-1", cpu="8")
    create_elastic_quota(api, namespace, "quota", min={"cpu": "2"}, max={"cpu": "2"})
    start_fairlead()
    cpu_pod(api, namespace, "first")
    cpu_pod(api, namespace, "second")
    wait_until_hold(api, {namespace: {"first", "second"}})
    api.delete(elastic_quotas_path(namespace, "quota"))
    cpu_pod(api, namespace, "without-quota")
    wait_until_hold(api, {namespace: {"first", "second", "without-quota"}})
    create_elastic_quota(api, namespace, "again", min={"cpu": "4"}, max={"cpu": "4"})
    cpu_pod(api, namespace, "fourth")
    cpu_pod(api, namespace, "fifth")
    wait_until_counts(api, {namespace: (4, 1)})  # 3 + 1 <= 4, 4 + 1 > 4
    wait_until(
        "the status counts pods that are older than the quota",
        lambda: api.get(elastic_quotas_path(namespace, "again")).get("status", {}),
        lambda status: status.get("used", {}).get("cpu") == "4",
    )


def test_of_two_quotas_in_a_namespace_the_older_counts_until_it_goes(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    create_node(api, "node-1", cpu="8")
    create_elastic_quota(api, namespace, "a-older", min={"cpu": "1"}, max={"cpu": "1"})
    wait_until(  # creation times are whole seconds
        "another second has come",
        lambda: _created(api, namespace, "b-younger"),
        lambda created: created > _created(api, namespace, "a-older"),
    )
    start_fairlead()
    cpu_pod(api, namespace, "first")
    cpu_pod(api, namespace, "second")
    wait_until_hold(api, {namespace: {"first"}})
    api.delete(elastic_quotas_path(namespace, "a-older"))
    wait_until_hold(api, {namespace: {"first", "second"}})


def _created(api: Api, namespace: str, name: str) -> str:
    """Return when a quota was created, made anew on each call but for the first."""
    path = elastic_quotas_path(namespace, name)
    if name == "b-younger":
        if api.find(path) is not None:
            api.delete(path)
        create_elastic_quota(api, namespace, name, min={"cpu": "2"}, max={"cpu": "2"})
    created: str = api.get(path)["metadata"]["creationTimestamp"]
    return created


@pytest.mark.parametrize(
    "spec",
    [
        {"min": {"cpu": "two"}, "max": {"cpu": "2"}},
        {"min": {"cpu": "2"}, "max": {"cpu": "1"}},
        {"min": ["cpu"]},
        {},
        "none",
        None,
    ],
    ids=repr,
)
def test_a_quota_forced_in_past_validation_stops_nothing(
    api: Api, namespace: str, start_fairlead: StartFairlead, spec: object
) -> None:
    """The last valid version of the quota counts, and other namespaces go on."""
    create_node(api, "node-1", cpu="8")
    create_elastic_quota(api, namespace, "quota", min={"cpu": "1"}, max={"cpu": "1"})
    start_fairlead()
    cpu_pod(api, namespace, "first")
    wait_until_hold(api, {namespace: {"first"}})
    quota = api.get(elastic_quotas_path(namespace, "quota"))
    force_in(api, namespace, quota | {"spec": spec})
    cpu_pod(api, namespace, "second")
    assert_stays(
        "the max of the last valid version holds",
        lambda: bound_pods(api, namespace),
        lambda found: found == {"first"},
    )
    corrected = {"spec": {"min": {"cpu": "2"}, "max": {"cpu": "2"}}}
    api.patch(elastic_quotas_path(namespace, "quota"), corrected)
    wait_until_hold(api, {namespace: {"first", "second"}})


def force_in(api: Api, namespace: str, quota: dict[str, Any]) -> None:
    """Write a quota where the API server keeps it, so that no validation sees it."""
    key = f"/registry/scheduling.x-k8s.io/elasticquotas/{namespace}/{quota['metadata']['name']}"
    metadata = {k: v for k, v in quota["metadata"].items() if k != "resourceVersion"}
    put(api.cluster, key, json.dumps(quota | {"metadata": metadata}))


def test_a_gang_larger_than_its_pods_waits_whole(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    """3 pods of 1 CPU, together or not at all, first on 2 CPUs, then on 3."""
    label = {"scheduling.x-k8s.io/pod-group": "gang"}
    create_node(api, "node-1", cpu="2")
    create_elastic_quota(api, namespace, "quota", min={"cpu": "4"}, max={"cpu": "4"})
    start_fairlead()
    names = {"one", "two", "three"}
    for name in sorted(names):
        cpu_pod(api, namespace, name, labels=label)
    assert_stays(
        "pods of a group that is not there wait",
        lambda: bound_pods(api, namespace),
        lambda found: not found,
        for_s=0.5,
    )
    create_pod_group(api, namespace, "gang", min_member=3)
    assert_stays(
        "a gang without room for all of it has no pod bound",
        lambda: bound_pods(api, namespace),
        lambda found: not found,
    )
    create_node(api, "node-2", cpu="2")
    wait_until_hold(api, {namespace: names})
