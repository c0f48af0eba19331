"""How fast a scheduler that starts binds the pods that wait for it."""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.live.contenders import Contender, RunningScheduler
from bench.live.cost import Cost, cpu_s, memory_mib, read_cost
from bench.live.fresh_cluster import create_backlog, fresh_cluster, furnish, processes_of
from bench.live.observer import Observer
from bench.live.requests import count_of, opened_session
from bench.live.world import EVENTS, World

PODS_PER_S: Final = "pods/s, first to last bind"
FIRST_BIND_S: Final = "s from process start to first bind"
LAST_BIND_S: Final = "s from process start to last bind"
SCHEDULER_CPU_MS: Final = "CPU ms per pod, scheduler"
API_SERVER_CPU_MS: Final = "CPU ms per pod, API server"
ETCD_CPU_MS: Final = "CPU ms per pod, etcd"
PEAK_MIB: Final = "peak memory of the scheduler, MiB"
EVENTS_PER_POD: Final = "Events per pod"
OTHERS_CORES: Final = "cores used by others meanwhile"

_SLOWEST_PODS_PER_S: Final = 20
_START_WITHIN_S: Final = 120.0
_CALM_WITHIN_S: Final = 60.0
_CALM_CORES: Final = 0.05

Figures = Mapping[str, float]


def measure_backlog(assets: Path, contender: Contender, world: World) -> Figures:
    """Create a world with pods, start the scheduler, and return what binding all of them cost.

    CPU is counted until the scheduler is calm after the last bind, because Events may be written
    later than binds.
    """
    with fresh_cluster(assets) as cluster:
        asyncio.run(furnish(cluster, world))
        asyncio.run(create_backlog(cluster, world, contender.scheduler_name))
        kubeconfig = cluster.kubeconfig("admin")
        with Observer(kubeconfig, contender.scheduler_name) as observer:
            processes = processes_of(cluster) | {"observer": observer.pid, "bench": os.getpid()}
            before = read_cost(time.monotonic(), processes)
            with contender.started(cluster) as scheduler:
                processes["scheduler"] = scheduler.pid
                within_s = _START_WITHIN_S + world.pods / _SLOWEST_PODS_PER_S
                observer.wait_for(world.pods, within_s, scheduler.check)
                last = read_cost(time.monotonic(), processes)
                _wait_until_calm(scheduler)
                after = read_cost(time.monotonic(), processes)
                peak_mib = memory_mib(scheduler.pid, peak=True)
        events = asyncio.run(_count_events(kubeconfig))
    bound_s = [at_s - before.at_s for at_s in observer.bound_s.values()]
    return {
        PODS_PER_S: (len(bound_s) - 1) / (max(bound_s) - min(bound_s)),
        FIRST_BIND_S: min(bound_s),
        LAST_BIND_S: max(bound_s),
        **_cpu_per_pod(before, after, world.pods),
        PEAK_MIB: peak_mib,
        EVENTS_PER_POD: events / world.pods,
        OTHERS_CORES: last.others_cores(before),
    }


def _cpu_per_pod(before: Cost, after: Cost, pods: int) -> Figures:
    titles = {
        "scheduler": SCHEDULER_CPU_MS,
        "kube-apiserver": API_SERVER_CPU_MS,
        "etcd": ETCD_CPU_MS,
    }
    return {title: 1000 * after.since(before, name) / pods for name, title in titles.items()}


def _wait_until_calm(scheduler: RunningScheduler) -> None:
    """Return once the scheduler does hardly anything for a second."""
    until_s = time.monotonic() + _CALM_WITHIN_S
    while time.monotonic() < until_s:
        used_s = cpu_s(scheduler.pid)
        time.sleep(1)
        if cpu_s(scheduler.pid) - used_s <= _CALM_CORES:
            return


async def _count_events(kubeconfig: Path) -> int:
    async with opened_session(kubeconfig) as session:
        return await count_of(session, EVENTS)
