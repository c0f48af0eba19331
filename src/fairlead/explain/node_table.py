"""Nodes in a table: those that are alike in one row, and not more rows than people read."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from fairlead.explain.amount_text import amount_text
from fairlead.explain.explanation import Section
from fairlead.explain.first_few import first_few
from fairlead.explain.node_standing import Free, NodeStanding
from fairlead.explain.reason_text import tallies_text, verb_agrees
from fairlead.model.axes import Amounts, Axis
from fairlead.model.plan import Tally

HAVE_ROOM = "have room"

MOST_ROWS = 3
"""How many rows there are of nodes that lack the same, those with the most free first."""

MOST_PARTS = 3
"""How many devices with a part free are shown of a node."""

Row = tuple[str, ...]


def node_table(pod: str, standings: Sequence[NodeStanding], tallies: tuple[Tally, ...]) -> Section:
    """Return what the nodes are to *pod*, what they have room for first; *tallies* sum it up."""
    axes = next(([free.axis for free in each.free] for each in standings if each.free), [])
    head = ("NODES", "", *(f"FREE {axis.resource.upper()}" for axis in axes))
    rows = [row for tally in _room_first(tallies) for row in _rows(standings, tally, len(axes))]
    return Section(
        title=f"What the nodes are to {pod}",
        table=(head, *rows),
        words=2,
        remarks=(f"{tallies_text(tallies)}.",),
    )


def _room_first(tallies: Sequence[Tally]) -> list[Tally]:
    return sorted(tallies, key=lambda tally: not tally.what.startswith(HAVE_ROOM))


def _rows(standings: Sequence[NodeStanding], tally: Tally, columns: int) -> Iterator[Row]:
    """Yield a row for each different amount that is free on the nodes of *tally*."""
    own = sorted((each for each in standings if each.what == tally.what), key=_most_free_first)
    alike = [[*group] for _, group in groupby(own, key=lambda each: each.free)]
    for group in alike[:MOST_ROWS]:
        amounts = tuple(map(_free_text, group[0].free)) or ("",) * columns
        names = first_few([each.node for each in group])
        yield (names, verb_agrees(tally.what, len(group)), *amounts)
    rest = sum(map(len, alike[MOST_ROWS:]))
    if rest:
        yield (f"({rest} more)", verb_agrees(tally.what, rest), *[""] * columns)


def _most_free_first(standing: NodeStanding) -> tuple[tuple[int, ...], str]:
    """Order by the scarcest resource: whole, in all, then the next."""
    amounts = (n for free in standing.free for n in (sum(free.later), sum(free.now), *free.later))
    return tuple(-amount for amount in amounts), standing.node


def _free_text(free: Free) -> str:
    now, later = _sum_text(free.axis, free.now), _sum_text(free.axis, free.later)
    return now if now == later else f"{now}, then {later}"


def _sum_text(axis: Axis, amounts: Amounts) -> str:
    """Return ``1 + 0.5 + 0.25``: what is whole, and parts of devices."""
    whole, *parts = amounts
    shown = [amount for amount in (whole, *parts[:MOST_PARTS]) if amount] or [0]
    more = ["..."] if len(parts) > MOST_PARTS else []
    return " + ".join([*(amount_text(axis, amount) for amount in shown), *more])
