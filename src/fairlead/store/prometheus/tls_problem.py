"""Why a connection over TLS came to nothing, in words, and what to do about it.

The library names a code and a place in its own source. A certificate for another name, one that has
expired, one that nobody vouches for and a port without TLS each have a cure of their own.
"""

import socket
import ssl
from typing import Final, NamedTuple

SHOWN_NAMES: Final = 5
_OTHER_NAME: Final = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH, ..._IP_ADDRESS_MISMATCH
_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
# What OpenSSL says to a first answer that is no TLS; newer ones say the last two.
_NO_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
)


class TlsServer(NamedTuple):
    """Where a server is, and how long it is waited for."""

    host: str
    port: int
    timeout_s: float


def trust_of(ca_file: str) -> ssl.SSLContext:
    """Whom to trust: who is in *ca_file*, or the machine's own where it is "".

    Raises OSError for a file that cannot be used.
    """
    return ssl.create_default_context(cafile=ca_file or None)


def is_no_tls(problem: ssl.SSLError) -> bool:
    """Whether what answered does not speak TLS; mostly it is the port of plain http."""
    return problem.reason in _NO_TLS


def certificate_problem(
    problem: ssl.SSLCertVerificationError, server: TlsServer, ca_file: str
) -> str:
    """Say why the certificate of *server* is refused, and what to do.

    Where it is for another name, the server is asked once more which names it is for.
    """
    if problem.verify_code in _OTHER_NAME:
        return _other_name(server.host, _names(server, ca_file))
    if problem.verify_code == _EXPIRED:
        return "has a certificate that has expired; it must be renewed there"
    if problem.verify_code == _NOT_YET_VALID:
        return "has a certificate that is not valid yet; is the clock here right?"
    return (
        f"has a certificate that is not trusted ({problem.verify_message}); "
        "name the file of who signed it as caFile"
    )


def _other_name(host: str, names: list[str]) -> str:
    if not names:
        return f"has a certificate that is not for {host}; use a name in the address that it is for"
    shown = ", ".join(names[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")
    which = "that name" if len(names) == 1 else "one of these names"
    return f"has a certificate for {shown}, not for {host}; use {which} in the address"


def _names(server: TlsServer, ca_file: str) -> list[str]:
    """The names for which a server that is trusted otherwise has a certificate; [] if not known.

    Only shakes hands: nothing is asked of a server of another name, and no secret sent to it.
    """
    try:
        trust = trust_of(ca_file)
        trust.check_hostname = False
        with (
            socket.create_connection((server.host, server.port), server.timeout_s) as line,
            trust.wrap_socket(line, server_hostname=server.host) as secured,
        ):
            told = secured.getpeercert() or {}
    except OSError:
        return []
    pairs = told.get("subjectAltName", ())
    return [str(pair[1]) for pair in pairs if isinstance(pair, tuple)]
