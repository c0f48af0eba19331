"""How each flavor was judged for each resource that a workload asks for."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from fairlead.explain.kueue.job_view import KueueJobView
from fairlead.explain.text.amounts import AxisNumbers, amounts_document
from fairlead.explain.text.explanation import Section
from fairlead.policy.kueue.api import (
    AssignmentMode,
    DemandReader,
    FlavorTrial,
    Nominator,
    demand_by_group,
    flavor_mismatch_text,
)

_AFTER_OTHERS: Final = "fits after preemption"


class FlavorLine(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of a pod set on one flavor."""

    pod_set: str
    judged: str
    is_taken: bool
    numbers: AxisNumbers  # asks: of all its pods, with what earlier pod sets took

    def lacks_quota(self) -> bool:
        """Return whether less is available than it asks for."""
        return (self.numbers.amounts["asks"] or 0) > (self.numbers.amounts["available"] or 0)


def flavors_tried(view: KueueJobView) -> list[FlavorLine]:
    """Return every flavor of its queue in the order of trying; none if it sought no quota."""
    if view.seeks is None:
        return []
    nominator = Nominator(view.snapshot, view.state.axes, view.settings)
    trials = {
        (trial.pod_set, trial.flavor, trial.resource): trial
        for trial in nominator.try_flavors(view.waiting)
    }
    return list(_lines(view, trials))


def flavor_section(view: KueueJobView, tried: list[FlavorLine]) -> Section:
    """Return the flavors as a table."""
    count, total = sum(view.waiting.counts()), view.workload.pod_count()
    pods = "its pod" if total == 1 else f"its {total} pods"
    rows = [
        (
            line.pod_set,
            line.numbers.axis.resource,
            line.numbers.axis.flavor or "",
            f"{line.judged}; taken" if line.is_taken else line.judged,
            *line.numbers.texts(),
        )
        for line in tried
    ]
    head = ("POD SET", "RESOURCE", "FLAVOR", "JUDGED", "ASKS", "AVAILABLE", "POTENTIAL")
    return Section(
        title=f"Flavors, for {pods if count == total else f'{count} of {pods}'}",
        table=(head, *rows),
        words=4,
        remarks=("Potential: the most that its queue could ever have.",),
    )


def flavor_documents(tried: list[FlavorLine]) -> list[dict[str, object]]:
    """Return the flavors as programs read them."""
    return [
        {
            "podSet": line.pod_set,
            "resource": line.numbers.axis.resource,
            "flavor": line.numbers.axis.flavor,
            "judged": line.judged,
            "taken": line.is_taken,
            **amounts_document(line.numbers.axis, line.numbers.amounts),
        }
        for line in tried
    ]


def _lines(
    view: KueueJobView, trials: dict[tuple[int, str, str], FlavorTrial]
) -> Iterator[FlavorLine]:
    rules = view.rules()
    assert rules is not None, "a workload that seeks quota has a queue"
    for at, demand in enumerate(view.waiting.demands):
        for group, wanted in demand_by_group(rules.resource_groups, demand):
            against = _against(view, at, group)
            for flavor in rules.resource_groups[group].flavors:
                for resource, amount in wanted.items():
                    trial = trials.get((at, flavor, resource))
                    if trial is None:
                        asked = _Asked(at, resource, flavor, amount)
                        yield _line(view, asked, against.get(flavor, "not tried"))
                    else:
                        asked = _Asked(at, resource, flavor, trial.amount)
                        yield _line(view, asked, _judged(trial))


class _Asked(NamedTuple):
    """How much a pod set asks for of which axis."""

    pod_set: int
    resource: str
    flavor: str
    amount: int


def _line(view: KueueJobView, asked: _Asked, judged: str) -> FlavorLine:
    tree, queue, chosen = view.snapshot.tree, view.workload.queue, view.chosen_flavors()
    number = view.state.axes.index(asked.resource, asked.flavor)
    assert number is not None, f"{asked.flavor}/{asked.resource} is no axis"
    is_taken = bool(chosen) and chosen[asked.pod_set].get(asked.resource) == asked.flavor
    available = tree.available_on(queue, number)
    if is_taken and asked.amount > available:
        judged = _AFTER_OTHERS  # as the plan found; at its end there may be no candidates left
    return FlavorLine(
        pod_set=view.workload.pod_sets[asked.pod_set].name,
        judged=judged,
        is_taken=is_taken,
        numbers=AxisNumbers(
            view.state.axes.axes[number],
            {
                "asks": asked.amount,
                "available": available,
                "potential": tree.potential_on(queue, number),
            },
        ),
    )


def _against(view: KueueJobView, pod_set: int, group: int) -> dict[str, str]:
    """Return what speaks against flavors on whose nodes the pods cannot run."""
    rules = view.rules()
    assert rules is not None, "a workload that seeks quota has a queue"
    eligibility = DemandReader(view.state, view.settings).eligibility(view.workload, rules)
    if eligibility is None:
        return {}
    return {
        each.flavor: f"not eligible: {flavor_mismatch_text(each)}"
        for each in eligibility[pod_set][group].mismatches
    }


def _judged(trial: FlavorTrial) -> str:
    match trial.fit.mode:
        case AssignmentMode.FIT:
            return "fits by borrowing" if trial.fit.borrow else "fits"
        case AssignmentMode.PREEMPT | AssignmentMode.RECLAIM:
            return _AFTER_OTHERS
        case AssignmentMode.NO_CANDIDATES:
            return "too little quota, and no candidates"
        case AssignmentMode.NO_FIT if trial.amount > trial.potential:
            return "more than its queue could ever have"
        case AssignmentMode.NO_FIT:
            return "too little quota, and no preemption while borrowing"
