"""Access by the service account of a pod."""

from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.errors import ClusterError, ManifestError
from tests.cluster.kubernetes.client.handshake import client_seen_by_server
from tests.cluster.kubernetes.client.kubeconfigs import kubeconfig, token_of, written

IN_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path, certificates: Path) -> Path:
    folder = tmp_path / "account"
    folder.mkdir()
    (folder / "token").write_text("of-the-pod\n", encoding="utf-8")
    (folder / "ca.crt").write_bytes((certificates / "ca.pem").read_bytes())
    (folder / "namespace").write_text("fairlead-system\n", encoding="utf-8")
    return folder


def test_a_pod_uses_its_service_account(account: Path, certificates: Path) -> None:
    access, findings = find_access(Wanted(), IN_POD, service_account=account)
    assert findings == ()
    assert (access.server, access.namespace, access.context) == (
        "https://10.0.0.1:443",
        "fairlead-system",
        "in-cluster",
    )
    assert token_of(access) == "of-the-pod"
    assert access.ssl is not None
    assert client_seen_by_server(access.ssl, certificates) == ""


def test_the_token_is_read_again_after_a_refusal(account: Path) -> None:
    access, _ = find_access(Wanted(), IN_POD, service_account=account)
    assert token_of(access) == "of-the-pod"
    (account / "token").write_text("rotated", encoding="utf-8")
    assert token_of(access) == "of-the-pod"
    access.credentials.refused()
    assert token_of(access) == "rotated"


def test_an_address_of_version_6_stands_in_brackets(account: Path) -> None:
    environ = IN_POD | {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert find_access(Wanted(), environ, service_account=account)[0].server == (
        "https://[fd00::1]:443"
    )


def test_a_pod_may_need_a_proxy(account: Path) -> None:
    environ = IN_POD | {"HTTPS_PROXY": "http://proxy:3128"}
    assert find_access(Wanted(), environ, service_account=account)[0].proxy == "http://proxy:3128"


def test_without_a_namespace_file_it_is_default(account: Path) -> None:
    (account / "namespace").unlink()
    assert find_access(Wanted(), IN_POD, service_account=account)[0].namespace == "default"


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("token", None, "has no token of a service account in .*automountServiceAccountToken"),
        ("ca.crt", None, "cannot be read: No such file"),
        ("ca.crt", "no PEM", "cannot be used: found no certificate in PEM form"),
    ],
)
def test_what_is_missing_is_told(account: Path, file: str, content: str | None, told: str) -> None:
    (account / file).unlink()
    if content is not None:
        (account / file).write_text(content, encoding="utf-8")
    with pytest.raises(ClusterError, match=told):
        find_access(Wanted(), IN_POD, service_account=account)


def test_a_kubeconfig_goes_before_the_service_account(account: Path, tmp_path: Path) -> None:
    file = written(tmp_path, kubeconfig())
    environ = IN_POD | {"KUBECONFIG": str(file)}
    access, _ = find_access(Wanted(), environ, service_account=account)
    assert access.context == "ours"


@pytest.mark.parametrize("wanted", [Wanted(kubeconfig="gone"), Wanted(context="day")])
def test_who_asks_for_a_kubeconfig_does_not_get_the_service_account(
    account: Path, wanted: Wanted
) -> None:
    with pytest.raises(ManifestError, match="found no kubeconfig"):
        find_access(wanted, IN_POD, service_account=account)
