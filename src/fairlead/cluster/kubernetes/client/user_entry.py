"""Reads the entry of a user in a kubeconfig: which credentials, and as which user they act."""

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote as percent_encoded

from fairlead.cluster.kubernetes.client.access import Credentials
from fairlead.cluster.kubernetes.client.cluster_entry import Cluster, data_or_file
from fairlead.cluster.kubernetes.client.credentials import (
    CertificateFiles,
    FixedToken,
    TokenFile,
    checked_token,
)
from fairlead.cluster.kubernetes.client.exec_plugin import (
    API_GROUP,
    ExecPlugin,
    ExecSettings,
    Interactive,
)
from fairlead.cluster.kubernetes.client.kubeconfig import Entry
from fairlead.cluster.kubernetes.client.tls import CertificateError, present
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import words

_VERSIONS: Final = {f"{API_GROUP}/{version}": version for version in ("v1", "v1beta1")}
_MODES: Final[Mapping[str, Interactive]] = words(Interactive)
_ADVICE: Final = "use an exec plugin, a token or a client certificate"
_CERTIFICATE: Final = "client-certificate"
_KEY: Final = "client-key"
_BEFORE_PLUGINS: Final = ("token", "tokenFile", f"{_CERTIFICATE}-data", _CERTIFICATE)
_SECRETS: Final = (*_BEFORE_PLUGINS, "exec")


def read_credentials(
    entry: Entry, cluster: Cluster, environ: Mapping[str, str], *, may_ask: bool
) -> Credentials:
    """Read what proves a user; where something is wrong, a finding says so.

    A token or a certificate goes before a plugin, as for kubectl; both may stand together.
    """
    cursor = entry.cursor
    _refuse_old_ways(cursor)
    token = _token(cursor)
    token_file = entry.file("tokenFile")
    settings = _exec_settings(entry, cluster) if cursor.has("exec") else None
    if cluster.ssl is None:
        return _nothing_over_http(entry)
    proof: Credentials = FixedToken(token)
    if token_file:
        proof = TokenFile(token_file, first=token)
    if settings and not _is_needless(cursor):
        _check_interactive(cursor, settings, may_ask=may_ask)
        proof = ExecPlugin(settings, cluster.ssl, environ, may_ask=may_ask)
    return _with_certificate(entry, cluster, proof)


