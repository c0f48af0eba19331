"""Whether a scheduler that runs for long holds more and more memory, while pods come and go."""

import asyncio
import time
from pathlib import Path
from typing import Final

from bench.live.backlog import Figures
from bench.live.contenders import Contender, RunningScheduler
from bench.live.cost import memory_mib
from bench.live.fresh_cluster import fresh_cluster, furnish
from bench.live.observer import Observer
from bench.live.requests import create, delete_now, opened_session, paced
from bench.live.world import World

EARLY_MIB: Final = "memory after a sixth of the time, MiB"
LATE_MIB: Final = "memory at the end, MiB"
GROWTH: Final = "memory at the end / after a sixth"

_PODS_PER_S: Final = 20
_LIVING_PODS: Final = 600
_SAMPLE_EVERY_S: Final = 10.0
_WITHIN_S: Final = 60.0


def measure_churn(assets: Path, contender: Contender, world: World, minutes: float) -> Figures:
    """Let pods come and go for so long, and return how memory grew after a sixth of it."""
    with fresh_cluster(assets) as cluster:
        asyncio.run(furnish(cluster, world))
        kubeconfig = cluster.kubeconfig("admin")
        with (
            Observer(kubeconfig, contender.scheduler_name) as observer,
            contender.started(cluster) as scheduler,
        ):
            sampling = asyncio.run(_churn(kubeconfig, contender, world, scheduler, minutes))
            observer.wait_for(sampling.pods, _WITHIN_S, scheduler.check)
    early_mib = sampling.memory_mib[len(sampling.memory_mib) // 6]
    late_mib = sampling.memory_mib[-1]
    return {EARLY_MIB: early_mib, LATE_MIB: late_mib, GROWTH: late_mib / early_mib}


class _Sampling:
    """The memory of a scheduler at equal distances of time, and how many pods came."""

    def __init__(self) -> None:
        self.memory_mib: list[float] = []
        self.pods = 0

    async def run(self, scheduler: RunningScheduler) -> None:
        while True:
            scheduler.check()
            self.memory_mib.append(memory_mib(scheduler.pid, peak=False))
            await asyncio.sleep(_SAMPLE_EVERY_S)


async def _churn(
    kubeconfig: Path,
    contender: Contender,
    world: World,
    scheduler: RunningScheduler,
    minutes: float,
) -> _Sampling:
    sampling = _Sampling()
    until_s = time.monotonic() + 60 * minutes
    async with opened_session(kubeconfig) as session, asyncio.TaskGroup() as group:
        sampler = group.create_task(sampling.run(scheduler))
        async for number in paced(_PODS_PER_S):
            if time.monotonic() > until_s:
                break
            pod = world.pod(number, contender.scheduler_name)
            group.create_task(create(session, pod))
            sampling.pods += 1
            if number >= _LIVING_PODS:
                old = world.pod(number - _LIVING_PODS, contender.scheduler_name)
                group.create_task(delete_now(session, old))
        sampler.cancel()
    return sampling
