"""Asks a credential plugin, a program that a kubeconfig names, for a token or a certificate.

The program is run when a credential is needed, and again a minute before that expires or after the
server refused it. It is not run twice within ten seconds, so that neither a wrong clock nor a
server that refuses everything starts a program for each request.

What it prints is a secret and never shown; what it writes to its standard error is for people.
"""

import asyncio
import os
import shutil
import signal
import ssl
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Literal

import msgspec

from fairlead.cluster.kubernetes.client.credentials import SYSTEM_CLOCK, Clock, checked_token
from fairlead.cluster.kubernetes.client.tls import CertificateError, present
from fairlead.errors import ClusterError
from fairlead.manifest.text.fields import parse_timestamp

API_GROUP: Final = "client.authentication.k8s.io"
MARGIN_S: Final = 60.0  # before its end a credential is replaced
LEAST_KEPT_S: Final = 10.0  # between two runs
TIMEOUT_S: Final = 60.0
ANSWER_TIMEOUT_S: Final = 300.0  # where a person has to answer
_MOST_SHOWN: Final = 1000  # letters of what the program wrote to its standard error

Interactive = Literal["Never", "IfAvailable", "Always"]


class ExecSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a kubeconfig says that a plugin is run."""

    api_version: str
    command: str  # a path, or a name to be found on the PATH
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    interactive: Interactive = "IfAvailable"
    cluster: Mapping[str, Any] | None = None  # what the plugin receives about it; None: nothing

    def __repr__(self) -> str:
        """Show which program it is: arguments and environment may hold secrets."""
        return f"ExecSettings(command={self.command!r})"


class _Status(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str = ""


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    api_version: str
    kind: str
    status: _Status | None = None


class _PluginError(Exception):
    """Why there is no credential, in words that follow the name of the plugin."""


class ExecPlugin:
    """Credentials from a plugin. A certificate of its is put into the context of the connection."""

    def __init__(
        self,
        settings: ExecSettings,
        context: ssl.SSLContext,
        environ: Mapping[str, str],
        *,
        may_ask: bool = False,
        timeout_s: float = TIMEOUT_S,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Run nothing yet. *May ask*: a person at a terminal answers questions of the plugin."""
        self._settings = settings
        self._context = context
        self._environ = environ
        self._asks = may_ask and settings.interactive != "Never"
        self._timeout_s = ANSWER_TIMEOUT_S if self._asks else timeout_s
        self._clock = clock
        self._running: asyncio.Task[None] | None = None
        self._got: str | None = None
        self._failed: ClusterError | None = None
        self._run_again_s = clock.monotonic_s()  # not before
        self._end_s = clock.monotonic_s()  # of what we got

    async def token(self) -> str | None:
        """Return the token of the plugin, None beside a certificate.

        Requests that come at the same time wait for one run, which goes on when they are given up:
        a plugin may take longer than the deadline of a request. Raises ClusterError.
        """
        while not self._is_valid():
            if self._running is None or self._running.done():
                self._running = asyncio.create_task(self._renew())
            await asyncio.shield(self._running)
        return self._got

    def refused(self) -> None:
        """Run the plugin again for the next request, unless it has just been run."""
        self._end_s = self._clock.monotonic_s()

    def _is_valid(self) -> bool:
        """Return whether to go on with what we have. Raises what went wrong a moment ago."""
        now_s = self._clock.monotonic_s()
        if now_s >= self._run_again_s and now_s >= self._end_s - MARGIN_S:
            return False
        if self._failed is not None and now_s >= self._end_s:
            raise self._failed
        return True

    async def _renew(self) -> None:
        """Run the plugin. Where it fails, what we have serves until its end."""
        try:
            self._take(await self._printed())
            self._failed = None
        except _PluginError as failure:
            hint = self._settings.install_hint.strip()
            told = f"\n{_printable(hint)}" if hint else ""
            message = f"the credential plugin {self._settings.command} {failure}{told}"
            self._failed = ClusterError(message, retry_after_s=int(LEAST_KEPT_S))
        self._run_again_s = self._clock.monotonic_s() + LEAST_KEPT_S

    def _take(self, printed: bytes) -> None:
        """Keep the credential in what the plugin *printed*."""
        status = self._status(printed)
        end_s = self._clock.monotonic_s() + self._lifetime_s(status)
        try:
            token = checked_token(status.token) if status.token else None
        except ValueError:
            raise _PluginError("gave a token that is not a single line of ASCII text") from None
        if status.client_certificate_data or status.client_key_data:
            certificate, key = status.client_certificate_data, status.client_key_data
            try:
                present(self._context, certificate.encode(), key.encode())
            except CertificateError as error:
                raise _PluginError(f"gave no certificate that can be used: {error}") from None
        self._got, self._end_s = token, end_s

    def _status(self, printed: bytes) -> _Status:
        wanted = f"an ExecCredential of {self._settings.api_version} as JSON"
        try:
            answer = msgspec.json.decode(printed, type=_ExecCredential)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            told = error if isinstance(error, msgspec.ValidationError) else "something else"
            raise _PluginError(f"printed {told}, expected {wanted}") from None
        if answer.kind != "ExecCredential" or answer.api_version != self._settings.api_version:
            raise _PluginError(
                f"printed another kind or apiVersion, expected {wanted}; does the apiVersion in "
                "the kubeconfig suit the version of the plugin?"
            )
        status = answer.status or _Status()
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise _PluginError("gave one of clientCertificateData and clientKeyData, expected both")
        if not status.token and not status.client_certificate_data:
            raise _PluginError("gave neither status.token nor status.clientCertificateData")
        return status

    def _lifetime_s(self, status: _Status) -> float:
        if not status.expiration_timestamp:
            return float("inf")
        try:
            end_s = parse_timestamp(status.expiration_timestamp) / 1000
        except (ValueError, OverflowError):
            message = "gave a status.expirationTimestamp that is not such as 2026-11-15T09:30:00Z"
            raise _PluginError(message) from None
        return end_s - self._clock.wall_s()

    async def _printed(self) -> bytes:
        """Run the plugin and return what it printed."""
        settings = self._settings
        program = shutil.which(settings.command, path=self._environ.get("PATH"))
        if program is None:
            raise _PluginError("is not installed, or not to be found on the PATH")
        try:
            process = subprocess.Popen(
                [program, *settings.args],
                env={**self._environ, **dict(settings.env), "KUBERNETES_EXEC_INFO": self._info()},
                stdin=None if self._asks else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if self._asks else subprocess.PIPE,
                start_new_session=not self._asks,  # who asks must stay in front of the terminal
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "a NUL in its arguments"
            raise _PluginError(f"cannot be run: {reason}") from None
        try:
            printed, written = await asyncio.to_thread(self._communicate, process)
        except subprocess.TimeoutExpired:
            raise _PluginError(f"did not answer within {self._timeout_s:g} s") from None
        except asyncio.CancelledError:
            self._end(process)
            raise
        if process.returncode != 0:
            told = _printable((written or b"").decode(errors="replace").strip())
            said = f":\n{told}" if told else " and wrote no reason to its standard error"
            raise _PluginError(f"ended with exit code {process.returncode}{said}")
        return printed

    def _communicate(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes | None]:
        """Return what the plugin writes, in a thread.

        asyncio's own processes hang when they are cancelled while they start (Python 3.11).
        """
        with process:
            try:
                return process.communicate(timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                self._end(process)
                raise

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End a plugin that still runs, with all that it started."""
        with suppress(ProcessLookupError):
            if self._asks:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)

    def _info(self) -> str:
        spec: dict[str, Any] = {"interactive": self._asks}
        if self._settings.cluster is not None:
            spec["cluster"] = self._settings.cluster
        info = {"apiVersion": self._settings.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.Encoder(decimal_format="number").encode(info).decode()


def _printable(text: str) -> str:
    """Return the end of *text* with nothing in it that a terminal would obey."""
    shown = text if len(text) <= _MOST_SHOWN else "..." + text[-_MOST_SHOWN:]
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in shown)