def impersonation(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    """Read as which other user it acts, as headers of a request."""
    user = cursor.text("as", "")
    uid = cursor.text("as-uid", "")
    groups = cursor.texts("as-groups")
    extra = cursor.mapping("as-user-extra")
    if not user and (uid or groups or extra.keys()):
        message = "found a uid, groups or extra of another user, and not its name"
        cursor.error("as", "missing-field", message, "add as, with the name of the user")
    headers = [("Impersonate-User", user)] if user else []
    headers += [("Impersonate-Group", group) for group in groups]
    headers += [("Impersonate-Uid", uid)] if uid else []
    for key in extra.keys():  # noqa: SIM118  a cursor is no mapping
        name = f"Impersonate-Extra-{percent_encoded(key.lower(), safe='')}"
        headers += [(name, value) for value in extra.texts(key)]
    if not all(value.isprintable() for _, value in headers):
        message = "found a character that cannot be sent in a header"
        cursor.error("as", "bad-name", message, "remove line breaks and control characters")
    return tuple(headers)


def _refuse_old_ways(cursor: Cursor) -> None:
    ways = {
        "auth-provider": "an auth-provider, which Fairlead does not support",
        "username": "the name of a user with a password, which API servers no longer support",
        "password": "a password, which API servers no longer support",
    }
    for key, way in ways.items():
        if cursor.has(key):
            cursor.error(key, "unsupported-login", f"found {way}", _ADVICE)
    cursor.ignore("auth-provider", "username", "password", "extensions")


def _token(cursor: Cursor) -> str | None:
    token = cursor.text("token", "")
    if not token:
        return None
    try:
        return checked_token(token)
    except ValueError:
        message = "found a token that is not a single line of ASCII text"
        cursor.error("token", "wrong-type", message, "write the token as the server gave it")
        return None


def _is_needless(cursor: Cursor) -> bool:
    """Return whether something goes before the plugin, which is then never run, with a warning."""
    before = [key for key in _BEFORE_PLUGINS if cursor.has(key)]
    if before:
        message = f"found an exec plugin beside {before[0]}: the plugin is not run"
        cursor.warn("exec", "no-effect", message, "remove one of them")
    return bool(before)


def _nothing_over_http(entry: Entry) -> Credentials:
    cursor = entry.cursor
    cursor.ignore(*cursor.keys())
    used = [key for key in _SECRETS if cursor.has(key)]
    if used:
        message = "the server speaks http, where anybody can read them: credentials are not sent"
        cursor.warn(used[0], "no-effect", message, "begin the address of the server with https://")
    return FixedToken(None)


def _with_certificate(entry: Entry, cluster: Cluster, proof: Credentials) -> Credentials:
    certificate, key = data_or_file(entry, _CERTIFICATE), data_or_file(entry, _KEY)
    cursor = entry.cursor
    if certificate is None and key is None:
        return proof
    if certificate is None or key is None:
        lacking = _CERTIFICATE if certificate is None else _KEY
        if not cursor.is_refused(lacking) and not _names(cursor, lacking):
            message = f"found a certificate or key without the other, expected {lacking}"
            cursor.error(lacking, "missing-field", message, f"add {lacking}")
        return proof
    assert cluster.ssl is not None
    try:
        if _is_data(cursor, _CERTIFICATE) and _is_data(cursor, _KEY):
            present(cluster.ssl, certificate, key)
            return proof
        return CertificateFiles(cluster.ssl, _reader(entry, certificate, key), proof)
    except (CertificateError, OSError) as error:
        at = f"{_CERTIFICATE}-data" if _is_data(cursor, _CERTIFICATE) else _CERTIFICATE
        cursor.error(at, "bad-certificate", str(error), "give both in PEM form, the key as it is")
        return proof


def _names(cursor: Cursor, key: str) -> bool:
    return cursor.has(key) or _is_data(cursor, key)


def _is_data(cursor: Cursor, key: str) -> bool:
    return bool(cursor.value.get(f"{key}-data"))


def _reader(entry: Entry, certificate: bytes, key: bytes) -> Callable[[], tuple[bytes, bytes]]:
    """Return what reads the pair again, as far as it stands in files."""
    cursor = entry.cursor
    certificate_file = None if _is_data(cursor, _CERTIFICATE) else entry.file(_CERTIFICATE)
    key_file = None if _is_data(cursor, _KEY) else entry.file(_KEY)

    def read() -> tuple[bytes, bytes]:
        return (
            certificate_file.read_bytes() if certificate_file else certificate,
            key_file.read_bytes() if key_file else key,
        )

    return read


def _exec_settings(entry: Entry, cluster: Cluster) -> ExecSettings:
    cursor = entry.cursor.mapping("exec")
    if entry.cursor.has("auth-provider"):
        message = "found an exec plugin beside an auth-provider"
        entry.cursor.error("exec", "contradiction", message, "remove the auth-provider")
    version = cursor.choice("apiVersion", _VERSIONS)
    command = cursor.text("command")
    is_required = version == "v1" and not cursor.has("interactiveMode")
    if is_required and cursor.has("apiVersion"):
        message = "found nothing, expected Never, IfAvailable or Always"
        fix = "add interactiveMode: IfAvailable"
        cursor.error("interactiveMode", "missing-field", message, fix)
    interactive = cursor.choice("interactiveMode", _MODES, None) or "IfAvailable"
    is_told = cursor.boolean("provideClusterInfo", False)
    return ExecSettings(
        api_version=f"{API_GROUP}/{version}",
        command=str(entry.folder / command) if "/" in command else command,
        args=cursor.texts("args"),
        env=tuple((each.text("name"), each.text("value", "")) for each in cursor.items("env")),
        install_hint=cursor.text("installHint", ""),
        interactive=interactive,
        cluster=cluster.for_plugins if is_told else None,
    )


def _check_interactive(cursor: Cursor, settings: ExecSettings, *, may_ask: bool) -> None:
    if settings.interactive == "Always" and not may_ask:
        message = "found Always, and no terminal is there to answer questions of the plugin"
        fix = "configure the plugin so that it needs no answers, and write IfAvailable"
        cursor.mapping("exec").error("interactiveMode", "unsupported-login", message, fix)
