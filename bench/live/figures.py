"""Figures of several rounds beside their goals and beside the peer's.

Rounds drift, since a machine has other work, so a goal against the peer is judged by the median of
the ratios within each round. This module judges nothing by an exit code: a figure that misses its
goal is reported.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, Literal

import msgspec

_HEAD: Final = ("figure", "scheduler", "median", "least", "most", "x peer", "goal", "")
_TEXTS: Final = (0, 1, 6, 7)  # the columns that are set to the left


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """What a figure of a scheduler is to reach."""

    figure: str
    scheduler: str
    bound: Literal["at least", "at most"]
    value: float
    times_peer: bool = False  # the bound is on how many times the peer's figure it is

    def is_reached(self, found: float) -> bool:
        """Return whether a figure, or a ratio, is within the bound."""
        return found >= self.value if self.bound == "at least" else found <= self.value

    def __str__(self) -> str:
        """Show the goal as a cell of the table."""
        sign = ">=" if self.bound == "at least" else "<="
        return f"{sign} {self.value:g}{' x peer' if self.times_peer else ''}"


Round = Mapping[str, Mapping[str, float]]
"""The figures of one round, by scheduler and name."""


def table(rounds: Sequence[Round], peer: str, goals: Sequence[Goal]) -> str:
    """Lay out each figure of each scheduler in a line, with its goal and whether it is reached."""
    schedulers = list(rounds[0])
    names = dict.fromkeys(name for scheduler in schedulers for name in rounds[0][scheduler])
    rows: list[tuple[str, ...]] = [_HEAD]
    for name in names:
        for scheduler in schedulers:
            if name in rounds[0][scheduler]:
                wanted = [g for g in goals if (g.figure, g.scheduler) == (name, scheduler)]
                rows.append(_row(rounds, peer, name, scheduler, wanted[0] if wanted else None))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(_line(row, widths) for row in rows)


def _row(
    rounds: Sequence[Round], peer: str, name: str, scheduler: str, goal: Goal | None
) -> tuple[str, ...]:
    values = [each[scheduler][name] for each in rounds]
    ratio = _ratio(rounds, peer, name, scheduler)
    verdict = ""
    if goal is not None:
        judged = ratio if goal.times_peer else median(values)
        if judged is not None:
            verdict = "ok" if goal.is_reached(judged) else "missed"
    return (
        name,
        scheduler,
        _number(median(values)),
        _number(min(values)),
        _number(max(values)),
        "" if ratio is None else f"{ratio:.2f}",
        "" if goal is None else str(goal),
        verdict,
    )


def _ratio(rounds: Sequence[Round], peer: str, name: str, scheduler: str) -> float | None:
    """Return the median of the ratios within each round; None: there is nothing to compare."""
    if scheduler == peer or not all(each.get(peer, {}).get(name) for each in rounds):
        return None
    return median(each[scheduler][name] / each[peer][name] for each in rounds)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.ljust(width) if column in _TEXTS else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
