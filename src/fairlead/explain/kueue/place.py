"""The position of a workload in its ClusterQueue and LocalQueue, and what is before it."""

from typing import Final

import msgspec

from fairlead.explain.jobs.answer import why_older_or_higher
from fairlead.explain.kueue.job_view import KueueJobView
from fairlead.explain.kueue.pending import PendingWorkload, pending_workloads
from fairlead.explain.text.amounts import number_text
from fairlead.explain.text.explanation import Section
from fairlead.model.axes import WorkloadName
from fairlead.model.workload import Workload
from fairlead.policy.kueue.api import LocalQueueUsage, is_preempting, local_queue_usage, queued_ms

SHOWN_BEFORE: Final = 10
"""How many of those before it are listed, the nearest ones."""

_STRATEGIES: Final = {
    "BestEffortFIFO": "a workload that cannot be admitted does not block the workloads behind it",
    "StrictFIFO": "a workload that cannot be admitted blocks all workloads behind it",
}


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that stands before this one, what the plan decides about it, and why it does."""

    position: int  # in the ClusterQueue, from 0
    workload: WorkloadName
    decision: str
    why: str


class PlaceInLine(msgspec.Struct, frozen=True, kw_only=True):
    """Places are counted from 0, as Kueue's visibility API does."""

    own: PendingWorkload
    cluster_queue: str
    strategy: str
    waiting: int  # in the ClusterQueue
    waiting_in_local_queue: int
    before: tuple[Before, ...]  # the first in line first


def place_in_line(view: KueueJobView) -> PlaceInLine | None:
    """Return the place of a workload as the plan found it; None if it is in no line."""
    rules = view.rules()
    if rules is None:
        return None
    queue = view.workload.queue
    line = pending_workloads(view.state, view.settings, queue, view.now_ms)
    own = next((each for each in line if each.workload == view.workload.name), None)
    if own is None:
        return None
    decided = {each.workload: type(each).__name__.lower() for each in view.plan.decisions}
    uses = local_queue_usage(view.state, view.settings, view.now_ms)
    counted = uses if uses is not None and uses.orders_by_usage(queue) else None
    before = [
        Before(
            position=each.position_in_cluster_queue,
            workload=each.workload,
            decision=decided.get(each.workload, ""),
            why=_why(view, view.state.workloads[each.workload], counted),
        )
        for each in line[: own.position_in_cluster_queue]
    ]
    return PlaceInLine(
        own=own,
        cluster_queue=queue,
        strategy=rules.queueing_strategy,
        waiting=len(line),
        waiting_in_local_queue=sum(each.local_queue == own.local_queue for each in line),
        before=tuple(before),
    )


def place_section(place: PlaceInLine) -> Section:
    """Return the place in words, counted from 1, with the nearest of those before it."""
    own, shown = place.own, place.before[-SHOWN_BEFORE:]
    left_out = len(place.before) - len(shown)
    remarks = [f"{left_out} earlier workloads are left out."] if left_out else []
    remarks.append(f"{place.strategy}: {_STRATEGIES[place.strategy]}.")
    if any(each.decision == "reserve" for each in place.before):
        remarks.append("A workload with preempted victims stays the head until it has its quota.")
    rows = [(str(each.position + 1), each.workload, each.decision, each.why) for each in shown]
    table = (("PLACE", "WORKLOAD", "DECISION", "COMES FIRST BECAUSE"), *rows) if rows else ()
    return Section(
        title=(
            f"Its position: {own.position_in_cluster_queue + 1} of {place.waiting} in "
            f"{place.cluster_queue}, {own.position_in_local_queue + 1} of "
            f"{place.waiting_in_local_queue} in {own.local_queue}"
        ),
        table=table,
        words=4,
        remarks=tuple(remarks),
    )


def place_document(place: PlaceInLine) -> dict[str, object]:
    """Return the place as programs read it."""
    return {
        "clusterQueue": place.cluster_queue,
        "queueingStrategy": place.strategy,
        "positionInClusterQueue": place.own.position_in_cluster_queue,
        "positionInLocalQueue": place.own.position_in_local_queue,
        "pendingInClusterQueue": place.waiting,
        "pendingInLocalQueue": place.waiting_in_local_queue,
        "before": list(place.before),
    }


def _why(view: KueueJobView, first: Workload, uses: LocalQueueUsage | None) -> str:
    """Return which rule of the order puts *first* before the workload that is looked at.

    *uses* are those of LocalQueues if they order its queue.
    """
    other, settings = view.workload, view.settings
    if is_preempting(view.state, first.name) and not is_preempting(view.state, other.name):
        return "its victims are already preempted"
    if uses is not None and uses.rank(first.name) != uses.rank(other.name):
        used = f"{_use_text(uses, first)} against {_use_text(uses, other)}"
        return f"{uses.local_queue(first.name)} has used less recently: {used}"
    return why_older_or_higher(
        (first.priority, queued_ms(first, settings)), (other.priority, queued_ms(other, settings))
    )


def _use_text(uses: LocalQueueUsage, workload: Workload) -> str:
    has_no_weight, used = uses.rank(workload.name)
    return number_text(None if has_no_weight else used)
