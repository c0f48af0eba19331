"""Checks on objects that name each other as parents: twice the same name, cycles, orphans.

Generic over the kind of object: whatever has a name, a parent and a source. Each object has at most
one parent, so every walk upward is a line and all checks together look at each object a few times.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Protocol, TypeVar

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path, quote

MAX_SHOWN_NAMES = 10  # in one message
NAME_PATH = ("metadata", "name")


class Sourced(Protocol):
    """An object that knows where it was written."""

    @property
    def source(self) -> Source:
        """Where it was written."""


class TreeObject(Sourced, Protocol):
    """An object of a tree; the parent of one at the top is ""."""

    @property
    def name(self) -> str:
        """What the others call it."""

    @property
    def parent(self) -> str:
        """The name of the object above it."""


S = TypeVar("S", bound=Sourced)
T = TypeVar("T", bound=TreeObject)


def place(source: Source, path: Path = ()) -> str:
    """Say where an object, or a path within it, was written: ``queues.yaml:12``."""
    line = source.locate(path)
    return source.file if line is None else f"{source.file}:{line}"


def refuse_duplicates(
    objects: Iterable[S], name_of: Callable[[S], str], kind: str, findings: Findings
) -> list[S]:
    """Return the first object of each name; every further one is an error that names both places.

    *kind* stands in the message, as in "Queue". Cost: one look at each object.
    """
    firsts: dict[str, S] = {}
    for each in objects:
        first = firsts.setdefault(name_of(each), each)
        if first is not each:
            each.source.error(
                findings,
                "duplicate-object",
                NAME_PATH,
                f"found the {kind} {quote(name_of(each))} a second time, expected each name once; "
                f"the first is at {place(first.source, NAME_PATH)}",
                "rename or remove one of the two",
            )
    return list(firsts.values())


def only_one(objects: Sequence[S], kind: str, findings: Findings) -> S | None:
    """Return the first of *objects*, or None; every further one is an error that names both places.

    For kinds of which a cluster has one, whatever its name.
    """
    for each in objects[1:]:
        each.source.error(
            findings,
            "duplicate-object",
            (),
            f"found a second {kind}, expected one at most; "
            f"the first is at {place(objects[0].source)}",
            "remove one of the two",
        )
    return objects[0] if objects else None


def refuse_cycles(
    objects: Sequence[T], kind: str, parent_path: Callable[[T], Path], findings: Findings
) -> bool:
    """Report one error for each cycle, at its member of the smallest name; True if there is any.

    Names must be unique. *parent_path* says where in an object its parent's name stands, such as
    ``("spec", "parentQueue")``. Cost: as `cycles`.
    """
    found = cycles(objects)
    for cycle in found:
        cycle[0].source.error(
            findings,
            "cycle",
            parent_path(cycle[0]),
            f"found a {kind} that is its own ancestor: {_chain([each.name for each in cycle])}",
            "give one of them another parent, or none",
        )
    return bool(found)


def cycles(objects: Sequence[T]) -> list[list[T]]:
    """Return every cycle once, child before parent, from its smallest name; sorted by that name.

    Objects that only hang below a cycle are no part of it. Cost: each object is visited once.
    """
    by_name = {each.name: each for each in objects}
    seen_from: dict[str, str] = {}  # name: the name at which the walk that first saw it began
    found: list[list[T]] = []
    for start in by_name:
        at = start
        while at in by_name and at not in seen_from:
            seen_from[at] = start
            at = by_name[at].parent
        if seen_from.get(at) == start:  # the walk met itself
            found.append(_cycle_through(at, by_name))
    return sorted(found, key=lambda cycle: cycle[0].name)


def orphans(objects: Sequence[T]) -> list[list[T]]:
    """Return, for each object whose parent does not exist, itself and everything below it.

    Names must be unique. Sorted by the name of that object, which comes
    first; those below it follow by name. Cost: one look at each object, and sorting.
    """
    names = {each.name for each in objects}
    below: dict[str, list[T]] = {}
    for each in objects:
        below.setdefault(each.parent, []).append(each)
    lost = [each for each in objects if each.parent and each.parent not in names]
    by_name = attrgetter("name")
    return [
        [each, *sorted(_descendants(each, below), key=by_name)]
        for each in sorted(lost, key=by_name)
    ]


def _cycle_through(name: str, by_name: dict[str, T]) -> list[T]:
    members = [by_name[name]]
    while members[-1].parent != name:
        members.append(by_name[members[-1].parent])
    first = min(range(len(members)), key=lambda at: members[at].name)
    return members[first:] + members[:first]


def _chain(names: list[str]) -> str:
    """Write a cycle as "a" -> "b" -> "a", cut when long."""
    shown = names
    if len(names) > MAX_SHOWN_NAMES:
        shown = names[: MAX_SHOWN_NAMES - 1]
    steps = [quote(name) for name in shown]
    if len(shown) < len(names):
        steps.append(f"... ({len(names)} in all)")
    return " -> ".join([*steps, steps[0]])


def _descendants(top: T, below: dict[str, list[T]]) -> Iterator[T]:
    stack = list(below.get(top.name, ()))
    while stack:
        each = stack.pop()
        yield each
        stack.extend(below.get(each.name, ()))
