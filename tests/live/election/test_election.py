"""Candidates for a Lease on a real API server, in one process; and what the rules rest on there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.cluster.kubernetes.election.election import Election
from fairlead.cluster.kubernetes.election.elector import Durations
from fairlead.cluster.kubernetes.election.lease import Lease, Write, written
from tests.cluster.kubernetes.election.lease_server import LeaseServer
from tests.live.api import AnswerError, Api, Object
from tests.live.installation import LEASE_NAMESPACE
from tests.live.leases import release_lease
from tests.live.waiting import eventually
from tools.k8s.cluster import Cluster

# A tenth to a fifth of those in use. A leader may act until 1.8 s after its last renewal.
BRIEF = Durations(lease_s=3, renew_deadline_s=2.0, retry_s=0.2, act_s=0.2)
NAME = "fairlead"
BOUND_S = 60


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, BOUND_S))


def leases(namespace: str, name: str = "") -> str:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    return f"{path}/{name}" if name else path


def create_released(api: Api, namespace: str) -> None:
    """Create a Lease that a former leader has released, so that nothing is waited for."""
    body = {
        "metadata": {"name": NAME, "labels": {"app": "fairlead"}},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 4},
    }
    api.create(leases(namespace), body)


@asynccontextmanager
async def candidates(
    cluster: Cluster, namespace: str, *identities: str, user: str = "admin"
) -> AsyncIterator[list[Election]]:
    """Give candidates, which release what they hold at the end of the block."""
    async with AsyncExitStack() as stack:
        made = []
        for identity in identities:
            wanted = Wanted(kubeconfig=str(cluster.kubeconfig(user)))
            access, _ = find_access(wanted, {})
            made.append(Election(access, namespace, NAME, identity, durations=BRIEF))
            stack.push_async_callback(made[-1].release)
        yield made


async def may_act(candidate: Election) -> None:
    await eventually(
        "no hindrance", candidate.hindrance, lambda hindrance: not hindrance, within_s=20
    )


def test_one_of_two_leads_and_the_other_follows_at_once_after_a_release(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    create_released(api, namespace)

    async def story() -> None:
        async with candidates(cluster, namespace, "a", "b") as (a, b):
            await a.gained()
            await may_act(a)
            assert a.term() == "a/5"
            b.start()
            await eventually("b sees a", b.hindrance, lambda hindrance: "a," in hindrance)
            assert b.hindrance() == "another replica, a, is the leader"
            await a.release()
            await b.gained()
            await may_act(b)
            assert b.term() == "b/6"
        spec = api.get(leases(namespace, NAME))["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("", 6)

    run(story())


def test_a_lease_that_nothing_renews_is_taken(cluster: Cluster, api: Api, namespace: str) -> None:
    """The holder was killed; the times in its Lease are of a wrong clock, and mean nothing."""
    create_released(api, namespace)
    far = "2999-01-01T00:00:00.000000Z"
    spec = {"holderIdentity": "dead", "leaseDurationSeconds": 3, "renewTime": far}
    api.patch(leases(namespace, NAME), {"spec": spec})

    async def story() -> None:
        async with candidates(cluster, namespace, "a") as (a,):
            a.start()
            await eventually("dead is seen", a.hindrance, lambda hindrance: "dead" in hindrance)
            await a.gained()
            assert a.term() == "a/5"

    run(story())


def test_a_deleted_lease_ends_the_term_and_another_candidate_leads(
    cluster: Cluster, api: Api
) -> None:
    """With the rights of the scheduler, which has to create the Lease anew."""
    release_lease(api)

    async def story() -> None:
        async with candidates(cluster, LEASE_NAMESPACE, "a", "b", user="fairlead") as (a, b):
            await a.gained()
            b.start()
            await eventually("b sees a", b.hindrance, lambda hindrance: "a," in hindrance)
            api.delete(leases(LEASE_NAMESPACE, NAME))
            why = await a.lost()
            assert why in ("the lease was deleted", "another replica, b, has taken the lease")
            assert (a.is_leader(), a.hindrance()) == (False, why)
            await b.gained()
            assert b.term() == "b/0"

    run(story())


def test_a_leader_keeps_its_term_when_a_person_changes_the_lease(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    create_released(api, namespace)

    async def story() -> None:
        async with candidates(cluster, namespace, "a") as (a,):
            await a.gained()
            for number in range(3):
                patch = {"metadata": {"annotations": {"note": str(number)}}}
                before = api.patch(leases(namespace, NAME), patch)["metadata"]["resourceVersion"]
                await eventually(
                    "a renewal after the change",
                    lambda: api.get(leases(namespace, NAME))["metadata"],
                    lambda found, before=before: found["resourceVersion"] != before,  # type: ignore[misc]
                )
                assert a.term() == "a/5"
        metadata = api.get(leases(namespace, NAME))["metadata"]
        assert metadata["annotations"] == {"note": "2"}
        assert metadata["labels"] == {"app": "fairlead"}

    run(story())


def test_a_leader_does_not_act_while_the_api_server_is_away_and_goes_on_in_its_term(
    breakable_cluster: Cluster,
) -> None:
    api = Api(breakable_cluster)
    create_released(api, "default")

    async def story() -> None:
        async with candidates(breakable_cluster, "default", "a") as (a,):
            await a.gained()
            breakable_cluster.stop("kube-apiserver")
            await eventually("a hindrance", a.hindrance)
            assert "the lease was not renewed for" in a.hindrance()
            await asyncio.to_thread(breakable_cluster.ensure_running)
            await may_act(a)
            assert a.term() == "a/5"

    run(story())
    api.delete(leases("default", NAME))


def test_a_server_that_accepts_and_does_not_answer_hinders_too(
    breakable_cluster: Cluster,
) -> None:
    api = Api(breakable_cluster)
    create_released(api, "default")

    async def story() -> None:
        async with candidates(breakable_cluster, "default", "a") as (a,):
            await a.gained()
            breakable_cluster.pause("kube-apiserver")
            await eventually("a hindrance", a.hindrance)
            assert "the lease was not renewed for" in a.hindrance()
            breakable_cluster.resume("kube-apiserver")
            await may_act(a)
            assert a.term() == "a/5"

    run(story())
    api.delete(leases("default", NAME))


class RealServer:
    """A Lease on the API server, with the answers of which the tests of the rules have a copy."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    def post(self, body: Object) -> tuple[int, Object | None]:
        return self._asked(lambda: self._api.create(leases(self._namespace), body))

    def put(self, body: Object) -> tuple[int, Object | None]:
        return self._asked(lambda: self._api.replace(leases(self._namespace, NAME), body))

    def delete(self) -> None:
        self._api.delete(leases(self._namespace, NAME))

    def _asked(self, ask: Callable[[], Object]) -> tuple[int, Object | None]:
        try:
            return 200, ask()
        except AnswerError as problem:
            return problem.code, None


