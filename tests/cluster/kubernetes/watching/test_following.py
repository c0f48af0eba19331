"""Which kinds are followed, as they come and go, and that the cluster stays the same one."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.client.errors import RefusedError
from fairlead.cluster.kubernetes.watching.facts import Listed, ObjectFact
from fairlead.cluster.kubernetes.watching.following import Following, OtherClusterError
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from tests.cluster.kubernetes.acting.scripted_session import error
from tests.cluster.kubernetes.virtual_time import run
from tests.cluster.kubernetes.watching.scripted_cluster import ScriptedCluster

QUOTAS: list[GroupKind] = [
    ("scheduling.x-k8s.io", "ElasticQuota"),
    ("scheduling.sigs.k8s.io", "ElasticQuota"),
]


class Followed:
    """The kinds of a scripted cluster, followed."""

    def __init__(self) -> None:
        self.cluster = ScriptedCluster()
        self.facts: list[tuple[GroupKind, ObjectFact]] = []
        self.freshness = Freshness(asyncio.get_running_loop().time)
        self.following = Following(
            self.cluster.session,
            "elastic-quota",
            take=lambda kind, fact: self.facts.append((kind, fact)),
            freshness=self.freshness,
            random=lambda: 0.5,
        )
        self.task: asyncio.Task[None] | None = None

    def lists(self, kind: GroupKind) -> list[bool]:
        """Return for each list of a kind whether it was served."""
        facts = [fact for of, fact in self.facts if of == kind]
        return [fact.is_served for fact in facts if isinstance(fact, Listed)]


def followed(story: Callable[[Followed], Awaitable[None]], *, ends: bool = False) -> None:
    """Run a story beside a following, and raise what ended it."""

    async def both() -> None:
        found = Followed()
        found.task = asyncio.create_task(found.following.run())
        await story(found)
        if ends:
            await found.task
        assert not found.task.done()
        found.task.cancel()
        await asyncio.gather(found.task, return_exceptions=True)

    run(both())


def test_every_kind_of_the_rule_set_is_listed_and_watched() -> None:
    async def story(found: Followed) -> None:
        await asyncio.sleep(1)
        assert found.freshness.is_current()
        assert {kind for kind, _ in found.facts} == set(found.cluster.served)

    followed(story)


def test_nothing_is_current_without_quotas_and_they_are_looked_for_often() -> None:
    """Fairlead is started before the CRDs are installed. One of the two groups is enough."""

    async def story(found: Followed) -> None:
        for kind in QUOTAS:
            del found.cluster.served[kind]
        await asyncio.sleep(10)
        assert not found.freshness.is_current()
        assert found.freshness.not_current() == ["ElasticQuota (not served)"]
        found.cluster.served[QUOTAS[0]] = "v1alpha1"
        await asyncio.sleep(3.1)
        assert found.freshness.is_current()

    followed(story)


def test_a_kind_that_is_not_served_any_more_has_no_objects() -> None:
    """It is asked for twice, since an API server that starts does not know its CRDs at once."""

    async def story(found: Followed) -> None:
        await asyncio.sleep(1)
        del found.cluster.served[QUOTAS[0]]
        await asyncio.sleep(31)
        assert found.lists(QUOTAS[0]) == [True]
        await asyncio.sleep(30)
        assert found.lists(QUOTAS[0]) == [True, False]
        assert found.freshness.is_current()
        found.cluster.served[QUOTAS[0]] = "v1alpha1"
        await asyncio.sleep(31)
        assert found.lists(QUOTAS[0]) == [True, False, True]

    followed(story)


def test_a_kind_that_is_missing_for_a_moment_goes_on_being_followed() -> None:
    async def story(found: Followed) -> None:
        await asyncio.sleep(1)
        for _ in range(3):
            version = found.cluster.served.pop(QUOTAS[0])
            await asyncio.sleep(30)
            found.cluster.served[QUOTAS[0]] = version
            await asyncio.sleep(30)
        assert found.lists(QUOTAS[0]) == [True]

    followed(story)


def test_another_cluster_at_the_same_address_ends_everything() -> None:
    """A proxy leads to another cluster. A watch there would be silent, as if nothing happened."""

    async def story(found: Followed) -> None:
        await asyncio.sleep(1)
        found.cluster.uid = "cluster-2"

    with pytest.raises(OtherClusterError, match="cluster-2, not cluster-1"):
        followed(story, ends=True)


def test_a_user_without_rights_is_said_so_at_the_start() -> None:
    async def story(found: Followed) -> None:
        found.cluster.failure = error(403)

    with pytest.raises(RefusedError):
        followed(story, ends=True)


def test_a_server_that_fails_is_waited_for_from_the_start_and_later() -> None:
    async def story(found: Followed) -> None:
        found.cluster.failure = error(503)
        await asyncio.sleep(60)
        found.cluster.failure = None
        await asyncio.sleep(30)
        assert found.freshness.is_current()
        found.cluster.failure = error(403)
        await asyncio.sleep(300)
        assert found.freshness.is_current()

    followed(story)
