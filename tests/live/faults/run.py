"""One run: a world comes to its end under a scheduler whose writes go through the proxy.

In each run the namespaces and nodes have other names, so that runs share an API server one after
the other. A run returns what was wrong in it, and never stops the campaign.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from tests.live.api import Object
from tests.live.faults import worlds
from tests.live.faults.admin import Admin, RefusedError, admin_of
from tests.live.faults.amounts import has_room, requests
from tests.live.faults.fault import Fault
from tests.live.faults.history import BUDGETS, GANGS, NODES, PODS, QUOTAS, Picture
from tests.live.faults.judge import outcome, violations, wrong_status
from tests.live.faults.observer import Observer, watching
from tests.live.faults.proxy import Proxy, proxied
from tests.live.faults.replicas import Replicas, running
from tests.live.faults.worlds import Step, World
from tests.live.faults.writes import Write, named_for_run
from tools.k8s.cluster import Cluster, token

STEP_WITHIN_S: Final = 40.0  # a lease of a killed leader ends after 15 s, a pause after 409 sooner
_HIT_WITHIN_S: Final = 5.0  # what is written slowly may come after the outcome
_CALM_S: Final = 0.4
_MOMENT_S: Final = 0.002
_NAMESPACES: Final = "/api/v1/namespaces"
_PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
_USED: Final = re.compile(
    r'^elastic_quota_status\{field="used",.*namespace="(?P<namespace>[^"]+)",resource="cpu"\} '
    r"(?P<used>[\d.e+]+)$",
    re.MULTILINE,
)
_UNFINISHED: Final = re.compile(r"^fairlead_acts_unfinished\{.*\} (?P<acts>[\d.]+)$", re.MULTILINE)


_numbers = count(1)

Disturbance = Callable[[Replicas, Admin], Awaitable[None]]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run."""

    world: World
    number: int = msgspec.field(default_factory=lambda: next(_numbers))  # no other run has it
    fault: Fault | None = None
    disturb: Disturbance | None = None  # while the second step is on its way
    users: tuple[str, ...] = ("fairlead",)  # a process for each
    may_end: bool = False  # a process may end by itself, and is started again
    may_have_gaps: bool = False  # an API server that starts anew lets no watch resume


class Result(msgspec.Struct, frozen=True):
    """What came of a run."""

    problems: list[str]
    writes: list[Write]
    watched: set[Write]  # those during which a watch was open
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


async def perform(cluster: Cluster, plan: Plan, folder: Path) -> Result:
    """Run a plan through a proxy, with its fault or its disturbance if it has one."""
    async with (
        proxied(cluster.url, cluster.certificate, plan.fault) as proxy,
        admin_of(cluster.url, cluster.certificate, token("admin")) as admin,
        watching(admin) as observer,
    ):
        stage = Stage(plan, admin, observer)
        kubeconfigs = [_kubeconfig(cluster, user, proxy.url, folder) for user in plan.users]
        try:
            problems = await _play(stage, proxy, kubeconfigs, folder)
            await observer.check_complete()
            problems += violations(observer.history)
            if observer.history.gaps and not plan.may_have_gaps:
                problems.append(f"the observer has {observer.history.gaps} gaps")
        finally:
            await stage.clear()
        return Result(problems, proxy.journal.writes, proxy.watched, proxy.is_delivered)


async def _play(stage: Stage, proxy: Proxy, kubeconfigs: list[Path], folder: Path) -> list[str]:
    """Play all steps, and wait until all that is to be written is written."""
    plan = stage.plan
    await stage.prepare()
    await stage.begin(plan.world.steps[0])
    async with running(
        f"run-{plan.number}",
        kubeconfigs,
        ["--leader-elect" if plan.world.is_elected else "--no-leader-elect"],
        folder,
        is_supervised=plan.may_end,
    ) as replicas:
        proxy.kill = replicas.kill
        replicas.problems += await _play_steps(stage, replicas, proxy)
        if not replicas.problems:
            replicas.problems += await _settled(stage, replicas, proxy)
    return replicas.problems


async def _play_steps(stage: Stage, replicas: Replicas, proxy: Proxy) -> list[str]:
    """Play the steps, of which the first has begun; in the second one there is the disturbance."""
    first, second, *others = stage.plan.world.steps
    problems = await stage.end(first)
    for step in (second, *others):
        if problems:
            break
        known = len(proxy.journal.writes)
        await stage.begin(step)
        if step is second and stage.plan.disturb is not None:
            async with asyncio.timeout(STEP_WITHIN_S):
                while len(proxy.journal.writes) == known:
                    await asyncio.sleep(_MOMENT_S)
            await stage.plan.disturb(replicas, stage.admin)
        problems = await stage.end(step)
    return problems


async def _settled(stage: Stage, replicas: Replicas, proxy: Proxy) -> list[str]:
    """Wait until the fault is delivered, all is told, and nothing changes any more."""
    clock = asyncio.get_running_loop()
    began_s = clock.time()
    while True:
        await _calm(stage.observer, proxy)
        wrong = await stage.end(stage.plan.world.steps[-1])
        wrong = wrong or wrong_status(stage.observer.now)
        wrong = wrong or _differing_metrics(await replicas.metrics(), stage.observer.now)
        if not wrong and (stage.plan.fault is None or proxy.is_delivered):
            return []
        is_missed = not wrong and not proxy.is_met
        within_s = _HIT_WITHIN_S if is_missed else STEP_WITHIN_S
        if clock.time() >= began_s + within_s:
            return wrong
        await asyncio.sleep(_CALM_S)


async def _calm(observer: Observer, proxy: Proxy) -> None:
    """Wait until for a while nothing has changed and nothing was written."""
    seen = (-1, -1)
    while seen != (now := (len(observer.history.facts), len(proxy.journal.writes))):
        seen = now
        await asyncio.sleep(_CALM_S)


def _differing_metrics(text: str, now: Picture) -> list[str]:
    """Compare what the scheduler believes with what the API server has."""
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
