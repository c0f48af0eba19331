"""Shows what a cluster is like whenever that changes, for as long as it is asked to."""

import asyncio
import time
from collections.abc import Callable
from random import random
from typing import Final

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.lanes import watches_session
from fairlead.cluster.kubernetes.reading.followed_state import FollowedState
from fairlead.cluster.kubernetes.reading.read_cluster import ClusterObjects
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.cluster.kubernetes.watching.reflector import Reflector

SHOWN_EVERY_S: Final = 1.0


async def follow_cluster(
    access: Access,
    objects: ClusterObjects,
    state: FollowedState,
    show: Callable[[list[str]], None],
) -> None:
    """Keep *state* in line with the cluster, and *show* it at most once a second.

    It is shown at once, then when it changed, or when other kinds are not current: *show* gets
    those. Each watch goes on from the list that was read. Returns when the cluster has other
    shards, of which *state* knows nothing; else it goes on until it is cancelled.
    """
    session = watches_session(access)
    freshness = Freshness(time.monotonic)
    freshness.require(frozenset())  # what is followed are the kinds that were read
    reflectors = [
        Reflector(
            session,
            kind,
            each.resource,
            take=state.take,
            freshness=freshness,
            random=random,
            listed_at=each.listing.resource_version,
        )
        for kind, each in objects.kinds.items()
    ]
    tasks = [asyncio.create_task(each.run()) for each in reflectors]
    try:
        shown_stale: list[str] | None = None
        while not state.has_other_shards():
            # What was read a moment ago is current, although no watch runs yet.
            stale = [] if shown_stale is None else freshness.not_current()
            if state.is_changed or stale != shown_stale:
                show(stale)
                shown_stale = stale
            await asyncio.sleep(SHOWN_EVERY_S)
            for task in tasks:
                if task.done():
                    task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await session.close()
