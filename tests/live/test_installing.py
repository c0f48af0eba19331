"""The folder deploy/ and what `fairlead deploy` prints, on a real API server."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.live.api import Api
from tests.live.kubectl import Kubectl
from tests.live.waiting import wait_until
from tests.shared_folder import ROOT
from tools.k8s.cluster import Cluster

DEPLOY = ROOT / "deploy"
SYSTEM = "fairlead-system"


def objects(text: str) -> dict[tuple[str, str, str], Any]:
    """Objects by kind, namespace and name."""
    return {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
        for each in yaml.safe_load_all(text)
    }


def fairlead(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fairlead", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


@pytest.mark.parametrize(
    ("folder", "arguments"),
    [("", ("--no-crds",)), ("shadow", ("--shadow",))],
    ids=["the scheduler", "the shadow"],
)
def test_the_command_prints_what_kustomize_makes_of_the_folder(
    kubectl: Kubectl, folder: str, arguments: tuple[str, ...]
) -> None:
    made = kubectl("kustomize", str(DEPLOY / folder))
    assert objects(fairlead("deploy", *arguments).stdout) == objects(made)


def test_the_command_prints_the_kinds_of_the_folder(kubectl: Kubectl) -> None:
    made = objects(kubectl("kustomize", str(DEPLOY / "crds")))
    printed = objects(fairlead("deploy").stdout)
    assert {key: each for key, each in printed.items() if key in made} == made


@pytest.fixture
def installed(kubectl: Kubectl) -> Iterator[None]:
    """Gives the scheduler and the shadow, installed by kustomize; their namespace stays."""
    folders = [str(DEPLOY), str(DEPLOY / "shadow")]
    for folder in folders:
        kubectl("apply", "-k", folder)
    yield
    made = [each for folder in folders for each in objects(kubectl("kustomize", folder)).values()]
    ours = [each for each in made if each["kind"] != "Namespace"]
    kubectl("delete", "--wait=false", "-f", "-", stdin=yaml.safe_dump_all(ours))


@pytest.mark.usefixtures("installed")
def test_the_pods_of_both_pass_the_restricted_standard(api: Api) -> None:
    """The namespace enforces it: the server would refuse what the controller creates."""
    pods = wait_until(
        "2 pods of the scheduler and 1 of the shadow",
        lambda: api.items(
            f"/api/v1/namespaces/{SYSTEM}/pods", labelSelector="app.kubernetes.io/name=fairlead"
        ),
        lambda found: len(found) == 3,
    )
    priorities = {each["spec"]["serviceAccountName"]: each["spec"]["priority"] for each in pods}
    assert priorities == {"fairlead-scheduler": 2_000_000_000, "fairlead-shadow": 0}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("folder", ["", "shadow"])
def test_the_server_keeps_what_is_written_and_a_second_time_changes_nothing(
    kubectl: Kubectl, folder: str
) -> None:
    different = kubectl.attempt("diff", "-k", str(DEPLOY / folder))
    assert different.stdout + different.stderr == ""
    assert different.returncode == 0


KIND = "elasticquotas.scheduling.x-k8s.io"


def test_a_definition_that_the_cluster_has_is_left_alone(
    breakable_cluster: Cluster, tmp_path: Path
) -> None:
    kubectl = Kubectl(breakable_cluster)
    kubectl("annotate", "crd", KIND, "made-by=a-peer", "--overwrite")
    try:
        kubectl("delete", "crd", "podgroups.scheduling.x-k8s.io")
        done = fairlead("deploy", f"--kubeconfig={breakable_cluster.kubeconfig('admin')}")
        assert f"the cluster has {KIND}, which stays as it is" in done.stderr
        names = [name for kind, _, name in objects(done.stdout) if kind.startswith("Custom")]
        assert names == ["podgroups.scheduling.x-k8s.io"]
    finally:
        created = kubectl.attempt("create", "-k", str(DEPLOY / "crds"))
        kubectl("wait", "--for=condition=Established", "crd/podgroups.scheduling.x-k8s.io")
    assert "podgroups.scheduling.x-k8s.io created" in created.stdout
    assert "AlreadyExists" in created.stderr
    kept = kubectl("get", "crd", KIND, "-o", "jsonpath={.metadata.annotations}")
    assert "a-peer" in kept


QUOTAS = {
    "min and max in every form of a quantity": ("{min: {cpu: 1e3}, max: {cpu: 1k, x: 0.5Ti}}", ""),
    "min above max, of unlike forms": (
        "{min: {cpu: 3}, max: {cpu: 2500m}}",
        "min must not be above max",
    ),
    "a quantity that does not parse": ("{min: {cpu: 1.1.1}}", "should match"),
    "a unit of no quantity": ("{max: {cpu: 1ki}}", "should match"),
    "less than nothing": ("{max: {cpu: -1}}", "greater than or equal to 0"),
    "less than nothing, as text": ('{max: {cpu: "-1"}}', "should match"),
    "nothing at all": ("{}", ""),
}


@pytest.mark.parametrize(("spec", "words"), QUOTAS.values(), ids=QUOTAS.keys())
def test_the_server_takes_and_refuses_quotas_as_fairlead_does(
    kubectl: Kubectl, spec: str, words: str
) -> None:
    quota = f"""\
        apiVersion: scheduling.x-k8s.io/v1alpha1
        kind: ElasticQuota
        metadata: {{name: tested, namespace: default}}
        spec: {spec}
    """
    done = kubectl.attempt("create", "--dry-run=server", "-f", "-", stdin=quota)
    assert (done.returncode == 0) is (words == "")
    assert words in done.stderr


def test_quotas_have_short_names_and_the_columns_that_users_know(
    kubectl: Kubectl, namespace: str
) -> None:
    within = f"--namespace={namespace}"
    quota = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "team"},
        "spec": {"min": {"cpu": 2}, "max": {"cpu": 4}},
    }
    kubectl.apply(quota, namespace=namespace)
    used = '{"status": {"used": {"cpu": "1500m"}}}'
    kubectl("patch", within, KIND, "team", "--subresource=status", "--type=merge", "-p", used)
    heading, row = kubectl("get", within, KIND).splitlines()
    assert heading.split() == ["NAME", "USED", "MAX", "AGE"]
    assert row.split()[:3] == ["team", '{"cpu":"1500m"}', '{"cpu":4}']
    names = "jsonpath={.status.acceptedNames.shortNames}"
    assert kubectl("get", "crd", KIND, "-o", names) == '["eq","eqs"]'
    assert kubectl("get", "crd", "podgroups.scheduling.x-k8s.io", "-o", names) == '["pg"]'
