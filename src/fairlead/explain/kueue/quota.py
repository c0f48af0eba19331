"""The quota that a workload holds, and what its queue and the cohorts above still allow."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from fairlead.explain.kueue.flavors import FlavorLine
from fairlead.explain.kueue.job_view import KueueJobView
from fairlead.explain.plan.pods import Places, counted
from fairlead.explain.plan.reason_document import held_document
from fairlead.explain.text.amounts import AxisNumbers, amounts_document, by_interest
from fairlead.explain.text.explanation import Section
from fairlead.explain.text.reasons import held_texts
from fairlead.model.axes import Axis, QueueName, WorkloadName
from fairlead.model.duration import moment_text
from fairlead.model.events import Placement
from fairlead.model.plan import Held
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import EXCEEDS_MAX_QUOTA, KueueShares


class QuotaHeld(msgspec.Struct, frozen=True, kw_only=True):
    """As the plan found it."""

    queue: QueueName
    since_ms: int
    flavors: str  # ``a100 x6``
    pod_sets: tuple[tuple[str, int, dict[str, str]], ...]  # name, pods that have quota, flavors
    axes: tuple[AxisNumbers, ...]  # used by it, and of its queue; none where that is not there


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
    borrowed = [str(each.axis) for each in held.axes if each.amounts["borrowed"]]
    remark = f"{held.queue} borrows of {', '.join(borrowed)}."
    rows = [(str(each.axis), *each.texts()) for each in held.axes]
    since = moment_text(held.since_ms)
    return Section(
        title=f"It holds quota since {since}, of {held.flavors or 'no flavor'}",
        table=(("RESOURCE", "IT USES", "ITS QUEUE USES", "QUOTA", "BORROWED"), *rows)
        if rows
        else (),
        remarks=(remark if borrowed else f"{held.queue} does not borrow.",),
    )


def quota_document(held: QuotaHeld) -> dict[str, object]:
    """Return what it holds as programs read it."""
    return {
        "since": moment_text(held.since_ms),
        "podSets": [
            {"name": name, "count": count, "flavors": flavors}
            for name, count, flavors in held.pod_sets
        ],
        "resources": [each.document() for each in held.axes],
    }


def _axes(state: ClusterState, job: WorkloadName) -> list[AxisNumbers]:
    run, queue = state.runs[job], state.workloads[job].queue
    row = next((each for each in KueueShares(state).rows() if each.queue == queue), None)
    if row is None:
        return []
    used = [sum(amounts) for amounts in zip(*map(run.charge, run.pods), strict=True)]
    held = {
        axis: AxisNumbers(
            axis,
            {
                "used": used[at],
                "allocated": row.charged[at],
                "quota": row.subtree[at],
                "borrowed": row.borrowed[at],
            },
        )
        for at, axis in enumerate(state.axes.axes)
        if used[at]
    }
    return [held[axis] for axis in by_interest(held)]


class QuotaPath(msgspec.Struct, frozen=True, kw_only=True):
    """One axis from the queue of a workload upward."""

    axis: Axis
    ends_at: QueueName
    levels: Mapping[QueueName, AxisNumbers]  # quota: its own, and what the queues below lend
    held: tuple[Held, ...]  # by whom, the largest borrowers first


def quota_paths(view: KueueJobView, tried: Sequence[FlavorLine]) -> list[QuotaPath]:
    """Return the axes that decided, the scarcest first; none if it sought no quota.

    Those that are compared in the reason; where others give way, those that lack.
    """
    if view.seeks is None:
        return []
    compared = [each.axis for each in view.seeks.reason.comparisons if each.axis is not None]
    lacking = [line.numbers.axis for line in tried if line.is_taken and line.lacks_quota()]
    return [_path(view, axis) for axis in by_interest([*compared, *lacking])]


def path_section(view: KueueJobView, paths: Sequence[QuotaPath]) -> Section:
    """Return the way up as a table, with the holders of what lacks."""
    head = ("RESOURCE", "QUEUE", "", "QUOTA", "ALLOCATED", "BORROW LIMIT", "AVAILABLE", "POTENTIAL")
    rows = [
        (
            str(path.axis),
            queue,
            "limits it" if queue == path.ends_at else "",
            *level.texts(),
        )
        for path in paths
        for queue, level in path.levels.items()
    ]
    remarks = [
        f"{path.axis} is held by {', '.join(held_texts(path.held))}." for path in paths if path.held
    ]
    if view.counts_promises:
        remarks.append(
            "Allocated includes quota kept for other workloads, as if their victims had left."
        )
    return Section(
        title="Quota of its queue and the cohorts above",
        table=(head, *rows),
        words=3,
        remarks=tuple(remarks),
    )


def path_documents(paths: Sequence[QuotaPath]) -> list[dict[str, object]]:
    """Return the ways up as programs read them."""
    return [
        {
            "resource": str(path.axis),
            "endsAt": path.ends_at,
            "levels": [
                {"queue": queue, **amounts_document(path.axis, level.amounts)}
                for queue, level in path.levels.items()
            ],
            "held": [held_document(each) for each in path.held],
        }
        for path in paths
    ]


def _path(view: KueueJobView, axis: Axis) -> QuotaPath:
    assert view.seeks is not None, "a path is for a workload that sought quota"
    tree, queue = view.snapshot.tree, view.workload.queue
    number = view.state.axes.axes.index(axis)
    is_for_good = view.seeks.reason.code == EXCEEDS_MAX_QUOTA
    end = tree.potential_ends_at if is_for_good else tree.ends_at
    return QuotaPath(
        axis=axis,
        ends_at=QueueName(end(queue, number)),
        levels={
            name: AxisNumbers(
                axis,
                {
                    "quota": tree.subtree_on(name, number),
                    "allocated": tree.charged_on(name, number),
                    "borrowLimit": tree.borrow_limit_on(name, number),
                    "available": tree.available_on(name, number),
                    "potential": tree.potential_on(name, number),
                },
            )
            for name in view.snapshot.path(queue)
        },
        held=tuple(each for each in view.seeks.reason.held if each.axis == axis),
    )
