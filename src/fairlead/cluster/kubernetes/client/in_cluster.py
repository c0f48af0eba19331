"""Access for a program that runs in a pod of the cluster: by the service account of the pod."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.credentials import SYSTEM_CLOCK, Clock, TokenFile
from fairlead.cluster.kubernetes.client.proxies import proxy_in_environment
from fairlead.cluster.kubernetes.client.tls import CertificateError, trusting
from fairlead.errors import ClusterError

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_HOST: Final = "KUBERNETES_SERVICE_HOST"
_PORT: Final = "KUBERNETES_SERVICE_PORT"
_FIX: Final = "; set automountServiceAccountToken: true for the pod, or name a kubeconfig"


def is_in_cluster(environ: Mapping[str, str]) -> bool:
    """Return whether the program runs in a pod, as its environment says."""
    return bool(environ.get(_HOST)) and bool(environ.get(_PORT))


def in_cluster_access(
    environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT, clock: Clock = SYSTEM_CLOCK
) -> Access:
    """Return access by the service account whose files are in *folder*.

    The token is read again while the program runs, because the kubelet replaces it. Raises
    ClusterError where the pod has no service account.
    """
    host, port = environ[_HOST], environ[_PORT]
    token_file, ca_file = folder / "token", folder / "ca.crt"
    if not token_file.exists():
        raise ClusterError(f"this pod has no token of a service account in {token_file}{_FIX}")
    try:
        context = trusting(ca_file.read_bytes())
    except OSError as error:
        message = f"the CA of the cluster in {ca_file} cannot be read: {error.strerror}{_FIX}"
        raise ClusterError(message) from None
    except CertificateError as error:
        raise ClusterError(f"the CA of the cluster in {ca_file} cannot be used: {error}") from None
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    return Access(
        server=server,
        ssl=context,
        proxy=proxy_in_environment(server, environ),
        credentials=TokenFile(token_file, clock=clock),
        namespace=_namespace(folder / "namespace"),
        context="in-cluster",
    )


def _namespace(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip() or "default"
    except (OSError, ValueError):
        return "default"
