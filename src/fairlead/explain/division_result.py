"""How a division ends for one sibling: the sum of its gifts, and why it is not more or less."""

from typing import assert_never

from fairlead.explain.division_viewpoint import DivisionViewpoint
from fairlead.explain.explanation import Section
from fairlead.fairness.division_steps import FinalStep, GuaranteeStep, LeftoverStep, RoundStep


def division_result(view: DivisionViewpoint, step: FinalStep) -> Section:
    """Return what the sibling gets in all, beside what it could use."""
    claim = view.division.claims[view.own]
    share = step.shares[view.own]
    most = claim.requested if claim.ceiling is None else min(claim.requested, claim.ceiling)
    remarks = [f"{view.queue} gets {_sum_of_gifts(view)}."]
    if share > most:
        remarks.append(
            f"That is {view.text(share - most)} more than the {view.text(most)} it can use: "
            "a unit left by rounding is given whole."
        )
    elif share < most:
        remarks.append(f"It could use {view.text(most)}.{_why_out_of_rounds(view)}")
    if most < claim.requested:
        remarks.append(
            f"It asks for {view.text(claim.requested)}, but its limit is {view.text(most)}."
        )
    if step.unclaimed:
        remarks.append(f"{view.text(step.unclaimed)} is left and nobody's.")
    return Section(title="Result", remarks=tuple(remarks))


def _sum_of_gifts(view: DivisionViewpoint) -> str:
    """Return ``16 + 2 + 1 = 19``: what each step gave, and the share."""
    gifts = []
    for step in view.division.steps:
        match step:
            case GuaranteeStep():
                gifts.append(step.granted[view.own])
            case RoundStep():
                gifts.extend(e.granted for e in step.entries if e.sibling == view.own)
            case LeftoverStep():
                if step.sibling == view.own:
                    gifts.append(step.granted)
            case FinalStep():
                pass  # it sums up what was given before
            case _:
                assert_never(step)
    if len(gifts) == 1:
        return view.own_share
    return " + ".join(map(view.text, gifts)) + f" = {view.own_share}"


def _why_out_of_rounds(view: DivisionViewpoint) -> str:
    """Say why a sibling that wants more took part in no round; "" if it did."""
    rounds = [step for step in view.division.steps if isinstance(step, RoundStep)]
    if any(entry.sibling == view.own for step in rounds for entry in step.entries):
        return ""
    if view.division.claims[view.own].weight == 0:
        return " With weight 0 it gets no more than its guarantee."
    whom = f"for priority {view.priority}" if rounds else "after the guarantees"
    return f" Nothing was left {whom}."
