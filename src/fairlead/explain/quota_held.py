"""The quota that a workload has already: since when, of which flavors, and if its queue borrows."""

from collections import Counter

import msgspec

from fairlead.explain.amount_text import amount_text
from fairlead.explain.axis_order import by_interest
from fairlead.explain.explanation import Section
from fairlead.explain.pod_places import Places, counted
from fairlead.model.axes import Axis, QueueName, WorkloadName
from fairlead.model.events import Placement
from fairlead.model.moment_text import moment_text
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import KueueShares


class HeldAxis(msgspec.Struct, frozen=True, kw_only=True):
    """What the workload uses of an axis, and how its queue stands there."""

    axis: Axis
    amount: int
    allocated: int  # of the whole queue
    quota: int
    borrowed: int


class QuotaHeld(msgspec.Struct, frozen=True, kw_only=True):
    """As the plan found it."""

    queue: QueueName
    since_ms: int
    flavors: str  # ``a100 x6``
    pod_sets: tuple[tuple[str, int, dict[str, str]], ...]  # name, pods that have quota, flavors
    axes: tuple[HeldAxis, ...]  # none where its queue is not there


def quota_held(state: ClusterState, job: WorkloadName) -> QuotaHeld | None:
    """Return what *job* holds; None if it has no quota. Cost: O(nodes x axes)."""
    run, workload = state.runs.get(job), state.workloads[job]
    if run is None:
        return None
    counts = Counter([run.pod_sets.set_index[pod] for pod in run.pods])
    flavors = Places(workload, [Placement(pod, None) for pod in run.pods], run.flavors).spots()
    return QuotaHeld(
        queue=workload.queue,
        since_ms=run.started_ms() or 0,
        flavors=counted(flavors),
        pod_sets=tuple(
            (pod_set.name, counts[at], dict(run.flavors[at]))
            for at, pod_set in enumerate(workload.pod_sets)
        ),
        axes=tuple(_axes(state, job)),
    )


def quota_section(held: QuotaHeld) -> Section:
    """Return what it holds as a table, the scarcest resource first."""
    borrowed = [str(each.axis) for each in held.axes if each.borrowed]
    remark = f"{held.queue} borrows of {', '.join(borrowed)}."
    rows = [
        (str(each.axis), *(amount_text(each.axis, number) for number in _numbers(each)))
        for each in held.axes
    ]
    return Section(
        title=f"It has quota since {moment_text(held.since_ms)}, of {held.flavors or 'no flavor'}",
        table=(("RESOURCE", "IT USES", "ITS QUEUE USES", "QUOTA", "BORROWED"), *rows)
        if rows
        else (),
        remarks=(remark if borrowed else f"{held.queue} borrows none of it.",),
    )


def quota_document(held: QuotaHeld) -> dict[str, object]:
    """Return what it holds as programs read it."""
    names = ("used", "allocated", "quota", "borrowed")
    return {
        "since": moment_text(held.since_ms),
        "podSets": [
            {"name": name, "count": count, "flavors": flavors}
            for name, count, flavors in held.pod_sets
        ],
        "resources": [
            {"resource": str(each.axis)}
            | {
                name: format_amount(each.axis.resource, number)
                for name, number in zip(names, _numbers(each), strict=True)
            }
            for each in held.axes
        ],
    }


def _numbers(held: HeldAxis) -> tuple[int, ...]:
    return held.amount, held.allocated, held.quota, held.borrowed


def _axes(state: ClusterState, job: WorkloadName) -> list[HeldAxis]:
    run, queue = state.runs[job], state.workloads[job].queue
    row = next((each for each in KueueShares(state).rows() if each.queue == queue), None)
    if row is None:
        return []
    used = [sum(amounts) for amounts in zip(*map(run.charge, run.pods), strict=True)]
    held = {
        axis: HeldAxis(
            axis=axis,
            amount=used[at],
            allocated=row.charged[at],
            quota=row.subtree[at],
            borrowed=row.borrowed[at],
        )
        for at, axis in enumerate(state.axes.axes)
        if used[at]
    }
    return [held[axis] for axis in by_interest(held)]
