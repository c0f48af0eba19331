"""The bed of the live tests itself: a failure here explains those of all others."""

from collections.abc import Callable
from threading import Thread

import pytest

from tests.live.api import AnswerError, Api
from tests.live.budgets import create_budget
from tests.live.deployments import create_deployment
from tests.live.elastic_quotas import create_elastic_quota, create_pod_group
from tests.live.kubectl import Kubectl
from tests.live.namespaces import create_namespace, remove_namespace
from tests.live.nodes import create_node
from tests.live.pods import (
    bind_pod,
    create_pod,
    nodes_by_pod,
    pods_path,
    wait_until_gone,
    wait_until_running,
)
from tests.live.waiting import assert_stays, wait_until
from tools.k8s.audit import read_audit
from tools.k8s.cluster import Cluster


def test_a_bound_pod_runs_and_a_deleted_one_terminates_after_its_time(
    api: Api, namespace: str
) -> None:
    create_node(api, "n1")
    create_pod(api, namespace, "a", grace_s=30, annotations={"test.fairlead/stops-for": "300ms"})
    bind_pod(api, namespace, "a", "n1")
    wait_until_running(api, namespace, "a")
    api.delete(pods_path(namespace, "a"))
    assert api.get(pods_path(namespace, "a"))["metadata"]["deletionGracePeriodSeconds"] == 30
    wait_until_gone(api, namespace, "a")


def test_a_deployment_gets_its_pods_and_its_budget_forbids_an_eviction(
    api: Api, namespace: str
) -> None:
    create_node(api, "n1")
    create_deployment(api, namespace, "web", 2)
    pods = wait_until(
        "2 pods of the Deployment web",
        lambda: nodes_by_pod(api, namespace),
        lambda found: len(found) == 2,
    )
    for name in pods:
        bind_pod(api, namespace, name, "n1")
    create_budget(api, namespace, "web", app="web", min_available=2, allowed=0)
    victim = min(pods)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": victim, "namespace": namespace},
    }
    with pytest.raises(AnswerError) as refused:
        api.create(pods_path(namespace, victim, "eviction"), eviction)
    assert refused.value.code == 429


def test_a_removed_namespace_has_no_pods_left(
    api: Api, make_namespace: Callable[[str], str]
) -> None:
    create_node(api, "n1")
    namespace = make_namespace("removed")
    create_deployment(api, namespace, "web", 2)
    create_pod(api, namespace, "stuck", finalizers=["test.fairlead/stuck"])
    wait_until("3 pods", lambda: nodes_by_pod(api, namespace), lambda found: len(found) == 3)
    bind_pod(api, namespace, "stuck", "n1")
    remove_namespace(api, namespace)
    assert_stays(
        "no pods in the removed namespace",
        lambda: nodes_by_pod(api, namespace),
        lambda found: not found,
        for_s=0.5,
    )


def test_the_kinds_of_deploy_are_served(api: Api, kubectl: Kubectl, namespace: str) -> None:
    create_elastic_quota(api, namespace, "quota", min={"cpu": "2"}, max={"cpu": "4"})
    create_elastic_quota(api, namespace, "older", min={"cpu": "2"}, group="scheduling.sigs.k8s.io")
    create_pod_group(api, namespace, "gang", min_member=3)
    listed = kubectl("get", "elasticquotas.scheduling.x-k8s.io", "-n", namespace, "-o", "name")
    assert listed == "elasticquota.scheduling.x-k8s.io/quota\n"


def test_the_audit_log_tells_users_apart(api: Api, cluster: Cluster, namespace: str) -> None:
    """nobody: one GET that is refused. viewer: one LIST that its role allows."""
    assert Api(cluster, "viewer").code_of(pods_path(namespace)) == 200
    assert Api(cluster, "nobody").code_of(pods_path(namespace, "a")) == 403
    seen = {
        (each.user, each.verb, each.group, each.resource, each.name, each.code)
        for each in read_audit(cluster.audit_log)
        if each.namespace == namespace and each.user in {"viewer", "nobody"}
    }
    assert ("viewer", "list", "", "pods", "", 200) in seen
    assert ("nobody", "get", "", "pods", "a", 403) in seen


def test_the_users_have_the_roles_of_deploy(cluster: Cluster) -> None:
    """The scheduler's role lists pods and not Secrets; the shadow's lists pods; nobody has none."""
    codes = {
        (user, resource): Api(cluster, user).code_of(f"/api/v1/{resource}")
        for user in ("fairlead", "fairlead-2", "shadow", "viewer", "nobody")
        for resource in ("pods", "secrets")
    }
    assert codes == {
        ("fairlead", "pods"): 200,
        ("fairlead", "secrets"): 403,
        ("fairlead-2", "pods"): 200,
        ("fairlead-2", "secrets"): 403,
        ("shadow", "pods"): 200,
        ("shadow", "secrets"): 403,
        ("viewer", "pods"): 200,
        ("viewer", "secrets"): 403,
        ("nobody", "pods"): 403,
        ("nobody", "secrets"): 403,
    }


@pytest.mark.parametrize("name", ["kube-apiserver", "etcd"])
def test_a_restarted_server_has_its_data(breakable_cluster: Cluster, name: str) -> None:
    api = Api(breakable_cluster)
    namespace = create_namespace(api, f"restart {name}")
    before = api.get(f"/api/v1/namespaces/{namespace}")["metadata"]["uid"]
    breakable_cluster.restart(name)
    assert api.get(f"/api/v1/namespaces/{namespace}")["metadata"]["uid"] == before


def test_a_server_outlives_the_thread_that_restarted_it(breakable_cluster: Cluster) -> None:
    thread = Thread(target=breakable_cluster.restart, args=("etcd",))
    thread.start()
    thread.join()
    assert_stays(
        "etcd runs",
        breakable_cluster.processes["etcd"].poll,
        lambda code: code is None,
        for_s=0.3,
    )


def test_a_stopped_server_answers_nothing_until_the_next_test(breakable_cluster: Cluster) -> None:
    breakable_cluster.stop("kube-apiserver")
    with pytest.raises(OSError, match="refused"):
        breakable_cluster.get("/readyz")
    breakable_cluster.ensure_running()
    assert breakable_cluster.get("/readyz") == b"ok"


def test_a_failure_says_what_was_expected_and_what_was_seen(api: Api, namespace: str) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        wait_until("3 pods", lambda: nodes_by_pod(api, namespace), bool, within_s=0.1)
    assert str(failure.value) == "expected within 0.1 s: 3 pods\nlast seen: {}"
