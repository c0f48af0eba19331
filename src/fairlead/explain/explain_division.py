"""The steps of one division, told from the point of view of one sibling."""

from fractions import Fraction
from typing import assert_never

from fairlead.explain.amount_text import number_text, portion_text
from fairlead.explain.division_result import division_result
from fairlead.explain.division_viewpoint import DivisionViewpoint
from fairlead.explain.explain_leftovers import explain_leftovers
from fairlead.explain.explanation import Section
from fairlead.explain.k_text import k_text
from fairlead.fairness.division_steps import (
    FinalStep,
    GuaranteeStep,
    LeftoverStep,
    RoundEntry,
    RoundStep,
)


def explain_division(view: DivisionViewpoint) -> list[Section]:
    """Return the steps in their order."""
    told = [_opening(view)]
    for step in view.division.steps:
        match step:
            case GuaranteeStep():
                told.append(_guarantees(view, step))
            case RoundStep():
                told.append(_round(view, step))
            case FinalStep():
                told.extend([*explain_leftovers(view), division_result(view, step)])
            case LeftoverStep():
                pass  # told with the others of its level
            case _:
                assert_never(step)
    return told


def _opening(view: DivisionViewpoint) -> Section:
    division = view.division
    whose = (
        "the cluster's capacity"
        if division.parent is None
        else f"the fair share of {division.parent}"
    )
    count, shown = len(division.siblings), len(view.shown)
    remarks = []
    if shown < count:
        near = ", those next to the last unit left by rounding," if view.rankings else ""
        remarks.append(f"Shown: {shown} of them: {view.queue}{near} and the largest shares.")
    siblings = "1 queue" if count == 1 else f"{count} siblings"
    title = f"{view.axis}: {view.text(division.amount)} to divide among {siblings}, {whose}"
    return Section(title=title, remarks=tuple(remarks))


def _guarantees(view: DivisionViewpoint, step: GuaranteeStep) -> Section:
    head = ("QUEUE", "GUARANTEED", "LIMIT", "REQUESTED", "GETS")
    rows = {
        at: (
            view.name(at),
            "all" if claim.guaranteed is None else view.text(claim.guaranteed),
            view.text(claim.ceiling),
            view.text(claim.requested),
            view.text(step.granted[at]),
        )
        for at, claim in enumerate(view.division.claims)
    }
    granted = view.text(sum(step.granted))
    left = f"{view.text(step.amount)} - {granted} = {view.text(step.remaining)} left."
    if step.remaining < 0:
        left = f"That is {granted} together, more than there is: all are honoured on paper."
    return Section(
        title="1. Guaranteed, as far as it is asked for and within the limit",
        table=view.table(head, rows, dict(enumerate(step.granted))),
        remarks=(left,),
    )


def _round(view: DivisionViewpoint, step: RoundStep) -> Section:
    head = ("QUEUE", "WEIGHT", "USAGE", "PART", "NEEDS", "PORTION", "GETS", "REMEMBERS")
    rows = {entry.sibling: _round_row(view, step, entry) for entry in step.entries}
    gets = {entry.sibling: entry.granted for entry in step.entries}
    left = view.text(step.remaining - sum(gets.values()))
    return Section(
        title=f"2. Over quota, priority {view.division.priorities[step.level]}, "
        f"round {step.number}",
        table=view.table(head, rows, gets),
        remarks=(
            f"{view.text(step.remaining)} shared by {_wanting(len(gets))}; {left} left.",
            *_usage_remarks(view, step),
        ),
    )


def _round_row(view: DivisionViewpoint, step: RoundStep, entry: RoundEntry) -> tuple[str, ...]:
    usage = Fraction(view.division.claims[entry.sibling].usage_e9, 10**9)
    return (
        view.name(entry.sibling),
        str(view.weights[entry.sibling]),
        number_text(usage) if view.division.k > 0 else "",
        number_text(Fraction(entry.share_weight, step.share_weight_total or 1)),
        view.text(entry.need),
        portion_text(view.axis, entry.portion),
        view.text(entry.granted),
        "done" if entry.done else number_text(entry.remembered or Fraction(0)),
    )


def _wanting(count: int) -> str:
    return "1 that needs more" if count == 1 else f"{count} that need more"


def _usage_remarks(view: DivisionViewpoint, step: RoundStep) -> list[str]:
    remarks = []
    if view.division.k > 0:
        remarks.append(
            "PART counts past usage: in proportion to w + k(w - usage), or 0 where that is less; "
            f"w is the part of the weights here, k = {k_text(view.division.k)}."
        )
    if step.share_weight_total == 0:
        remarks.append("Past usage outweighs every claim, so this priority gets no more.")
    return remarks
