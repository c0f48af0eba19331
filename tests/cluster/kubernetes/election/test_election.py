"""The thread of an election, with its own connection to a server on this machine."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.cluster.kubernetes.election.election import Election, steady_s, unique_identity
from fairlead.cluster.kubernetes.election.elector import Durations
from fairlead.cluster.kubernetes.loop.leadership import Leadership
from fairlead.errors import ClusterError
from tests.cluster.kubernetes.client.byte_server import ByteServer, answers, run, serving, status
from tests.cluster.kubernetes.election.lease_server import (
    COLLECTION,
    NAME,
    NAMESPACE,
    PATH,
    LeaseServer,
    lease,
)

OFTEN = Durations(retry_s=0.05, act_s=5)  # asks often, and is not hindered by a slow machine


class SetClock:
    """A clock that a test moves. A lease lasts 15 s, and its leader may act for 10 - 5 = 5 s."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def candidate(
    server: ByteServer, identity: str = "me", clock: Callable[[], float] = steady_s
) -> Election:
    return Election(server.access(), NAMESPACE, NAME, identity, durations=OFTEN, clock=clock)


def released() -> LeaseServer:
    leases = LeaseServer()
    leases.post(lease("", 4, duration_s=1).body)
    return leases


async def holds(condition: Callable[[], object]) -> None:
    """Wait until *condition* returns something true; `run` bounds the wait."""
    while not condition():
        await asyncio.sleep(0.01)


def test_a_candidate_that_takes_a_released_lease_leads_in_the_next_term() -> None:
    async def story() -> None:
        async with serving(released().play) as server:
            me: Leadership = candidate(server)
            assert (me.hindrance(), me.is_leader()) == ("the lease was not read yet", False)
            await me.gained()
            assert (me.hindrance(), me.is_leader(), me.term()) == ("", True, "me/5")
            await me.release()

    run(story())


