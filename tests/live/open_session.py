"""A session of Fairlead's own client to a test cluster, closed at the end of a block."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.cluster.kubernetes.client.session import Session
from tools.k8s.cluster import Cluster


@asynccontextmanager
async def open_session(
    cluster: Cluster, user: str = "admin", *, deadline_s: float = 20.0
) -> AsyncIterator[Session]:
    """Give a session whose access comes from a kubeconfig, as for the commands."""
    access, warnings = find_access(Wanted(kubeconfig=str(cluster.kubeconfig(user))), {})
    assert warnings == ()
    opened = Session(access, connections=0, deadline_s=deadline_s)
    try:
        yield opened
    finally:
        await opened.close()
