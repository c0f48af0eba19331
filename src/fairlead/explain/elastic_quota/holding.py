"""What a workload holds under ElasticQuotas, and which namespaces could reclaim it."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from fairlead.explain.elastic_quota.turn import ElasticJobView
from fairlead.explain.text.amounts import AxisNumbers, amount_text, by_interest
from fairlead.explain.text.explanation import Section
from fairlead.explain.text.names import first_few
from fairlead.model.axes import Axis, QueueName
from fairlead.model.quantity import format_amount
from fairlead.policy.elastic_quota.api import PlanningContext, keeps_min
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings

Protection: TypeAlias = Literal["none", "others first", "never asked"]


class Claimant(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace that uses less than its min, and how much less."""

    queue: QueueName
    below: tuple[tuple[Axis, int], ...]


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """How a workload that has places stands; without a quota there are no lines."""

    queue: QueueName | None
    lines: tuple[AxisNumbers, ...]  # held by it; used by its namespace, with its min
    is_over_min: bool
    keeps_min: bool  # whether its namespace keeps its min without any one of its pods
    protection: Protection  # what follows if it does not
    claimants: tuple[Claimant, ...]  # none where its namespace is within its min


def elastic_holding(view: ElasticJobView) -> Holding | None:
    """Return what a workload holds as the plan finds it; None if it has no place."""
    run = view.state.runs.get(view.workload.name)
    pods = [pod for pod, placed in run.pods.items() if placed.is_running()] if run else []
    if not pods:
        return None
    context = PlanningContext(view.state, view.settings, view.now_ms)
    set_index = view.workload.pod_sets.set_index
    charges = [context.charges.of(view.workload, set_index[pod]).amounts for pod in pods]
    queue = view.workload.queue
    if queue not in view.state.queues:
        return Holding(
            queue=None,
            lines=(),
            is_over_min=False,
            keeps_min=True,
            protection="none",
            claimants=(),
        )
    use = context.quotas.after_termination if context.expects_termination else context.quotas.now
    used, least = use.used[queue], context.quotas.guaranteed[queue]
    held = [sum(amounts) for amounts in zip(*charges, strict=True)]
    axes = view.state.axes.axes
    is_over = use.is_over_min[queue]
    return Holding(
        queue=queue,
        lines=tuple(
            AxisNumbers(axis, {"held": held[at], "used": used[at], "min": least[at]})
            for axis, at in ((axis, axes.index(axis)) for axis in by_interest(axes))
            if held[at]
        ),
        is_over_min=is_over,
        keeps_min=all(keeps_min(used, charge, least) for charge in charges),
        protection=_protection(view.settings),
        claimants=tuple(_claimants(context, queue)) if is_over else (),
    )


def _protection(settings: ElasticQuotaSettings) -> Protection:
    if settings.quirks.below_min:
        return "none"
    return "never asked" if settings.protect_min else "others first"


def _claimants(context: PlanningContext, own: QueueName) -> list[Claimant]:
    """Return the other namespaces below their min; one over it in anything may reclaim nothing."""
    use = context.quotas.after_termination if context.expects_termination else context.quotas.now
    axes = context.state.axes.axes
    found = []
    for queue in sorted(use.used):
        pairs = zip(axes, use.used[queue], context.quotas.guaranteed[queue], strict=True)
        below = {axis: least - used for axis, used, least in pairs if used < least}
        if queue != own and below and not use.is_over_min[queue]:
            ordered = tuple((axis, below[axis]) for axis in by_interest(below))
            found.append(Claimant(queue=queue, below=ordered))
    return found


def holding_section(holding: Holding) -> Section:
    """Return what it holds and which namespaces could reclaim it, in words and numbers."""
    title = "What it uses, and whether other namespaces may reclaim it"
    if holding.queue is None:
        preemptors = "only a pod of higher priority without a quota may preempt it"
        remark = f"Its namespace has no quota: {preemptors}."
        return Section(title=title, remarks=(remark,))
    head = ("RESOURCE", "IT USES", "ITS NAMESPACE USES", "MIN", "BORROWED")
    rows = [
        (str(line.axis), *line.texts(), amount_text(line.axis, _borrowed(line)))
        for line in holding.lines
    ]
    return Section(title=title, table=(head, *rows), remarks=tuple(_remarks(holding)))


def _borrowed(line: AxisNumbers) -> int:
    return max(0, (line.amounts["used"] or 0) - (line.amounts["min"] or 0))


def _remarks(holding: Holding) -> list[str]:
    queue = holding.queue
    if not holding.is_over_min:
        others = "no other namespace may reclaim this"
        own = f"only a pod of higher priority in {queue} may preempt it"
        return [f"{queue} is within its min: {others}, {own}."]
    if holding.claimants:
        names = first_few([_claimant_text(each) for each in holding.claimants])
        remarks = [f"{queue} is over its min: namespaces below their min may reclaim: {names}."]
    else:
        remarks = [f"{queue} is over its min, but no other namespace is below its min."]
    if not holding.keeps_min and holding.protection != "none":
        is_barred = holding.protection == "never asked"
        then = "so it may not be preempted" if is_barred else "so other pods are preempted first"
        remarks.append(f"Without it {queue} would fall below its min, {then}.")
    return remarks


def _claimant_text(claimant: Claimant) -> str:
    axis, amount = claimant.below[0]
    return f"{claimant.queue} ({amount_text(axis, amount)} of {axis} below)"


def holding_document(holding: Holding) -> dict[str, object]:
    """Return the same as programs read it."""
    return {
        "quota": holding.queue,
        "overMin": holding.is_over_min,
        "keepsMin": holding.keeps_min,
        "protection": holding.protection,
        "resources": [line.document() for line in holding.lines],
        "claimants": [
            {"queue": each.queue, "below": _amounts(each.below)} for each in holding.claimants
        ],
    }


def _amounts(below: Sequence[tuple[Axis, int]]) -> dict[str, str]:
    return {str(axis): format_amount(axis.resource, amount) for axis, amount in below}