class CopiedServer(LeaseServer):
    """The copy, with the same methods."""

    def delete(self) -> None:
        self.body = None


@pytest.mark.parametrize("is_real", [True, False], ids=["real", "copy"])
def test_writes_that_come_too_late_change_nothing(api: Api, namespace: str, is_real: bool) -> None:
    server = RealServer(api, namespace) if is_real else CopiedServer()

    def body(holder: str, old: Object | None) -> Object:
        write = Write(
            old=None if old is None else Lease(old), holder=holder, transitions=0, duration_s=15
        )
        return written(write, namespace, NAME, datetime.now(UTC))

    def version(found: Object | None) -> str:
        assert found is not None
        return str(found["metadata"]["resourceVersion"])

    _, first = server.post(body("a", None))
    assert server.post(body("b", None)) == (409, None)
    code, second = server.put(body("a", first))
    assert code < 300
    assert version(second) != version(first)
    assert server.put(body("b", first)) == (409, None)
    code, same = server.put(second or {})
    assert code < 300
    assert version(same) == version(second)  # a write that changes nothing is no renewal
    server.delete()
    assert server.put(body("a", second)) == (409, None)  # not made anew, because of the uid
    without_uid = body("a", second)
    del without_uid["metadata"]["uid"]
    assert server.put(without_uid)[0] < 300  # which is why each write names it
