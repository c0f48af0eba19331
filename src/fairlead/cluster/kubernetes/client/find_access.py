"""Finds the cluster that is meant, as kubectl does: by a kubeconfig, else by the pod we run in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from fairlead.cluster.kubernetes.client.access import Access, Credentials
from fairlead.cluster.kubernetes.client.cluster_entry import read_cluster
from fairlead.cluster.kubernetes.client.credentials import FixedToken
from fairlead.cluster.kubernetes.client.in_cluster import (
    SERVICE_ACCOUNT,
    in_cluster_access,
    is_in_cluster,
)
from fairlead.cluster.kubernetes.client.kubeconfig import (
    Context,
    Kubeconfig,
    named_files,
    read_kubeconfig,
    select_context,
    without_values,
)
from fairlead.cluster.kubernetes.client.proxies import proxy_in_environment
from fairlead.cluster.kubernetes.client.user_entry import impersonation, read_credentials
from fairlead.errors import Finding, ManifestError
from fairlead.manifest.finding import Findings


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster a user asks for, and what may be done to reach it."""

    kubeconfig: str = ""  # "": as KUBECONFIG says, else the user's own
    context: str = ""  # "": the current one
    allow_insecure: bool = False  # a server whose certificate is not to be checked
    may_ask: bool = False  # a credential plugin may ask questions at the terminal


def find_access(
    wanted: Wanted,
    environ: Mapping[str, str],
    *,
    service_account: Path = SERVICE_ACCOUNT,
) -> tuple[Access, tuple[Finding, ...]]:
    """Return access to the cluster that is meant, with warnings about its kubeconfig.

    A service account is used only where nothing asks for a kubeconfig and none exists. Runs no
    plugin and asks no server. Raises ManifestError with every finding, and ClusterError where a pod
    has no service account, or where the environment names a proxy that cannot be used.
    """
    findings = Findings()
    files = named_files(wanted.kubeconfig, environ)
    config = read_kubeconfig(files, findings)
    if not config.files:
        if not wanted.kubeconfig and not wanted.context and is_in_cluster(environ):
            return in_cluster_access(environ, service_account), ()
        _refuse_none(files, findings)
    access: Access | None = None
    if config.files and not findings.has_errors:
        access = _access(config, wanted, environ, findings)
    shown = without_values(findings)
    if access is None or shown.has_errors:
        raise ManifestError(shown)
    if not access.proxy:
        access = replace(access, proxy=proxy_in_environment(access.server, environ))
    return access, tuple(shown)


def _access(
    config: Kubeconfig, wanted: Wanted, environ: Mapping[str, str], findings: Findings
) -> Access | None:
    context = select_context(config, wanted.context, findings)
    if context is None:
        return None
    cluster = read_cluster(context.cluster, allow_insecure=wanted.allow_insecure)
    headers: tuple[tuple[str, str], ...] = ()
    credentials: Credentials = FixedToken(None)
    if context.user is not None:
        headers = impersonation(context.user.cursor)
        credentials = read_credentials(context.user, cluster, environ, may_ask=wanted.may_ask)
    _finish(context)
    return Access(
        server=cluster.server,
        ssl=cluster.ssl,
        server_name=cluster.server_name,
        proxy=cluster.proxy,
        headers=headers,
        credentials=credentials,
        namespace=context.namespace,
        context=context.name,
    )


def _finish(context: Context) -> None:
    context.cluster.cursor.finish()
    if context.user is not None:
        context.user.cursor.finish()


_FIX: Final = "name one with --kubeconfig or in KUBECONFIG, or run in a pod with a service account"


def _refuse_none(files: tuple[Path, ...], findings: Findings) -> None:
    listed = ":".join(map(str, files)) or "kubeconfig"
    findings.add("error", "unreadable", file=listed, message="found no kubeconfig", fix=_FIX)
