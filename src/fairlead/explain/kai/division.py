"""The division of one resource among sibling queues, step by step, as one of them sees it."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Literal, TypeAlias, assert_never

import msgspec

from fairlead.explain.text.amounts import amount_text, k_text, number_text, portion_text
from fairlead.explain.text.explanation import Section
from fairlead.fairness.division_steps import (
    DivisionStep,
    FinalStep,
    GuaranteeStep,
    LeftoverStep,
    RoundEntry,
    RoundStep,
)
from fairlead.fairness.division_tree import SiblingDivision
from fairlead.model.axes import Axis, QueueName
from fairlead.model.state import ClusterState

Reason: TypeAlias = Literal["fraction", "order", "priority"]


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """One sibling in order; *granted* is 0 if nothing was left for it."""

    sibling: int
    fraction: Fraction
    granted: int
    decided_by: Reason  # order: an equal fraction was older; priority: a higher one took them all


class LeftoverRanking(msgspec.Struct, frozen=True, kw_only=True):
    """The line of one level, the first to get a unit first."""

    level: int
    line: tuple[Ranked, ...]
    winners: int  # so many of the line got something

    def place(self, sibling: int) -> int | None:
        """Return where *sibling* stands, from 0; None if it remembers no fraction."""
        places = (place for place, each in enumerate(self.line) if each.sibling == sibling)
        return next(places, None)


def leftover_rankings(steps: Sequence[DivisionStep]) -> list[LeftoverRanking]:
    """Return the line of every level in which someone remembers a fraction, highest level first.

    Without any unit left by rounding there is no ranking. Law: the winners are the siblings of
    the recorded `LeftoverStep`, in their order. Cost: one sort for each level.
    """
    gifts: dict[int, list[LeftoverStep]] = {}
    last_rounds: dict[int, RoundStep] = {}
    for step in steps:
        if isinstance(step, LeftoverStep):
            gifts.setdefault(step.level, []).append(step)
        elif isinstance(step, RoundStep):
            last_rounds[step.level] = step
    if not gifts:
        return []
    rankings = [_ranking(last, gifts.get(level, [])) for level, last in last_rounds.items()]
    return [ranking for ranking in rankings if ranking.line]


def _ranking(last: RoundStep, gifts: Sequence[LeftoverStep]) -> LeftoverRanking:
    line = [
        Ranked(
            sibling=gift.sibling,
            fraction=gift.fraction,
            granted=gift.granted,
            decided_by=gift.chosen_by,
        )
        for gift in gifts
    ]
    served = {gift.sibling for gift in gifts}
    waiting = [
        (entry.remembered, entry.sibling)
        for entry in last.entries
        if entry.remembered and entry.sibling not in served
    ]
    # The sort is stable and the entries stand in the order of age and name.
    for fraction, sibling in sorted(waiting, key=lambda each: -each[0]):
        reason: Reason = "priority"
        if gifts:
            reason = "order" if fraction == gifts[-1].fraction else "fraction"
        line.append(Ranked(sibling=sibling, fraction=fraction, granted=0, decided_by=reason))
    return LeftoverRanking(level=last.level, line=tuple(line), winners=len(gifts))


MOST_SIBLINGS = 12


def siblings_shown(
    shares: Sequence[int], own: int, rankings: Sequence[LeftoverRanking]
) -> frozenset[int]:
    """Return at most `MOST_SIBLINGS` places in *shares*, always with *own* among them.

    After itself come its neighbours in the line for left-over units, then those around the last
    who got one, its own level first, then the largest shares.
    """
    by_share = sorted(range(len(shares)), key=lambda at: (-shares[at], at))
    candidates = dict.fromkeys([own, *_in_line(own, rankings), *by_share])
    return frozenset(islice(candidates, MOST_SIBLINGS))


def _in_line(own: int, rankings: Sequence[LeftoverRanking]) -> Iterator[int]:
    own_first = sorted(rankings, key=lambda ranking: ranking.place(own) is None)
    for ranking in own_first:
        for centre in (ranking.place(own), ranking.winners - 1):
            if centre is not None:
                near = ranking.line[max(0, centre - 1) : centre + 2]
                yield from (each.sibling for each in near)


class DivisionViewpoint:
    """A division, the sibling that is asked about, and the siblings that are shown with it."""

    def __init__(self, state: ClusterState, at: int, division: SiblingDivision, queue: QueueName):
        """Take the *division* of the axis at *at*, with *queue* among its siblings."""
        self.axis: Axis = state.axes.axes[at]
        self.division = division
        self.queue = queue
        self.own = division.siblings.index(queue)
        self.priority = state.queues[queue].priority
        self.weights: Sequence[Decimal] = [
            state.queues[QueueName(name)].weights[at] for name in division.siblings
        ]
        self.rankings = leftover_rankings(division.steps)
        self.shown = siblings_shown(division.shares, self.own, self.rankings)

    @property
    def own_share(self) -> str:
        """The share of the sibling that is asked about."""
        return self.text(self.division.shares[self.own])

    def name(self, at: int) -> str:
        """Return the name of a sibling, with a mark at the one that is asked about."""
        return self.division.siblings[at] + (" *" if at == self.own else "")

    def text(self, amount: int | None) -> str:
        """Return an amount as people read it."""
        return amount_text(self.axis, amount)

    def table(
        self,
        head: tuple[str, ...],
        rows: Mapping[int, tuple[str, ...]],
        gets: Mapping[int, int],
    ) -> tuple[tuple[str, ...], ...]:
        """Return a table of the siblings that are shown, in the order of *rows*.

        A last row counts the others and sums up what they got, so that sums can be checked.
        """
        table = [head, *(row for at, row in rows.items() if at in self.shown)]
        hidden = [at for at in rows if at not in self.shown]
        if hidden:
            rest = ["" for _ in head]
            rest[0] = f"({len(hidden)} more)"
            rest[head.index("GETS")] = self.text(sum(gets[at] for at in hidden))
            table.append(tuple(rest))
        return tuple(table)


LEFTOVER_HEAD = ("QUEUE", "RANK", "FRACTION", "DECIDED BY", "GETS")
DECIDED_BY: dict[Reason, str] = {
    "fraction": "fraction",
    "order": "age, then name",
    "priority": "priority",
}
LEFTOVER_RULE = "One each, the largest remembered fraction first; need and limit do not count."


def explain_leftovers(view: DivisionViewpoint) -> list[Section]:
    """Return a section for each priority that got such units, or that waited for them in vain."""
    return [
        _leftover_section(view, ranking)
        for ranking in view.rankings
        if ranking.winners or ranking.place(view.own) is not None
    ]


def _leftover_section(view: DivisionViewpoint, ranking: LeftoverRanking) -> Section:
    rows = {
        each.sibling: (
            view.name(each.sibling),
            str(place),
            number_text(each.fraction),
            DECIDED_BY[each.decided_by],
            view.text(each.granted),
        )
        for place, each in enumerate(ranking.line, start=1)
    }
    gets = {each.sibling: each.granted for each in ranking.line}
    return Section(
        title=f"3. Units left by rounding, priority {view.division.priorities[ranking.level]}",
        table=view.table(LEFTOVER_HEAD, rows, gets),
        remarks=(_leftover_count(view, ranking), *_why_no_unit(view, ranking), LEFTOVER_RULE),
    )


def _leftover_count(view: DivisionViewpoint, ranking: LeftoverRanking) -> str:
    """Return ``20 units for 30 that remember a fraction; q29 is 30th.``."""
    units = "1 unit" if ranking.winners == 1 else f"{ranking.winners or 'no'} units"
    line = len(ranking.line)
    verb = "remembers" if line == 1 else "remember"
    queues = "queue" if line == 1 else "queues"
    text = f"{units} for {line} {queues} that {verb} a fraction"
    place = ranking.place(view.own)
    return f"{text}." if place is None else f"{text}; {view.queue} is {_ordinal(place + 1)}."


def _why_no_unit(view: DivisionViewpoint, ranking: LeftoverRanking) -> list[str]:
    place = ranking.place(view.own)
    if place is None or place < ranking.winners:
        return []
    if ranking.winners == 0:
        return [f"{view.queue} gets none: higher priorities come first and took them all."]
    last = ranking.line[ranking.winners - 1]
    name, fraction = view.division.siblings[last.sibling], number_text(last.fraction)
    if ranking.line[place].decided_by == "order":
        return [
            f"{view.queue} gets none: {name} has the same fraction, and is older or named first."
        ]
    return [f"{view.queue} gets none: {name}, the last to get one, remembers {fraction}."]


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


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
        remarks.append(f"{view.text(step.unclaimed)} is left over.")
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
        near = (
            ", its neighbours in the ranking for units left by rounding," if view.rankings else ""
        )
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
        left = f"That is {granted} together, more than there is; every queue keeps its guarantee."
    return Section(
        title="1. Guaranteed, up to the request and the limit",
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
    return "1 queue that needs more" if count == 1 else f"{count} queues that need more"


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
