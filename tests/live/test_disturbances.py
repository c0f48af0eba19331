"""What happens to more than one write: servers that die, leaders that stall, clocks that jump."""

import asyncio
import signal
from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.live.audited import denials
from tests.live.faults.admin import Admin, RefusedError
from tests.live.faults.replicas import Replicas
from tests.live.faults.run import Plan, perform
from tests.live.faults.worlds import FULL_NODES, TAKING_BACK
from tests.live.installation import LEASE_NAMESPACE
from tools.k8s.cluster import Cluster

ELECTED: Final = msgspec.structs.replace(TAKING_BACK, is_elected=True)
ELECTED_ON_FULL_NODES: Final = msgspec.structs.replace(FULL_NODES, is_elected=True)
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases/fairlead"
TAKEN_OVER_WITHIN_S: Final = 30.0  # a lease ends after 15 s


def _run(cluster: Cluster, folder: Path, plan: Plan) -> list[str]:
    """Return what was wrong in a run, and what was denied to the scheduler.

    An API server that starts denies everything until it has read the roles.
    """
    after_bytes = cluster.audit_log.stat().st_size
    problems = asyncio.run(perform(cluster, plan, folder)).problems
    if plan.may_have_gaps:
        return problems
    return problems + [each for user in plan.users for each in denials(cluster, user, after_bytes)]


@pytest.mark.parametrize("servers", [["kube-apiserver"], ["etcd"], ["kube-apiserver", "etcd"]])
def test_servers_are_killed_and_started_again(
    breakable_cluster: Cluster, tmp_path: Path, servers: list[str]
) -> None:
    async def disturb(_replicas: Replicas, _admin: Admin) -> None:
        for server in servers:
            breakable_cluster.stop(server)
        await asyncio.to_thread(breakable_cluster.ensure_running)

    plan = Plan(world=FULL_NODES, disturb=disturb, may_have_gaps=True)
    assert _run(breakable_cluster, tmp_path, plan) == []


def test_the_api_server_answers_nothing_for_longer_than_any_deadline(
    breakable_cluster: Cluster, tmp_path: Path
) -> None:
    async def disturb(_replicas: Replicas, _admin: Admin) -> None:
        breakable_cluster.pause("kube-apiserver")
        await asyncio.sleep(12)
        breakable_cluster.resume("kube-apiserver")

    plan = Plan(world=TAKING_BACK, disturb=disturb, may_have_gaps=True)
    assert _run(breakable_cluster, tmp_path, plan) == []


def test_the_wall_clock_is_set_back_by_an_hour(cluster: Cluster, tmp_path: Path) -> None:
    async def disturb(replicas: Replicas, admin: Admin) -> None:
        before = await _renewed(admin)
        replicas.first.send(signal.SIGUSR1)
        async with asyncio.timeout(TAKEN_OVER_WITHIN_S):
            while await _renewed(admin) >= before:  # the Lease shows that the clock was set
                await asyncio.sleep(0.1)

    plan = Plan(world=ELECTED, disturb=disturb)
    assert _run(cluster, tmp_path, plan) == []


def test_the_lease_is_deleted(cluster: Cluster, tmp_path: Path) -> None:
    async def disturb(_replicas: Replicas, admin: Admin) -> None:
        await admin.ask("DELETE", LEASE)
        async with asyncio.timeout(TAKEN_OVER_WITHIN_S):
            while not await _holder(admin):
                await asyncio.sleep(0.1)

    plan = Plan(world=ELECTED, disturb=disturb, may_end=True)
    assert _run(cluster, tmp_path, plan) == []


def test_the_leader_stalls_and_goes_on_when_another_replica_leads(
    cluster: Cluster, tmp_path: Path
) -> None:
    async def disturb(replicas: Replicas, admin: Admin) -> None:
        holder = await _holder(admin)
        leader = await replicas.leader()
        assert leader is not None
        leader.pause()
        try:
            async with asyncio.timeout(TAKEN_OVER_WITHIN_S):
                while await _holder(admin) == holder:
                    await asyncio.sleep(0.1)
        finally:
            leader.resume()

    plan = Plan(
        world=ELECTED_ON_FULL_NODES,
        disturb=disturb,
        users=("fairlead", "fairlead-2"),
        may_end=True,
    )
    assert _run(cluster, tmp_path, plan) == []


async def _renewed(admin: Admin) -> str:
    """Return when the Lease was renewed, by the clock of its holder."""
    return str((await admin.ask("GET", LEASE))["spec"]["renewTime"])


async def _holder(admin: Admin) -> str:
    """Return who holds the Lease; "": there is none, or it was released."""
    try:
        lease = await admin.ask("GET", LEASE)
    except RefusedError:
        return ""
    return str(lease["spec"].get("holderIdentity", ""))
