"""A lane between a scripted session and a list of what it reports."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fairlead.cluster.kubernetes.acting.acts import Act, Bind, Evict, Look, Outcome, PodName
from fairlead.cluster.kubernetes.acting.lane import Lane, Permission
from fairlead.cluster.kubernetes.watching.facts import Gone, Seen
from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement
from fairlead.model.execution.executor import Order
from fairlead.model.plan import Evict as EvictDecision
from fairlead.model.plan import Reason, Start
from fairlead.model.workload import PodId
from tests.cluster.kubernetes.acting.scripted_session import ScriptedSession

WHY = Reason(code="Test")
RANDOM = 0.5


class LedLane:
    """A lane, what it may do, and what it said."""

    def __init__(self, scripted: ScriptedSession, width: int) -> None:
        self.hindrance = ""
        self.refused_nodes: set[str] = set()
        self.reports: list[Outcome | Seen | Gone] = []
        permission = Permission(
            hindrance=lambda: self.hindrance,
            may_bind=lambda act: act.node not in self.refused_nodes,
            term=lambda: "me/1",
        )
        self.lane = Lane(
            "binds",
            scripted.session,
            permission,
            width=width,
            report=self.reports.append,
            random=lambda: RANDOM,
        )

    def submit(self, *batches: Sequence[Act]) -> None:
        """Give acts to the lane."""
        self.lane.submit(batches)

    def said(self) -> list[str]:
        """Return what was reported, such as ``done p``, each with the name of its pod."""
        return [_words(each) for each in self.reports]


@asynccontextmanager
async def running(scripted: ScriptedSession, *, width: int = 4) -> AsyncIterator[LedLane]:
    """Give a lane that runs until the end of the block."""
    led = LedLane(scripted, width)
    task = asyncio.create_task(led.lane.run())
    try:
        yield led
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def settled() -> None:
    """Let everything happen that needs no time."""
    for _ in range(20):
        await asyncio.sleep(0)


async def idle(led: LedLane) -> None:
    """Wait until the lane has nothing to do, whatever pauses it makes."""
    while not led.lane.is_idle():
        await asyncio.sleep(0.01)


def bind(name: str, node: str = "n1") -> Bind:
    """Return the order to bind a pod of its own workload."""
    pod = PodId(f"uid-{name}")
    start = Start(
        workload=WorkloadName(f"lab/{name}"),
        placements=(Placement(pod, node),),
        charged=(),
        reason=WHY,
    )
    order = Order(number=1, verb="bind", decision=start, placements=start.placements, until_ms=0)
    return Bind(order=order, pod=pod, target=PodName("lab", name, pod), node=node)


def evict(name: str, version: str = "7") -> Evict:
    """Return the order to evict a pod of its own workload."""
    pod = PodId(f"uid-{name}")
    workload = WorkloadName(f"lab/{name}")
    decision = EvictDecision(workload=workload, pods=(pod,), beneficiary=None, reason=WHY)
    placements = (Placement(pod, "n1"),)
    order = Order(number=1, verb="evict", decision=decision, placements=placements, until_ms=0)
    target = PodName("lab", name, pod)
    return Evict(order=order, pod=pod, target=target, resource_version=version)


def look(name: str) -> Look:
    """Return the order to see what became of a bind."""
    act = bind(name)
    return Look(order=act.order, pod=act.pod, target=act.target)


def _words(report: Outcome | Seen | Gone) -> str:
    if isinstance(report, Outcome):
        return f"{report.result} {report.act.target.name}"
    word = "seen" if isinstance(report, Seen) else "gone"
    metadata = report.object["metadata"]
    assert isinstance(metadata, dict)
    return f"{word} {metadata['name']}"
