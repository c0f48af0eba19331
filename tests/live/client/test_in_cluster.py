"""Access by the service account of a pod, on the API server that issued its token."""

import asyncio
from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.acting.requests import PODS
from fairlead.cluster.kubernetes.client.errors import RefusedError, UnauthorizedError
from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.cluster.kubernetes.client.session import Session
from tests.live.api import Api
from tests.live.service_accounts import mount_service_account, renew_token


def test_a_token_that_is_refused_is_read_again(api: Api, namespace: str, tmp_path: Path) -> None:
    """401 while the file has a token that the server did not issue, then none."""
    folder = tmp_path / "account"
    environ = mount_service_account(api, namespace, "agent", folder)
    (folder / "token").write_text("expired")
    access, _ = find_access(Wanted(), environ, service_account=folder)
    assert access.namespace == namespace

    async def story() -> None:
        session = Session(access, connections=1, deadline_s=20)
        try:
            with pytest.raises(UnauthorizedError):
                await session.ask("GET", "/api")
            renew_token(api, namespace, "agent", folder)
            assert b"versions" in await session.ask("GET", "/api")
            with pytest.raises(RefusedError, match=f"system:serviceaccount:{namespace}:agent"):
                await session.ask("GET", PODS.collection(namespace))
        finally:
            await session.close()

    asyncio.run(story())
