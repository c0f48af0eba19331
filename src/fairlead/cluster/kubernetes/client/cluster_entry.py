"""Reads the entry of a cluster in a kubeconfig: where its API server is, and how to know it."""

import ssl
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from fairlead.cluster.kubernetes.client.exec_plugin import API_GROUP
from fairlead.cluster.kubernetes.client.kubeconfig import Entry
from fairlead.cluster.kubernetes.client.tls import CertificateError, trusting, trusting_anyone
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.values import Value

_INSECURE: Final = "insecure-skip-tls-verify"
_CA: Final = "certificate-authority"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Where an API server is, and how to know it."""

    server: str
    ssl: ssl.SSLContext | None  # None: plain http
    server_name: str
    proxy: str
    for_plugins: Mapping[str, Any]  # what a credential plugin receives, if it asks

    def __repr__(self) -> str:
        """Show where it is: the URL of the proxy may hold a login."""
        return f"Cluster(server={self.server!r})"


def read_cluster(entry: Entry, *, allow_insecure: bool) -> Cluster:
    """Read a cluster; where something is wrong, a finding says so and the value is of no use."""
    cursor = entry.cursor
    server = _url(cursor, "server", ("https", "http"))
    proxy = _url(cursor, "proxy-url", ("http", "https")) if cursor.has("proxy-url") else ""
    server_name = cursor.text("tls-server-name", "")
    ca = data_or_file(entry, _CA)
    is_unverified = cursor.boolean(_INSECURE, False)
    context = _context(cursor, ca, is_unverified=is_unverified, allow_insecure=allow_insecure)
    told = {
        "server": cursor.text("server", ""),  # as it is written, for a plugin may compare it
        "tls-server-name": server_name,
        _INSECURE: is_unverified,
        "certificate-authority-data": b64encode(ca).decode() if ca else "",
        "proxy-url": proxy,
        "disable-compression": cursor.boolean("disable-compression", False),
        "config": _config_for_plugins(cursor),
    }
    return Cluster(
        server=server,
        ssl=None if server.startswith("http://") else context,
        server_name=server_name,
        proxy=proxy,
        for_plugins={key: value for key, value in told.items() if value},
    )


def data_or_file(entry: Entry, key: str) -> bytes | None:
    """Return what ``KEY-data`` holds in base64, else what the file ``KEY`` holds.

    None: there is neither, or it cannot be read, which is reported.
    """
    cursor, file = entry.cursor, entry.file(key)
    encoded = cursor.text(f"{key}-data", "")
    if encoded:
        try:
            return b64decode("".join(encoded.split()), validate=True)
        except ValueError:
            message = "found text that is not base64"
            fix = f"encode it with base64, or name the file with {key}"
            cursor.error(f"{key}-data", "bad-certificate", message, fix)
            return None
    return read_named(cursor, key, file) if file else None


def read_named(cursor: Cursor, key: str, file: Path) -> bytes | None:
    """Return what a *file* that *key* names holds; None with an error where it cannot be read."""
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "no name of a file"
        message = f"the file {file} cannot be read: {reason}"
        cursor.error(key, "unreadable", message, "name a file that exists and that you may read")
        return None


def _context(
    cursor: Cursor, ca: bytes | None, *, is_unverified: bool, allow_insecure: bool
) -> ssl.SSLContext:
    if not is_unverified:
        try:
            return trusting(ca)
        except CertificateError as error:
            key = f"{_CA}-data" if cursor.has(f"{_CA}-data") else _CA
            fix = "give the CA of the cluster in PEM form"
            cursor.error(key, "bad-certificate", str(error), fix)
            return trusting(None)
    if ca is not None:
        message = f"found true beside a {_CA}, which it would make useless"
        cursor.error(_INSECURE, "contradiction", message, "remove one of them")
    message = "any server that answers at this address is trusted, and gets the credentials"
    fix = f"remove it, and name the CA of the cluster with {_CA}"
    report = cursor.warn if allow_insecure else cursor.error
    report(_INSECURE, "unverified-server", message, fix)
    return trusting_anyone()


def _url(cursor: Cursor, key: str, schemes: tuple[str, ...]) -> str:
    """Read an address, and return it without a slash at its end. It is never shown."""
    text = cursor.text(key)
    if not text:
        return ""
    try:
        url = urlsplit(text)
        is_possible = url.scheme in schemes and bool(url.hostname) and url.port != 0
        has_login = bool(url.username or url.password) and key == "server"
        has_more = bool(url.query or url.fragment)
    except ValueError:
        is_possible, has_login, has_more = False, False, False
    listed = " or ".join(f"{scheme}://host:port" for scheme in schemes)
    if not is_possible or has_more or not text.isprintable() or " " in text:
        message = f"found another text, expected an address: {listed}"
        cursor.error(key, "bad-url", message, f"write {listed}")
    elif has_login:
        message = "found a login in the address, which is not used"
        cursor.error(key, "bad-url", message, "remove it, and name a user in the context")
    return text.rstrip("/")


def _config_for_plugins(cursor: Cursor) -> Value:
    """Return what the cluster keeps for plugins in its extensions, of which others are left out."""
    for extension in cursor.items("extensions"):
        extension.ignore(*extension.keys())
        if extension.text("name", "") == f"{API_GROUP}/exec":
            return extension.value.get("extension")
    return None
