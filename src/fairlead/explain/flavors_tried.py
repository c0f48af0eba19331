"""How each flavor was judged for each resource that a workload asks for."""

from collections.abc import Iterator

import msgspec

from fairlead.explain.amount_text import amount_text
from fairlead.explain.explanation import Section
from fairlead.explain.kueue_job_view import KueueJobView
from fairlead.model.axes import Axis
from fairlead.model.quantity import format_amount
from fairlead.policy.kueue.demands import DemandReader
from fairlead.policy.kueue.flavor_assignment import FlavorTrial, Mode, wanted_by_group
from fairlead.policy.kueue.flavor_mismatch_text import flavor_mismatch_text
from fairlead.policy.kueue.nomination import Nominator


class FlavorLine(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of a pod set on one flavor."""

    pod_set: str
    axis: Axis
    judged: str
    is_taken: bool
    asks: int  # of all its pods, with what earlier pod sets took
    available: int
    potential: int


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
            line.axis.resource,
            line.axis.flavor or "",
            f"{line.judged}; taken" if line.is_taken else line.judged,
            *(amount_text(line.axis, each) for each in (line.asks, line.available, line.potential)),
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
            "resource": line.axis.resource,
            "flavor": line.axis.flavor,
            "judged": line.judged,
            "taken": line.is_taken,
            "asks": format_amount(line.axis.resource, line.asks),
            "available": format_amount(line.axis.resource, line.available),
            "potential": format_amount(line.axis.resource, line.potential),
        }
        for line in tried
    ]


def _lines(
    view: KueueJobView, trials: dict[tuple[int, str, str], FlavorTrial]
) -> Iterator[FlavorLine]:
    rules, tree, queue = view.rules(), view.snapshot.tree, view.workload.queue
    assert rules is not None, "who seeks quota has a queue"
    chosen = view.chosen_flavors()
    for at, demand in enumerate(view.waiting.demands):
        for group, wanted in wanted_by_group(rules.resource_groups, demand):
            against = _against(view, at, group)
            for flavor in rules.resource_groups[group].flavors:
                for resource, amount in wanted.items():
                    number = view.state.axes.index(resource, flavor)
                    assert number is not None, f"{flavor}/{resource} is no axis"
                    trial = trials.get((at, flavor, resource))
                    yield FlavorLine(
                        pod_set=view.workload.pod_sets[at].name,
                        axis=view.state.axes.axes[number],
                        judged=against.get(flavor, "not tried")
                        if trial is None
                        else _judged(trial),
                        is_taken=bool(chosen) and chosen[at].get(resource) == flavor,
                        asks=amount if trial is None else trial.amount,
                        available=tree.available_on(queue, number),
                        potential=tree.potential_on(queue, number),
                    )


def _against(view: KueueJobView, pod_set: int, group: int) -> dict[str, str]:
    """Return what speaks against flavors on whose nodes the pods cannot run."""
    rules = view.rules()
    assert rules is not None, "who seeks quota has a queue"
    eligibility = DemandReader(view.state, view.settings).eligibility(view.workload, rules)
    if eligibility is None:
        return {}
    return {
        each.flavor: f"not eligible: {flavor_mismatch_text(each)}"
        for each in eligibility[pod_set][group].mismatches
    }


def _judged(trial: FlavorTrial) -> str:
    match trial.met.mode:
        case Mode.FIT:
            return "fits by borrowing" if trial.met.borrow else "fits"
        case Mode.PREEMPT | Mode.RECLAIM:
            return "fits if others give way"
        case Mode.NO_CANDIDATES:
            return "lacks quota, and nobody gives way"
        case Mode.NO_FIT if trial.amount > trial.potential:
            return "more than it could ever have"
        case Mode.NO_FIT:
            return "lacks quota, and to borrow may ask nobody"