def test_acts_under_a_new_lease_begin_only_after_its_duration(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    async def story() -> None:
        async with serving(LeaseServer().play) as server:
            clock = SetClock()
            me = candidate(server, clock=clock)
            gained = asyncio.create_task(me.gained())
            await holds(me.is_leader)
            clock.now_s += 14
            assert "waiting 1 s" in me.hindrance()
            assert not gained.done()
            clock.now_s += 1
            await gained
            await holds(lambda: not me.hindrance())
            held = "lease fairlead-system/fairlead: held in term me/0"
            await holds(lambda: caplog.messages[-1] == held)
            assert f"{held}; it was not released by the leader before, so acts wait" in (
                caplog.messages
            )
            await me.release()

    run(story())


def test_a_released_lease_is_taken_by_another_candidate() -> None:
    async def story() -> None:
        leases = released()
        async with serving(leases.play) as server:
            first, second = candidate(server, "first"), candidate(server, "second")
            await first.gained()
            second.start()
            await holds(lambda: "first" in second.hindrance())
            assert second.hindrance() == "another replica, first, is the leader"
            await first.release()
            assert first.hindrance() == "Fairlead is stopping"
            assert await first.lost() == "Fairlead is stopping"
            await second.gained()
            assert second.term() == "second/6"
            await second.release()
            assert leases.body is not None
            assert leases.body["spec"]["holderIdentity"] == ""

    run(story())


def test_a_lease_is_renewed_while_another_thread_holds_the_interpreter() -> None:
    async def story() -> None:
        leases = released()
        async with serving(leases.play) as server:
            me = candidate(server)
            await me.gained()
            stop = threading.Event()

            def spin() -> None:
                while not stop.is_set():
                    sum(range(1000))

            spinning = threading.Thread(target=spin)
            spinning.start()
            try:
                before = len(server.requests)
                await holds(lambda: len(server.requests) > before + 10)
                assert me.hindrance() == ""
            finally:
                stop.set()
                spinning.join()
            await me.release()

    run(story())


def test_a_lease_that_is_deleted_ends_the_leadership_for_good() -> None:
    async def story() -> None:
        leases = released()
        async with serving(leases.play) as server:
            me = candidate(server)
            await me.gained()
            leases.body = None
            assert await me.lost() == "the lease was deleted"
            assert (me.hindrance(), me.is_leader(), me.term()) == (
                "the lease was deleted",
                False,
                "",
            )
            asked = len(server.requests)
            await me.release()
            assert (len(server.requests), leases.body) == (asked, None)

    run(story())


def test_a_lease_that_is_lost_before_acts_may_begin_is_an_error() -> None:
    async def story() -> None:
        leases = LeaseServer()
        async with serving(leases.play) as server:
            clock = SetClock()
            me = candidate(server, clock=clock)
            gained = asyncio.create_task(me.gained())
            await holds(me.is_leader)
            leases.body = None
            clock.now_s += 1
            with pytest.raises(ClusterError, match="fairlead-system/fairlead: the lease was del"):
                await gained

    run(story())


def test_a_leader_without_answers_does_not_act_until_it_has_renewed() -> None:
    async def story() -> None:
        leases = released()
        is_broken = False

        async def play(request: Any, writer: asyncio.StreamWriter) -> None:
            broken = answers(500, status(500, "InternalError", "etcd is away"))
            await (broken if is_broken else leases.play)(request, writer)

        async with serving(play) as server:
            clock = SetClock()
            me = candidate(server, clock=clock)
            await me.gained()
            is_broken = True
            clock.now_s += 6
            await holds(lambda: "etcd is away" in me.hindrance())
            assert me.hindrance().startswith("the lease was not renewed for 6 s")
            is_broken = False
            clock.now_s += 60  # it does not give up
            await holds(lambda: not me.hindrance())
            assert me.term() == "me/5"
            await me.release()

    run(story())


def test_a_candidate_without_rights_says_so_and_goes_on_asking() -> None:
    async def story() -> None:
        refusal = answers(403, status(403, "Forbidden", "leases is forbidden"))
        async with serving(refusal) as server:
            me = candidate(server)
            me.start()
            await holds(lambda: len(server.requests) > 2)
            assert "leases is forbidden" in me.hindrance()
            await me.release()
            with pytest.raises(ClusterError, match="stopping"):
                await me.gained()

    run(story())


def test_a_namespace_that_does_not_exist_is_named() -> None:
    async def story() -> None:
        async with serving(answers(404, status(404, "NotFound", "no such namespace"))) as server:
            me = candidate(server)
            me.start()
            await holds(lambda: "no such namespace" in me.hindrance())
            await me.release()
            asked = [(each.method, each.path) for each in server.requests[:2]]
            assert asked == [("GET", PATH), ("POST", COLLECTION)]

    run(story())


def test_a_defect_in_the_thread_reaches_what_waits_for_the_election() -> None:
    readings = iter([0.0, 0.0, 0.0, 0.0])

    def broken_clock() -> float:
        found = next(readings, None)
        if found is None:
            raise RuntimeError("no time")
        return found

    async def story() -> None:
        async with serving(released().play) as server:
            me = candidate(server, clock=broken_clock)
            me.start()
            with pytest.raises(RuntimeError, match="no time"):
                await me.lost()
            assert (me.is_leader(), me.term()) == (False, "")
            await me.release()

    run(story())


def test_waiting_for_leadership_may_be_given_up() -> None:
    async def story() -> None:
        leases = LeaseServer()
        leases.post(lease("other").body)
        async with serving(leases.play) as server:
            clock = SetClock()
            me = candidate(server, clock=clock)
            waiting = asyncio.create_task(me.gained())
            await holds(lambda: me.hindrance() == "another replica, other, is the leader")
            waiting.cancel()
            await asyncio.wait({waiting})
            clock.now_s += 15  # without a renewal of other
            await me.gained()
            assert me.term() == "me/1"
            await me.release()

    run(story())


def test_labels_of_the_lease_and_fields_of_others_are_kept() -> None:
    async def story() -> None:
        leases = released()
        assert leases.body is not None
        leases.body["metadata"]["labels"] = {"app": "fairlead"}
        leases.body["spec"]["strategy"] = "OldestEmulationVersion"
        async with serving(leases.play) as server:
            me = candidate(server)
            await me.gained()
            await me.release()
        assert leases.body["metadata"]["labels"] == {"app": "fairlead"}
        assert leases.body["spec"]["strategy"] == "OldestEmulationVersion"

    run(story())


def test_an_election_that_never_began_is_released_without_a_request() -> None:
    async def story() -> None:
        async with serving(LeaseServer().play) as server:
            await candidate(server).release()
            assert server.requests == []

    run(story())


def test_no_two_identities_are_equal_and_none_can_be_mistaken_for_a_term() -> None:
    identities = {unique_identity() for _ in range(100)}
    assert len(identities) == 100
    assert not any("/" in each for each in identities)
