"""Proofs of who asks that lie in a kubeconfig or in files.

Files are read again every minute and after a refusal, because others renew them while we run. A
file that cannot be read for a moment does not take away what was read before. All credentials
belong to one event loop: another thread gets an `Access` of its own.
"""

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from fairlead.cluster.kubernetes.client.access import Credentials
from fairlead.cluster.kubernetes.client.tls import CertificateError, present
from fairlead.errors import ClusterError

READ_AGAIN_S: Final = 60.0


class Clock(NamedTuple):
    """The two clocks: one that may be set, and one that only goes on."""

    wall_s: Callable[[], float] = time.time
    monotonic_s: Callable[[], float] = time.monotonic


SYSTEM_CLOCK: Final = Clock()


class FixedToken:
    """A token that never changes, or none."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    async def token(self) -> str | None:
        """Return it."""
        return self._token

    def refused(self) -> None:
        """Do nothing: there is no other."""


class TokenFile:
    """A token in a file that somebody else renews."""

    def __init__(self, file: Path, first: str | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        """Read *file* when a token is asked for; *first* serves until it can be read."""
        self._file = file
        self._token = first
        self._clock = clock
        self._read_again_s = clock.monotonic_s()

    async def token(self) -> str | None:
        """Return what the file holds. Raises ClusterError if it never held a token."""
        now_s = self._clock.monotonic_s()
        if now_s >= self._read_again_s:
            self._token = self._read()
            self._read_again_s = now_s + READ_AGAIN_S
        return self._token

    def refused(self) -> None:
        """Read the file again for the next request."""
        self._read_again_s = self._clock.monotonic_s()

    def _read(self) -> str:
        try:
            return checked_token(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            if self._token is not None:
                return self._token
            reason = (error.strerror or error) if isinstance(error, OSError) else "no token in it"
            message = f"the token in {self._file} cannot be read: {reason}"
            raise ClusterError(message, retry_after_s=int(READ_AGAIN_S)) from None


class CertificateFiles:
    """A client certificate in files that somebody else renews, beside a token or none."""

    def __init__(
        self,
        context: ssl.SSLContext,
        read: Callable[[], tuple[bytes, bytes]],
        inner: Credentials,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Put the certificate and key that *read* returns into *context*.

        Raises OSError and CertificateError; later, when they are read again, nothing does.
        """
        self._context = context
        self._read = read
        self._inner = inner
        self._clock = clock
        self._presented = read()
        present(context, *self._presented)
        self._read_again_s = clock.monotonic_s() + READ_AGAIN_S

    async def token(self) -> str | None:
        """Return the token beside the certificate, with the certificate up to date."""
        now_s = self._clock.monotonic_s()
        if now_s >= self._read_again_s:
            self._renew()
            self._read_again_s = now_s + READ_AGAIN_S
        return await self._inner.token()

    def refused(self) -> None:
        """Read the files again for the next request."""
        self._read_again_s = self._clock.monotonic_s()
        self._inner.refused()

    def _renew(self) -> None:
        try:
            pair = self._read()
            if pair != self._presented:
                present(self._context, *pair)
                self._presented = pair
        except (OSError, CertificateError):
            return  # half of the pair may be written; the old one serves until the next look


def checked_token(text: str) -> str:
    """Return *text* without white space around it. Raises ValueError if no header can hold it."""
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise ValueError("no token")
    return token
