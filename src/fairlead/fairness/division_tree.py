"""Fair shares of a whole tree of queues, each resource on its own, from the top down.

The top level divides the cluster's total, and the children of a queue divide its fair share, even
if its ceiling is below that. Which queues are siblings, and in which order, changes rarely: a tree
is sorted once, and every group keeps what follows from its claims alone. Requests change all the
time, but not everywhere at once; `kept_shares` follows that.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Self

import msgspec

from fairlead.fairness.division import Claim, Guarantees, divide_rest, settle_guarantees
from fairlead.fairness.division_steps import DivisionStep, StepRecorder


class ShareQueue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue as the division sees it."""

    name: str
    parent: str | None  # None: top level
    priority: int
    created_ms: int
    claims: tuple[Claim, ...]  # one per resource


class SiblingDivision(msgspec.Struct, frozen=True, kw_only=True):
    """One group of siblings and one resource: claims, shares, and every step of the division.

    Steps name siblings by their index in ``siblings`` and levels by theirs in ``priorities``.
    """

    parent: str | None
    amount: int
    unit: int
    k: Fraction
    siblings: tuple[str, ...]
    priorities: tuple[int, ...]
    claims: tuple[Claim, ...]
    shares: tuple[int, ...]
    steps: tuple[DivisionStep, ...]


class SiblingGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The children of one queue in order: higher priority, then older, then name."""

    parent: int | None  # position in the tree; None: top level
    names: tuple[str, ...]
    levels: tuple[range, ...]  # counted from the first sibling
    priorities: tuple[int, ...]  # one per level
    claims: tuple[tuple[Claim, ...], ...]  # per resource, then per sibling
    guarantees: tuple[Guarantees | None, ...]  # per resource; None: depends on the amount

    def divide(
        self, amount: int, *, axis: int, unit: int, k: Fraction, steps: StepRecorder | None = None
    ) -> list[int]:
        """Divide *amount* of one resource among the siblings."""
        guarantees = self.guarantees[axis]
        if guarantees is None:
            guarantees = settle_guarantees(amount, self.claims[axis], self.levels)
        return divide_rest(amount, guarantees, unit=unit, k=k, steps=steps)


class DivisionTree(msgspec.Struct, frozen=True, kw_only=True):
    """Groups of siblings in the order of division, parents before children.

    Make it with `from_queues`. A queue's position is its index in the list of all names.
    """

    groups: dict[str | None, SiblingGroup]  # by parent
    parents: dict[str, str | None]  # each queue's parent, in the order of positions

    @classmethod
    def from_queues(cls, queues: Iterable[ShareQueue]) -> Self:
        """Sort queues into a tree; the order in which they are listed does not matter.

        Names are unique, parents exist and no queue is its own ancestor. Cost: O(n log n).
        """
        children: dict[str | None, list[ShareQueue]] = {}
        for queue in queues:
            children.setdefault(queue.parent, []).append(queue)
        groups: dict[str | None, SiblingGroup] = {}
        parents: dict[str, str | None] = {}
        waiting: list[str | None] = [None]
        for place, parent in enumerate(waiting):  # which grows: every queue may be a parent
            siblings = sorted(children.pop(parent, ()), key=_rank)
            if siblings:
                position = place - 1 if place else None
                groups[parent] = _sibling_group(position, siblings)
                for queue in siblings:
                    assert queue.name not in parents, f"two queues are named {queue.name}"
                    parents[queue.name] = parent
                    waiting.append(queue.name)
        assert not children, f"no way from the top to the children of {sorted(map(str, children))}"
        return cls(groups=groups, parents=parents)


def fair_shares(
    tree: DivisionTree, total: Sequence[int], *, units: Sequence[int], k: Fraction
) -> dict[str, tuple[int, ...]]:
    """Return the fair share of every queue, per resource, if the top level divides *total*.

    *total* and *units* have one entry per resource, like the claims. The result is in the order of
    division. Cost: that of one `divide` per group of siblings and resource.
    """
    columns = []
    for axis, (amount, unit) in enumerate(zip(total, units, strict=True)):
        shares: list[int] = []
        for group in tree.groups.values():
            own = amount if group.parent is None else shares[group.parent]
            shares += group.divide(own, axis=axis, unit=unit, k=k)
        columns.append(shares)
    return dict(zip(tree.parents, zip(*columns, strict=True), strict=True))


def sibling_division(
    tree: DivisionTree, parent: str | None, amount: int, *, axis: int, unit: int, k: Fraction
) -> SiblingDivision:
    """Divide *amount* of one resource among the children of *parent*, and keep every step.

    With the parent's fair share as *amount* this is the arithmetic behind `fair_shares`.
    """
    group = tree.groups[parent]
    steps: list[DivisionStep] = []
    shares = group.divide(amount, axis=axis, unit=unit, k=k, steps=steps)
    return SiblingDivision(
        parent=parent,
        amount=amount,
        unit=unit,
        k=k,
        siblings=group.names,
        priorities=group.priorities,
        claims=group.claims[axis],
        shares=tuple(shares),
        steps=tuple(steps),
    )


def _rank(queue: ShareQueue) -> tuple[int, int, str]:
    return -queue.priority, queue.created_ms, queue.name


def _sibling_group(parent: int | None, siblings: Sequence[ShareQueue]) -> SiblingGroup:
    ranks = [(queue.priority, place) for place, queue in enumerate(siblings)]
    by_priority = [
        (priority, [place for _, place in members])
        for priority, members in groupby(ranks, key=itemgetter(0))
    ]
    levels = tuple(range(places[0], places[-1] + 1) for _, places in by_priority)
    claims = tuple(zip(*(queue.claims for queue in siblings), strict=True))
    return SiblingGroup(
        parent=parent,
        names=tuple(queue.name for queue in siblings),
        levels=levels,
        priorities=tuple(priority for priority, _ in by_priority),
        claims=claims,
        guarantees=tuple(_guarantees(column, levels) for column in claims),
    )


def _guarantees(claims: Sequence[Claim], levels: Sequence[range]) -> Guarantees | None:
    """Return step 1 once and for all, unless a sibling is guaranteed the whole amount."""
    if None in [claim.guaranteed for claim in claims]:
        return None
    return settle_guarantees(0, claims, levels)
