"""TLS to an API server: which servers are trusted, and the certificate that proves the user.

As kubectl does it: a named CA replaces those of the system, an intermediate certificate may be
trusted by itself, and a CA need not have every extension that RFC 5280 asks for, because those of
many clusters have not.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import Final

_PEM: Final = b"-----BEGIN "


class CertificateError(ValueError):
    """A certificate or key cannot be used; the message says why, without its content."""


def trusting(ca: bytes | None) -> ssl.SSLContext:
    """Return a context that trusts the certificates in *ca*, PEM; None: those of the system.

    Raises CertificateError.
    """
    if ca is None:
        context = ssl.create_default_context()
    else:
        if _PEM not in ca:
            raise CertificateError("found no certificate in PEM form")
        try:
            context = ssl.create_default_context(cadata=ca.decode("latin-1"))
        except (ssl.SSLError, ValueError) as error:
            raise CertificateError(f"found a certificate that is broken ({error})") from None
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def trusting_anyone() -> ssl.SSLContext:
    """Return a context that does not check which server answers."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def present(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Let new connections of *context* present *certificate*, both PEM.

    Raises CertificateError, with the context as it was: another one tries the pair first.
    """
    if _PEM not in certificate:
        raise CertificateError("found no certificate in PEM form")
    if _PEM not in key:
        raise CertificateError("found no key in PEM form")
    try:
        with _as_file(certificate + b"\n" + key) as name:
            for each in (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), context):
                each.load_cert_chain(name, password=_no_password)
    except CertificateError:
        raise
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "not usable"
        reason = reason.lower().replace("_", " ")
        message = f"found a certificate and a key that cannot be used together ({reason})"
        raise CertificateError(message) from None


def _no_password() -> str:
    raise CertificateError("found a key that is encrypted; Fairlead asks for no password")


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give *content* a name, as OpenSSL asks for, in memory only where the system can do so."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("certificate")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with NamedTemporaryFile() as file:  # which only its user may read
        file.write(content)
        file.flush()
        yield file.name
