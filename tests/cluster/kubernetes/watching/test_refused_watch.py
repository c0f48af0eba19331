"""A kind that the user may list and not watch is listed again, more and more seldom."""

import asyncio

import pytest

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.credentials import FixedToken
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.watching import reflector
from fairlead.cluster.kubernetes.watching.facts import ObjectFact
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.cluster.kubernetes.watching.reflector import Reflector
from tests.cluster.kubernetes.canned_api import canned_api


class EnoughError(Exception):
    """The story has gone on for long enough."""


def test_the_pauses_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.2 s, doubled with each failure; without chance the half of each: 0.1, 0.2, 0.4, 0.8."""
    pauses: list[float] = []
    lists: list[ObjectFact] = []

    async def note_pause(pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 4:
            raise EnoughError

    monkeypatch.setattr(reflector, "sleep", note_pause)

    async def story() -> None:
        with canned_api() as server:
            server.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
            server.unwatched.add("pods")
            access = Access(server=server.url, ssl=None, credentials=FixedToken("abc"))
            session = Session(access, connections=0, deadline_s=20.0)
            follows_pods = Reflector(
                session,
                ("", "Pod"),
                Resource(group="", version="v1", plural="pods"),
                take=lambda _, fact: lists.append(fact),
                freshness=Freshness(lambda: 0.0),
                random=lambda: 0.0,
            )
            with pytest.raises(EnoughError):
                await follows_pods.run()
            await session.close()

    asyncio.run(story())
    assert pauses == [0.1, 0.2, 0.4, 0.8]
    assert len(lists) == 4
