"""Who got the units that rounding left, and why another did not."""

from fairlead.explain.amount_text import number_text
from fairlead.explain.division_viewpoint import DivisionViewpoint
from fairlead.explain.explanation import Section
from fairlead.explain.leftover_ranking import LeftoverRanking, Reason

HEAD = ("QUEUE", "RANK", "FRACTION", "DECIDED BY", "GETS")
REASONS: dict[Reason, str] = {
    "fraction": "fraction",
    "order": "age, then name",
    "priority": "priority",
}
RULE = "One each, the largest remembered fraction first; need and limit are not asked."


def explain_leftovers(view: DivisionViewpoint) -> list[Section]:
    """Return a section for each priority that got such units, or that waited for them in vain."""
    return [
        _section(view, ranking)
        for ranking in view.rankings
        if ranking.winners or ranking.place(view.own) is not None
    ]


def _section(view: DivisionViewpoint, ranking: LeftoverRanking) -> Section:
    rows = {
        each.sibling: (
            view.name(each.sibling),
            str(place),
            number_text(each.fraction),
            REASONS[each.decided_by],
            view.text(each.granted),
        )
        for place, each in enumerate(ranking.line, start=1)
    }
    gets = {each.sibling: each.granted for each in ranking.line}
    return Section(
        title=f"3. Units left by rounding, priority {view.division.priorities[ranking.level]}",
        table=view.table(HEAD, rows, gets),
        remarks=(_count(view, ranking), *_why_none(view, ranking), RULE),
    )


def _count(view: DivisionViewpoint, ranking: LeftoverRanking) -> str:
    """Return ``20 units for 30 that remember a fraction; q29 is 30th.``."""
    units = "1 unit" if ranking.winners == 1 else f"{ranking.winners or 'no'} units"
    line = len(ranking.line)
    verb = "remembers" if line == 1 else "remember"
    text = f"{units} for {line} that {verb} a fraction"
    place = ranking.place(view.own)
    return f"{text}." if place is None else f"{text}; {view.queue} is {_ordinal(place + 1)}."


def _why_none(view: DivisionViewpoint, ranking: LeftoverRanking) -> list[str]:
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
