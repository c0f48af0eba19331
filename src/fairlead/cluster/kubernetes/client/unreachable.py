"""Why there was no connection to the API server, in words that hold no header and no login."""

import errno

import aiohttp

from fairlead.cluster.kubernetes.client.errors import AT_ONCE_S, UnreachableError, shown


class BrokenError(Exception):
    """A connection could not be made, or broke, as `cause` says."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


def unreachable(asked: str, error: Exception, *, is_sent: bool) -> UnreachableError:
    """Return the error for a request that got no whole answer.

    A certificate that does not fit, and an address that is none, are not tried again.
    """
    cause = error.cause if isinstance(error, BrokenError) else error
    is_lasting = isinstance(cause, aiohttp.ClientSSLError | ValueError)
    return UnreachableError(
        asked,
        _reason(cause),
        retry_after_s=None if is_lasting else AT_ONCE_S,
        is_unknown=is_sent,
    )


def _reason(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            why = getattr(error.certificate_error, "verify_message", "") or "not valid"
            return (
                f"the certificate of the API server is not trusted ({shown(why)}); does the "
                "kubeconfig have the certificate authority of this cluster?"
            )
        case aiohttp.ClientConnectorSSLError():
            return "the TLS handshake failed; perhaps the port speaks plain http"
        case aiohttp.ClientProxyConnectionError():
            return "the proxy cannot be reached"
        case aiohttp.ClientHttpProxyError(status=status):
            return f"the proxy refused the connection with status {status}"
        case aiohttp.ClientConnectorDNSError(host=host):
            return f"the host name {shown(host)} cannot be resolved"
        case aiohttp.ClientConnectorError(errno=errno.ECONNREFUSED, host=host, port=port):
            return f"{shown(host)}:{port} refused the connection: nothing listens there"
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError():
            return "the connection was closed before the answer was complete"
        case aiohttp.ClientOSError(strerror=str(words)):
            return f"the connection broke ({shown(words)})"
    return f"the exchange failed ({type(error).__name__})"
