"""Service accounts: the folder that a kubelet mounts into a pod, made by hand."""

from pathlib import Path

from tests.live.api import Api


def mount_service_account(api: Api, namespace: str, name: str, folder: Path) -> dict[str, str]:
    """Create a service account, write its token and CA into *folder* as a kubelet does.

    Returns the environment by which a program finds the API server inside of a pod.
    """
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    metadata = {"name": name}
    api.create(accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    folder.mkdir()
    (folder / "ca.crt").write_bytes(api.cluster.certificate.read_bytes())
    (folder / "namespace").write_text(namespace)
    renew_token(api, namespace, name, folder)
    return {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(api.cluster.port),
    }


def renew_token(api: Api, namespace: str, name: str, folder: Path) -> None:
    """Put a new token in the place of the old one."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 600},
    }
    new = folder / "token.new"
    new.write_text(api.create(path, request)["status"]["token"])
    new.replace(folder / "token")
