"""Why a queue's fair share is what it is under KAI's rules: the very steps of the division."""

from collections.abc import Sequence
from fractions import Fraction

from fairlead.explain.amount_text import amount_text, number_text, portion_text
from fairlead.explain.axis_order import by_interest
from fairlead.explain.explanation import Explanation, Section
from fairlead.fairness.division_steps import FinalStep, GuaranteeStep, LeftoverStep, RoundStep
from fairlead.fairness.division_tree import SiblingDivision
from fairlead.model.axes import Axis, QueueName
from fairlead.model.quantity import scale_of
from fairlead.model.state import ClusterState
from fairlead.policy.kai.shares import KaiShares

MOST_SIBLINGS = 12
"""Of more siblings than these, the ones that got the most stand for all."""


def explain_kai_queue(state: ClusterState, shares: KaiShares, queue: QueueName) -> Explanation:
    """Return the arithmetic of the fair share of *queue*, for every axis it has to do with."""
    stories = [
        _DivisionStory(state, at, shares.division(queue, at), queue)
        for at in map(state.axes.axes.index, by_interest(state.axes.axes))
        if _concerns(state, queue, at)
    ]
    shown = ", ".join(f"{story.axis} {story.own_share}" for story in stories)
    return Explanation(
        answer=f"{queue} has a fair share of {shown or 'nothing: it asks for nothing'}.",
        sections=tuple(section for story in stories for section in story.sections()),
        data={
            "queue": queue,
            "divisions": [
                {
                    "resource": str(story.axis),
                    "baseUnitsPerUnit": scale_of(story.axis.resource),
                    "division": story.division,
                }
                for story in stories
            ],
        },
    )


def _concerns(state: ClusterState, queue: QueueName, at: int) -> bool:
    facts = state.queues[queue]
    return bool(state.requested(queue)[at] or facts.guaranteed[at])


