"""Whose job it is: one name for all, drawn by weight, or one after the other."""

from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random
from typing import TypeAlias

import msgspec

from fairlead.sim.work.weighted_pick import picking, weight_defects
from fairlead.sim.work.work_error import Real, WorkError


class Drawn(msgspec.Struct, frozen=True, kw_only=True, tag="drawn"):
    """Each job draws a name by weight."""

    names: tuple[tuple[str, Real], ...]


class InTurn(msgspec.Struct, frozen=True, kw_only=True, tag="in-turn"):
    """The first job has the first name, and so on around."""

    names: tuple[str, ...]


Names: TypeAlias = str | Drawn | InTurn


def naming(names: Names, stream: Random) -> Callable[[], str]:
    """Return what tells the name of the next job, each time it is called."""
    match names:
        case str():
            return lambda: names
        case Drawn(names=weighted):
            return picking(
                [name for name, _ in weighted], [weight for _, weight in weighted], stream
            )
        case InTurn(names=listed):
            around = cycle(listed)
            return lambda: next(around)


def name_defects(names: Names, field: str) -> Iterator[WorkError]:
    """Tell whether no name can be had."""
    match names:
        case Drawn(names=weighted):
            yield from weight_defects([weight for _, weight in weighted], f"{field}.names")
        case InTurn(names=()):
            yield WorkError(f"{field}.names", "found no name, expected one or more", "add one")
