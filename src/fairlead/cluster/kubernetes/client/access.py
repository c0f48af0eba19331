"""How to reach one API server, and as which user.

A value that a session needs and nothing more. Where it comes from is the matter of `kubeconfig` and
`in_cluster`. Neither the value nor the credentials in it show a secret when they are printed.
"""

import ssl
from typing import Protocol

import msgspec


class Credentials(Protocol):
    """What proves the user, renewed as often as needed."""

    async def token(self) -> str | None:
        """Return the bearer token for the next request; None: the connection proves the user.

        To be awaited before each request, also before the connection is made: a client certificate
        that has to be renewed is put into the `Access.ssl` of these credentials by then. Costs
        nothing while what is known is valid. Raises ClusterError where none can be had.
        """

    def refused(self) -> None:
        """Forget what is cached, because the server answered 401 to it.

        The next `token` gets a new one. A new certificate is used by new connections only, so the
        session has to close those that it has.
        """


class Access(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """How to reach one API server, and as which user."""

    server: str  # https://host:port/prefix, without a slash at the end
    ssl: ssl.SSLContext | None  # None: plain http
    server_name: str = ""  # which name the certificate of the server must have; "": its host
    proxy: str = ""  # the URL of a proxy, perhaps with a login; "": none
    headers: tuple[tuple[str, str], ...] = ()  # for each request: impersonation
    credentials: Credentials
    namespace: str = "default"  # of the context
    context: str = ""  # its name, for messages; "": it has none

    def __repr__(self) -> str:
        """Show where and in which context, without what may hold a secret."""
        return f"Access(server={self.server!r}, context={self.context!r})"