class _DivisionStory:
    """One division told from the point of view of one sibling."""

    def __init__(self, state: ClusterState, at: int, division: SiblingDivision, queue: QueueName):
        self.axis: Axis = state.axes.axes[at]
        self.division = division
        self._weights = [state.queues[QueueName(name)].weights[at] for name in division.siblings]
        self._own = division.siblings.index(queue)
        self._shown = self._siblings_that_matter()
        self.own_share = self._text(division.shares[self._own])

    def sections(self) -> list[Section]:
        """Return the steps in their order."""
        told = [self._opening()]
        for step in self.division.steps:
            match step:
                case GuaranteeStep():
                    told.append(self._guarantees(step))
                case RoundStep():
                    told.append(self._round(step))
                case LeftoverStep() if step.rank == 1:
                    told.append(self._leftovers(step.level))
                case FinalStep():
                    told.append(self._result(step))
                case _:
                    pass
        return told

    def _opening(self) -> Section:
        division = self.division
        whose = (
            "the cluster's capacity"
            if division.parent is None
            else f"the fair share of {division.parent}"
        )
        remarks = []
        if len(self._shown) < len(division.siblings):
            remarks.append(f"Shown: {len(self._shown)} siblings, those that got the most.")
        amount, count = self._text(division.amount), len(division.siblings)
        siblings = "1 queue" if count == 1 else f"{count} siblings"
        title = f"{self.axis}: {amount} to divide among {siblings}, {whose}"
        return Section(title=title, remarks=tuple(remarks))

    def _guarantees(self, step: GuaranteeStep) -> Section:
        claims = self.division.claims
        head = ("QUEUE", "GUARANTEED", "LIMIT", "REQUESTED", "GETS")
        rows = [
            (
                self._name(at),
                "all" if claims[at].guaranteed is None else self._text(claims[at].guaranteed),
                self._text(claims[at].ceiling),
                self._text(claims[at].requested),
                self._text(step.granted[at]),
            )
            for at in self._shown
        ]
        granted = self._text(sum(step.granted))
        left = f"{self._text(step.amount)} - {granted} = {self._text(step.remaining)} left."
        if step.remaining < 0:
            left = f"That is {granted} together, more than there is: all are honoured on paper."
        return Section(
            title="1. Guaranteed, as far as it is asked for and within the limit",
            table=(head, *rows),
            remarks=(left,),
        )

    def _round(self, step: RoundStep) -> Section:
        priority = self.division.priorities[step.level]
        title = f"2. Over quota, priority {priority}, round {step.number}"
        head = ("QUEUE", "WEIGHT", "PART", "NEEDS", "PORTION", "GETS", "REMEMBERS")
        entries = [entry for entry in step.entries if entry.sibling in self._shown]
        rows = [
            (
                self._name(entry.sibling),
                str(self._weights[entry.sibling]),
                number_text(Fraction(entry.share_weight, step.share_weight_total or 1)),
                self._text(entry.need),
                portion_text(self.axis, entry.portion),
                self._text(entry.granted),
                "done" if entry.done else number_text(entry.remembered or Fraction(0)),
            )
            for entry in entries
        ]
        granted = sum(entry.granted for entry in step.entries)
        shared, left = self._text(step.remaining), self._text(step.remaining - granted)
        remarks = [f"{shared} shared by {len(step.entries)} that need more; {left} left."]
        if self.division.k > 0:
            remarks.append(
                f"PART counts past usage: w + k(w - usage), k = {number_text(self.division.k)}."
            )
        if step.share_weight_total == 0:
            remarks.append("Past usage outweighs every claim, so this priority gets no more.")
        return Section(title=title, table=(head, *rows), remarks=tuple(remarks))

    def _leftovers(self, level: int) -> Section:
        gifts = [
            step
            for step in self.division.steps
            if isinstance(step, LeftoverStep) and step.level == level
        ]
        head = ("QUEUE", "FRACTION", "DECIDED BY", "GETS")
        rows = [
            (
                self._name(gift.sibling),
                number_text(gift.fraction),
                "fraction" if gift.chosen_by == "fraction" else "age, then name",
                self._text(gift.granted),
            )
            for gift in gifts
            if gift.sibling in self._shown
        ]
        return Section(
            title=f"3. Units left by rounding, priority {self.division.priorities[level]}",
            table=(head, *rows),
            remarks=(
                "One each, the largest remembered fraction first; need and limit are not asked.",
            ),
        )

    def _result(self, step: FinalStep) -> Section:
        claim = self.division.claims[self._own]
        share = step.shares[self._own]
        most = claim.requested
        if claim.ceiling is not None:
            most = min(most, claim.ceiling)
        name = self.division.siblings[self._own]
        remarks = [f"{name} gets {self._sum_of_gifts()}."]
        if share > most:
            remarks.append(
                f"That is {self._text(share - most)} more than the {self._text(most)} it can use: "
                "a unit left by rounding is given whole."
            )
        elif share < most:
            remarks.append(f"It could use {self._text(most)}.")
        if step.unclaimed:
            remarks.append(f"{self._text(step.unclaimed)} is left and nobody's.")
        return Section(title="Result", remarks=tuple(remarks))

    def _sum_of_gifts(self) -> str:
        """Return ``16 + 2 + 1 = 19``: what each step gave, and the share."""
        gifts = []
        for step in self.division.steps:
            match step:
                case GuaranteeStep():
                    gifts.append(step.granted[self._own])
                case RoundStep():
                    gifts.extend(e.granted for e in step.entries if e.sibling == self._own)
                case LeftoverStep() if step.sibling == self._own:
                    gifts.append(step.granted)
                case _:
                    pass
        if len(gifts) == 1:
            return self.own_share
        return " + ".join(map(self._text, gifts)) + f" = {self.own_share}"

    def _siblings_that_matter(self) -> Sequence[int]:
        shares = self.division.shares
        by_share = sorted(range(len(shares)), key=lambda at: (at != self._own, -shares[at], at))
        return sorted(by_share[:MOST_SIBLINGS])

    def _name(self, at: int) -> str:
        mark = " *" if at == self._own else ""
        return self.division.siblings[at] + mark

    def _text(self, amount: int | None) -> str:
        return amount_text(self.axis, amount)
