"""Acts about pods that exist, as an engine gives them to a lane, carried out by a real lane."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from fairlead.cluster.kubernetes.acting.acts import Act, Bind, Evict, Outcome, PodName
from fairlead.cluster.kubernetes.acting.lane import Lane, Permission
from fairlead.cluster.kubernetes.watching.facts import Gone, Seen
from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement
from fairlead.model.execution.executor import Order
from fairlead.model.plan import Evict as EvictDecision
from fairlead.model.plan import Reason, Start
from fairlead.model.workload import PodId
from tests.live.api import Object
from tests.live.open_session import open_session
from tests.live.waiting import eventually
from tools.k8s.cluster import Cluster

WHY = Reason(code="Test")
TERM = "replica-1/7"


def pod_name(pod: Object, uid: str = "") -> PodName:
    metadata = pod["metadata"]
    return PodName(metadata["namespace"], metadata["name"], uid or metadata["uid"])


def bind(pod: Object, node: str, *, uid: str = "") -> Bind:
    """Return the act that binds a pod; *uid*: it is meant for another pod of that name."""
    target = pod_name(pod, uid)
    identity = PodId(target.uid)
    decision = Start(
        workload=WorkloadName(str(target)),
        placements=(Placement(identity, node),),
        charged=(),
        reason=WHY,
    )
    placements = decision.placements
    order = Order(number=1, verb="bind", decision=decision, placements=placements, until_ms=0)
    return Bind(order=order, pod=identity, target=target, node=node)


def evict(pod: Object, *, uid: str = "") -> Evict:
    """Return the act that evicts a pod in the version in which it is given."""
    target = pod_name(pod, uid)
    identity = PodId(target.uid)
    decision = EvictDecision(
        workload=WorkloadName(str(target)), pods=(identity,), beneficiary=None, reason=WHY
    )
    placements = (Placement(identity, pod["spec"].get("nodeName")),)
    order = Order(number=1, verb="evict", decision=decision, placements=placements, until_ms=0)
    version = pod["metadata"]["resourceVersion"]
    return Evict(order=order, pod=identity, target=target, resource_version=version)


def carry_out(
    cluster: Cluster,
    acts: Iterable[Act],
    *,
    deadline_s: float = 20.0,
    meanwhile: Callable[[], Awaitable[None]] | None = None,
) -> list[Outcome]:
    """Return the outcomes of acts, in their order, once the lane is idle."""
    reports: list[Outcome | Seen | Gone] = []

    async def story() -> None:
        async with open_session(cluster, deadline_s=deadline_s) as session:
            permission = Permission(
                hindrance=lambda: "", may_bind=lambda _: True, term=lambda: TERM
            )
            lane = Lane(
                "acts",
                session,
                permission,
                width=8,
                report=reports.append,
                random=lambda: 0.5,
            )
            lane.submit([(each,) for each in given])
            running = asyncio.create_task(lane.run())
            try:
                if meanwhile is not None:
                    await meanwhile()
                await eventually("the lane is idle", lane.is_idle, within_s=30)
            finally:
                running.cancel()

    given = list(acts)
    asyncio.run(story())
    outcomes = [each for each in reports if isinstance(each, Outcome)]
    by_act = {id(each.act): each for each in outcomes}
    assert len(by_act) == len(outcomes) == len(given), "each act has exactly one outcome"
    return [by_act[id(each)] for each in given]
