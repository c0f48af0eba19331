"""One run: a world comes to its end under a scheduler whose writes go through the proxy.

In each run the namespaces and nodes have other names, so that runs share an API server one after
the other. A run returns what was wrong in it, and never stops the campaign.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.live.api import Object
from tests.live.fairlead_process import FairleadProcess
from tests.live.faults import worlds
from tests.live.faults.admin import Admin, RefusedError, admin_of
from tests.live.faults.amounts import has_room, requests
from tests.live.faults.fault import Fault
from tests.live.faults.history import BUDGETS, GANGS, NODES, PODS, QUOTAS, Picture
from tests.live.faults.judge import outcome, violations, wrong_status
from tests.live.faults.observer import Observer, watching
from tests.live.faults.proxy import Proxy, proxied
from tests.live.faults.worlds import Step, World
from tests.live.faults.writes import Write, named_for_run
from tools.k8s.cluster import Cluster, token

STEP_WITHIN_S: Final = 40.0  # a lease of a killed leader ends after 15 s, a pause after 409 sooner
_CALM_S: Final = 0.4
_SETTLES_WITHIN_S: Final = 15.0
_LOG_END: Final = 3_000
_NAMESPACES: Final = "/api/v1/namespaces"
_PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
_USED: Final = re.compile(
    r'^elastic_quota_status\{field="used",.*namespace="(?P<namespace>[^"]+)",resource="cpu"\} '
    r"(?P<used>[\d.e+]+)$",
    re.MULTILINE,
)
_UNFINISHED: Final = re.compile(r"^fairlead_acts_unfinished\{.*\} (?P<acts>[\d.]+)$", re.MULTILINE)


class Plan(msgspec.Struct, frozen=True):
    """What is to be run."""

    world: World
    number: int
    fault: Fault | None = None
    arguments: tuple[str, ...] = ("--no-leader-elect",)


class Result(msgspec.Struct, frozen=True):
    """What came of a run."""

    problems: list[str]
    writes: list[Write]
    is_delivered: bool


class Stage:
    """Where the steps of one run are played."""

    def __init__(self, plan: Plan, admin: Admin, observer: Observer) -> None:
        """Nothing is created yet."""
        self.plan = plan
        self.admin = admin
        self.observer = observer

    async def prepare(self) -> None:
        """Create what is there before the first step."""
        world, run = self.plan.world, self.plan.number
        for namespace in (*world.quotas, worlds.OTHERS):
            body = {"metadata": {"name": named_for_run(namespace, run)}}
            await self.admin.create(_NAMESPACES, body)
        for priority in worlds.priorities(world):
            try:
                await self.admin.create(_PRIORITY_CLASSES, worlds.priority_class(priority))
            except RefusedError as refused:
                if refused.code != HTTPStatus.CONFLICT:
                    raise
        await self._create(NODES, worlds.nodes(world, run))
        await self._create(QUOTAS, worlds.quotas(world, run))
        await self._create(PODS, worlds.foreign_pods(run))

    async def begin(self, step: Step) -> None:
        """Create what comes with a step."""
        run = self.plan.number
        await self._create(BUDGETS, worlds.budgets(step, run))
        await self._create(GANGS, worlds.gangs(step, run))
        await self._create(PODS, worlds.pods(step, run))

    async def end(self, step: Step) -> list[str]:
        """Wait for the outcome of a step; returns what is wrong if it does not come."""

        def is_reached(now: Picture) -> bool:
            return outcome(now) == step.outcome and _are_budgets_known(now)

        if await self.observer.until(is_reached, STEP_WITHIN_S):
            return []
        found = outcome(self.observer.now)
        missing, surplus = dict(step.outcome - found), dict(found - step.outcome)
        return [f"after {step.name!r}: missing {missing}, surplus {surplus}"]

    async def clear(self) -> None:
        """Delete what would disturb the next run; empty namespaces do not."""
        run = self.plan.number
        for namespace in (*self.plan.world.quotas, worlds.OTHERS):
            own = named_for_run(namespace, run)
            for kind in (QUOTAS, GANGS, BUDGETS, PODS):
                await self.admin.delete_all(_within(kind, own))
        await self.admin.delete_all(NODES)

    async def _create(self, kind: str, objects: list[Object]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for each in objects:
                path = _within(kind, each["metadata"].get("namespace", ""))
                tasks.create_task(self.admin.create(path, each))


async def perform(cluster: Cluster, plan: Plan, folder: Path, user: str = "fairlead") -> Result:
    """Run a plan through a proxy, with its fault if it has one."""
    async with (
        proxied(cluster.url, cluster.certificate, plan.fault) as proxy,
        admin_of(cluster.url, cluster.certificate, token("admin")) as admin,
        watching(admin) as observer,
    ):
        stage = Stage(plan, admin, observer)
        try:
            kubeconfig = _kubeconfig(cluster, user, proxy.url, folder)
            problems = await _play(stage, proxy, kubeconfig, folder)
            await observer.check_complete()
            problems += violations(observer.history)
            if observer.history.gaps:
                problems.append(f"the observer has {observer.history.gaps} gaps")
        finally:
            await stage.clear()
        return Result(problems, proxy.journal.writes, proxy.is_delivered)


async def _play(stage: Stage, proxy: Proxy, kubeconfig: Path, folder: Path) -> list[str]:
    """Play all steps, and wait until all that is to be written is written."""
    plan = stage.plan
    await stage.prepare()
    first, *others = plan.world.steps
    await stage.begin(first)
    async with _running(plan, kubeconfig, folder) as (process, problems):

        async def kill() -> None:
            process.kill()
            process.start_again()

        proxy.kill = kill
        problems += await stage.end(first)
        for step in others:
            if problems:
                break
            await stage.begin(step)
            problems += await stage.end(step)
        if not problems:
            problems += await _settled(stage, process, proxy)
    return problems


@asynccontextmanager
async def _running(
    plan: Plan, kubeconfig: Path, folder: Path
) -> AsyncIterator[tuple[FairleadProcess, list[str]]]:
    """Run the scheduler for the block; what is wrong when it ends is added to the problems."""
    problems: list[str] = []
    process = FairleadProcess(
        f"run-{plan.number}",
        folder,
        kubeconfig,
        "--policy=elastic-quota",
        *plan.arguments,
        module="tests.live.faults.checked",
    )
    try:
        yield process, problems
        await asyncio.to_thread(process.stop)
    except (AssertionError, pytest.fail.Exception) as failure:
        problems.append(str(failure))
    finally:
        if process.exit_code is None:
            process.kill()
        if problems:
            problems.append(f"the log ends: {process.text()[-_LOG_END:]}")


async def _settled(stage: Stage, process: FairleadProcess, proxy: Proxy) -> list[str]:
    """Wait until the fault is delivered, all is told, and nothing changes any more."""
    clock = asyncio.get_running_loop()
    until_s = clock.time() + _SETTLES_WITHIN_S
    while True:
        await _calm(stage.observer, proxy)
        wrong = await stage.end(stage.plan.world.steps[-1])
        wrong = wrong or wrong_status(stage.observer.now)
        wrong = wrong or await asyncio.to_thread(_differing_metrics, process, stage.observer.now)
        is_awaited = stage.plan.fault is not None and not proxy.is_delivered
        if not (wrong or is_awaited) or clock.time() > until_s:
            return wrong
        await asyncio.sleep(_CALM_S)


async def _calm(observer: Observer, proxy: Proxy) -> None:
    """Wait until for a while nothing has changed and nothing was written."""
    seen = (-1, -1)
    while seen != (now := (len(observer.history.facts), len(proxy.journal.writes))):
        seen = now
        await asyncio.sleep(_CALM_S)


def _differing_metrics(process: FairleadProcess, now: Picture) -> list[str]:
    """Compare what the scheduler believes with what the API server has."""
    code, text = process.get("/metrics")
    if code != HTTPStatus.OK:
        return [f"/metrics answers {code}: {text}"]
    believed = {each["namespace"]: float(each["used"]) for each in _USED.finditer(text)}
    used = {each["metadata"]["namespace"]: 0.0 for each in now.of(QUOTAS)}
    for pod in now.of(PODS):
        namespace = pod["metadata"]["namespace"]
        if has_room(pod) and namespace in used:
            used[namespace] += requests(pod)["cpu"]
    wrong = [] if believed == used else [f"/metrics has {believed} in use, pods ask for {used}"]
    if any(float(each["acts"]) for each in _UNFINISHED.finditer(text)):
        wrong.append("acts are unfinished, as /metrics has it")
    return wrong


def _are_budgets_known(now: Picture) -> bool:
    """Return whether the controller has looked at each budget with its pods running."""
    return all(
        each.get("status", {}).get("currentHealthy", 0) >= each["spec"]["minAvailable"]
        for each in now.of(BUDGETS)
    )


def _within(kind: str, namespace: str) -> str:
    """Return the path of a kind in one namespace; "": it has none."""
    if not namespace:
        return kind
    group_version, _, plural = kind.rpartition("/")
    return f"{group_version}/namespaces/{namespace}/{plural}"


def _kubeconfig(cluster: Cluster, user: str, url: str, folder: Path) -> Path:
    """Return a kubeconfig of *user* by way of the proxy."""
    file = folder / f"{user}-by-proxy.kubeconfig"
    file.write_text(cluster.kubeconfig(user).read_text().replace(cluster.url, url))
    return file
