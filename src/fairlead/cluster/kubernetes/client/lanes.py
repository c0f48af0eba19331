"""The lanes of one live scheduler to its API server."""

from typing import Final

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.session import Session

ACT_CONNECTIONS: Final = 32
# An act that a leader begins just before it may not any more ends before another one may lead.
ACT_DEADLINE_S: Final = 5.0
_READ_DEADLINE_S: Final = 60.0
_LEASE_DEADLINE_S: Final = 5.0


def acts_session(access: Access) -> Session:
    """Return the lane of writes. 32 connections keep a server with 2 cores busy."""
    return Session(access, connections=ACT_CONNECTIONS, deadline_s=ACT_DEADLINE_S)


def watches_session(access: Access) -> Session:
    """Return the lane of lists and watches: a connection for each watch, whatever their number."""
    return Session(access, connections=0, deadline_s=_READ_DEADLINE_S)


def lease_session(access: Access) -> Session:
    """Return the lane of the lease: a connection that nothing else can occupy."""
    return Session(access, connections=1, deadline_s=_LEASE_DEADLINE_S)
