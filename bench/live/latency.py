"""How soon a pod is bound after it was created, in a cluster where pods come one by one."""

import asyncio
import os
import time
from pathlib import Path
from typing import Final

from bench.live.backlog import OTHERS_CORES, SCHEDULER_CPU_MS, Figures
from bench.live.contenders import Contender
from bench.live.cost import read_cost
from bench.live.fresh_cluster import fresh_cluster, furnish, processes_of
from bench.live.observer import Observer
from bench.live.requests import create, opened_session, paced
from bench.live.world import Creation, World

P50_MS: Final = "ms from creation to bind, p50"
P95_MS: Final = "ms from creation to bind, p95"
P99_MS: Final = "ms from creation to bind, p99"

PODS_PER_S: Final = 10
_WARM_UP: Final = 20  # pods that are not counted: the first of all wait for much that is made once
_WITHIN_S: Final = 60.0


def measure_latency(assets: Path, contender: Contender, world: World) -> Figures:
    """Start the scheduler, create pods at a steady pace, and return how long each waited.

    The time of a pod runs from just before its creation was sent to when an observer saw it bound.
    """
    with fresh_cluster(assets) as cluster:
        asyncio.run(furnish(cluster, world))
        kubeconfig = cluster.kubeconfig("admin")
        pods = list(world.backlog(contender.scheduler_name))
        with (
            Observer(kubeconfig, contender.scheduler_name) as observer,
            contender.started(cluster) as scheduler,
        ):
            processes = processes_of(cluster) | {"observer": observer.pid, "bench": os.getpid()}
            processes["scheduler"] = scheduler.pid
            asyncio.run(_create_one(kubeconfig, pods[0]))
            observer.wait_for(1, _WITHIN_S, scheduler.check)
            before = read_cost(time.monotonic(), processes)
            sent_s = asyncio.run(_create_at_pace(kubeconfig, pods[1:]))
            observer.wait_for(world.pods, _WITHIN_S, scheduler.check)
            after = read_cost(time.monotonic(), processes)
    waited_ms = sorted(
        1000 * (observer.bound_s[key] - sent_s[key]) for key in list(sent_s)[_WARM_UP:]
    )
    return {
        P50_MS: _quantile(waited_ms, 50),
        P95_MS: _quantile(waited_ms, 95),
        P99_MS: _quantile(waited_ms, 99),
        SCHEDULER_CPU_MS: 1000 * after.since(before, "scheduler") / len(sent_s),
        OTHERS_CORES: after.others_cores(before),
    }


async def _create_one(kubeconfig: Path, pod: Creation) -> None:
    async with opened_session(kubeconfig) as session:
        await create(session, pod)


async def _create_at_pace(kubeconfig: Path, pods: list[Creation]) -> dict[str, float]:
    """Create the pods one by one; return when each creation was sent."""
    sent_s: dict[str, float] = {}
    async with opened_session(kubeconfig) as session, asyncio.TaskGroup() as group:
        async for number in paced(PODS_PER_S):
            if number == len(pods):
                break
            pod = pods[number]
            sent_s[pod.key] = time.monotonic()
            group.create_task(create(session, pod))
    return sent_s


def _quantile(ordered: list[float], percent: int) -> float:
    """Return the least value that so many percent of all do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1]
