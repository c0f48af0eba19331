"""`fairlead doctor` on a real API server: each fault is found, and named with its cure."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.live.api import Api, Object
from tests.live.conftest import StartFairlead
from tests.live.elastic_quotas import create_elastic_quota
from tests.live.installation import LEASE_NAMESPACE
from tests.live.kubectl import Kubectl
from tests.live.nodes import create_node
from tests.live.pods import bind_pod, create_pod, wait_until_bound
from tools.k8s.cluster import Cluster

Examine = Callable[..., dict[str, list[Object]]]


@pytest.fixture
def examine(cluster: Cluster) -> Examine:
    """Gives a function that runs the command, and returns what it found by check."""

    def run(*arguments: str, user: str = "admin", code: int = 0) -> dict[str, list[Object]]:
        kubeconfig = f"--kubeconfig={cluster.kubeconfig(user)}"
        done = subprocess.run(
            [sys.executable, "-m", "fairlead", "doctor", "-o", "json", kubeconfig, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == code, done.stdout + done.stderr
        found: dict[str, list[Object]] = {}
        for each in json.loads(done.stdout)["diagnoses"]:
            found.setdefault(each["check"], []).append(each)
        return found

    return run


def test_a_cluster_without_faults_has_none(examine: Examine) -> None:
    found = examine()
    levels = {each["level"] for diagnoses in found.values() for each in diagnoses}
    assert levels <= {"ok", "note"}
    assert found["version"][0]["found"].startswith("Kubernetes v1.")
    assert found["rights"][0]["found"].startswith("you have all")


def test_a_webhook_without_a_server_is_an_error_with_the_command_that_removes_it(
    examine: Examine, kubectl: Kubectl, namespace: str
) -> None:
    configuration: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "left-behind"},
        "webhooks": [
            {
                "name": "pods.left-behind.example",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "namespaceSelector": {"matchLabels": {"no-namespace": "has-this"}},
                "clientConfig": {"service": {"namespace": namespace, "name": "nobody"}},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ],
            }
        ],
    }
    kubectl.apply(configuration)
    try:
        (found,) = examine(code=1)["webhooks"]
    finally:
        kubectl("delete", "validatingwebhookconfiguration", "left-behind")
    assert found["level"] == "error"
    assert f"{namespace}/nobody has no ready endpoint" in found["found"]
    assert "kubectl delete validatingwebhookconfigurations left-behind" in found["cure"]


def test_an_account_without_its_role_is_named_with_what_it_lacks(
    examine: Examine, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("create", "serviceaccount", "fairlead-scheduler", "-n", namespace)
    (found,) = examine("-n", namespace, code=1)["rights"]
    assert found["level"] == "error"
    assert "the account fairlead-scheduler may not: list namespaces" in found["found"]


def test_a_viewer_may_not_ask_everything_and_is_told_so(examine: Examine) -> None:
    found = examine(user="viewer")
    assert found["kinds"][0]["level"] == "ok"
    assert found["webhooks"][0]["level"] == "note"
    assert "cannot be checked" in found["webhooks"][0]["found"]


@contextmanager
def held_lease(api: Api, namespace: str, name: str) -> Iterator[None]:
    now = datetime.now(UTC) - timedelta(seconds=1)
    body: Object = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {
            "holderIdentity": "another",
            "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "acquireTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    api.create(path, body)
    try:
        yield
    finally:
        api.delete(f"{path}/{name}")


def test_two_installations_for_one_name_are_an_error(
    api: Api, examine: Examine, make_namespace: Callable[[str], str]
) -> None:
    one, other = make_namespace("one"), make_namespace("other")
    with held_lease(api, one, "twice"), held_lease(api, other, "twice"):
        (found,) = examine("--scheduler-name=twice", code=1)["leader"]
    assert f"{one}/twice" in found["found"]
    assert f"{other}/twice" in found["found"]


def test_another_scheduler_that_serves_our_name_is_an_error(
    api: Api, examine: Examine, namespace: str, start_fairlead: StartFairlead
) -> None:
    create_node(api, "node-1")
    create_elastic_quota(api, namespace, "quota", min={"cpu": "1"}, max={"cpu": "1"})
    start_fairlead()
    create_pod(api, namespace, "ours", cpu="1", memory="")
    wait_until_bound(api, namespace, "ours")
    (found,) = examine("-n", LEASE_NAMESPACE)["one scheduler for a name"]
    assert found["level"] == "ok"
    create_pod(api, namespace, "theirs", cpu="1", memory="")
    bind_pod(api, namespace, "theirs", "node-1")

    (found,) = examine("-n", LEASE_NAMESPACE, code=1)["one scheduler for a name"]
    assert f"{namespace}/theirs" in found["found"]
