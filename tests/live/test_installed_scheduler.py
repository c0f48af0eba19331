"""The scheduler with nothing but what its installation gives it: rights, Lease and fence."""

import json
from collections.abc import Callable
from pathlib import Path

import yaml

from fairlead.cluster.kubernetes.install.render import Installation, installation_text
from tests.live.api import Api, Object
from tests.live.elastic_quotas import create_elastic_quota
from tests.live.fairlead_process import FairleadProcess
from tests.live.kubectl import Kubectl
from tests.live.nodes import create_node
from tests.live.pods import create_pod, pods_path, wait_until_bound
from tests.live.waiting import wait_until
from tools.k8s.cluster import Cluster

SCHEDULER = "installed"
RELEASED = {"holderIdentity": "", "leaseDurationSeconds": 1}


def account_kubeconfig(api: Api, namespace: str, account: str, file: Path) -> Path:
    """Write a kubeconfig with which a service account reaches the cluster."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = api.create(path, request)["status"]["token"]
    document = yaml.safe_load(api.cluster.kubeconfig("admin").read_text())
    document["users"][0]["user"] = {"token": token}
    file.write_text(json.dumps(document))
    return file


def deployment_arguments(text: str) -> list[str]:
    """Return how the Deployment runs Fairlead, without the port, which a test chooses."""
    (deployment,) = [each for each in yaml.safe_load_all(text) if each["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    name, *arguments = map(str, container["args"])
    assert name == "run"
    return [each for each in arguments if not each.startswith("--listen=")]


def test_an_installed_scheduler_binds_and_evicts_behind_its_fence(
    cluster: Cluster,
    api: Api,
    kubectl: Kubectl,
    make_namespace: Callable[[str], str],
    tmp_path: Path,
) -> None:
    """4 CPUs: borrower, which is guaranteed none, has all of them; owner takes back its 2."""
    home, owner, borrower = (make_namespace(each) for each in ("home", "owner", "borrower"))
    installation = Installation(namespace=home, scheduler_name=SCHEDULER)
    text = installation_text(installation, ())
    kubectl("apply", "-f", "-", stdin=text)
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{home}/leases"
    released = {"metadata": {"name": SCHEDULER}, "spec": RELEASED}  # so it need not wait for it
    api.create(lease, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **released})
    account = f"fairlead-{SCHEDULER}-scheduler"
    kubeconfig = account_kubeconfig(api, home, account, tmp_path / "account.kubeconfig")

    create_node(api, "n1", cpu="4")
    create_elastic_quota(api, owner, "quota", min={"cpu": "4", "memory": "64Gi"})
    create_elastic_quota(api, borrower, "quota", min={"cpu": "0"})
    arguments = deployment_arguments(text)
    process = FairleadProcess("installed", tmp_path, kubeconfig, *arguments, f"--namespace={home}")
    try:
        process.wait_until_ready()
        for name in ("a", "b"):
            create_pod(api, borrower, name, cpu="2", scheduler=SCHEDULER)
        wait_until_bound(api, borrower, "a", "b")
        create_pod(api, owner, "mine", cpu="2", scheduler=SCHEDULER)
        wait_until_bound(api, owner, "mine")
        held = api.get(f"{lease}/{SCHEDULER}")["spec"]
        term = f"{held['holderIdentity']}/{held['leaseTransitions']}"
        bound = api.get(pods_path(owner, "mine"))
        assert bound["metadata"]["annotations"]["fairlead/term"] == term
        assert len(api.items(pods_path(borrower))) == 1
        _assert_bindings_without_a_term_are_refused(api, kubectl, owner, f"{home}:{account}")
    finally:
        process.stop()
    assert "forbidden" not in process.text().lower()  # by its role, or by the fence
    wait_until(
        "the Lease is released",
        lambda: api.get(f"{lease}/{SCHEDULER}")["spec"],
        lambda spec: not spec.get("holderIdentity"),
    )


def _assert_bindings_without_a_term_are_refused(
    api: Api, kubectl: Kubectl, namespace: str, account: str
) -> None:
    create_pod(api, namespace, "unfenced", cpu="0")
    binding: Object = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "unfenced", "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    path = pods_path(namespace, "unfenced", "binding")
    user = f"--as=system:serviceaccount:{account}"
    done = kubectl.attempt(user, "create", "--raw", path, "-f", "-", stdin=json.dumps(binding))
    assert "sent by no leader" in done.stderr
