"""Nodes that come, are cordoned, drained and go, and pods that go while they are being bound."""

from typing import Any

from tests.live.api import Api
from tests.live.conftest import StartFairlead
from tests.live.deployments import create_deployment
from tests.live.elastic_quota.holding import bound_pods, wait_until_counts, wait_until_hold
from tests.live.elastic_quotas import create_elastic_quota
from tests.live.kubectl import Kubectl
from tests.live.nodes import NODES, cordon, create_node
from tests.live.pods import bind_pod, create_pod, node_of, nodes_by_pod, pods_path
from tests.live.waiting import assert_stays, wait_until


def cpu_pod(api: Api, namespace: str, name: str, **spec: Any) -> None:
    create_pod(api, namespace, name, cpu="1", memory="", **spec)


def quota(api: Api, namespace: str, cpu: str = "100") -> None:
    create_elastic_quota(api, namespace, "quota", min={"cpu": cpu})


def test_a_pod_that_waits_starts_on_a_node_that_joins(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    quota(api, namespace)
    start_fairlead()
    cpu_pod(api, namespace, "early")
    assert_stays("nothing is bound", lambda: bound_pods(api, namespace), lambda each: not each)
    create_node(api, "node-1", cpu="1")
    wait_until_hold(api, {namespace: {"early"}})


def test_a_cordoned_node_takes_no_pod_until_it_is_uncordoned(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    quota(api, namespace)
    create_node(api, "node-1", cpu="4", is_cordoned=True)
    start_fairlead()
    cpu_pod(api, namespace, "one")
    assert_stays("nothing is bound", lambda: bound_pods(api, namespace), lambda each: not each)
    cordon(api, "node-1", is_cordoned=False)
    wait_until_hold(api, {namespace: {"one"}})


def test_what_a_drained_node_had_goes_to_the_others(
    api: Api, kubectl: Kubectl, namespace: str, start_fairlead: StartFairlead
) -> None:
    quota(api, namespace)
    create_node(api, "node-1", cpu="4")
    create_node(api, "node-2", cpu="4")
    start_fairlead()
    create_deployment(api, namespace, "web", 4, cpu="1", memory="")
    wait_until_counts(api, {namespace: (4, 0)})
    kubectl("drain", "node-1", "--ignore-daemonsets", "--force", "--timeout=30s")
    wait_until(
        "all four pods run on the other node",
        lambda: sorted(nodes_by_pod(api, namespace).values()),
        lambda found: found == ["node-2"] * 4,
    )


def test_a_deleted_node_gets_no_pod_and_those_it_had_do_not_count_twice(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    """The pod on the node that is gone stays until somebody deletes it, and counts in the quota."""
    quota(api, namespace, cpu="2")
    create_node(api, "node-1", cpu="4")
    start_fairlead()
    cpu_pod(api, namespace, "one")
    wait_until_hold(api, {namespace: {"one"}})
    api.delete(f"{NODES}/node-1")
    cpu_pod(api, namespace, "two")
    assert_stays(
        "no pod is bound to a node that is gone",
        lambda: bound_pods(api, namespace),
        lambda found: "two" not in found,
    )
    create_node(api, "node-2", cpu="4")
    wait_until(
        "the second pod runs on the new node",
        lambda: nodes_by_pod(api, namespace).get("two"),
        lambda node: node == "node-2",
    )


def test_room_that_another_scheduler_took_is_not_given_again(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    quota(api, namespace)
    create_node(api, "node-1", cpu="2")
    start_fairlead()
    cpu_pod(api, namespace, "foreign", scheduler="other")
    bind_pod(api, namespace, "foreign", "node-1")
    cpu_pod(api, namespace, "one")
    wait_until_hold(api, {namespace: {"foreign", "one"}})
    cpu_pod(api, namespace, "two")
    assert_stays(
        "the node has no room left",
        lambda: bound_pods(api, namespace),
        lambda found: "two" not in found,
    )


def test_pods_deleted_while_they_are_being_bound_harm_no_other(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    """60 pods of which every second is deleted as soon as it is created; 30 fit."""
    quota(api, namespace)
    create_node(api, "node-1", cpu="30")
    start_fairlead()
    kept = {f"kept-{number}" for number in range(30)}
    for number in range(30):
        cpu_pod(api, namespace, f"gone-{number}")
        cpu_pod(api, namespace, f"kept-{number}")
        delete_now(api, namespace, f"gone-{number}")
    wait_until_hold(api, {namespace: kept})


def test_a_pod_made_anew_under_the_same_name_is_bound_as_another_pod(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    quota(api, namespace)
    create_node(api, "node-1", cpu="1")
    start_fairlead()
    for _ in range(10):
        cpu_pod(api, namespace, "again")
        delete_now(api, namespace, "again")
    cpu_pod(api, namespace, "again")
    wait_until(
        "the last pod of the name is bound",
        lambda: node_of(api.get(pods_path(namespace, "again"))),
        lambda node: node == "node-1",
    )


def delete_now(api: Api, namespace: str, name: str) -> None:
    """Delete a pod at once, whatever is being done to it."""
    api.delete(pods_path(namespace, name), grace_period_s=0)
