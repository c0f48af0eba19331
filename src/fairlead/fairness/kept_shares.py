"""Fair shares of a tree, kept while requests, past use and the total change, a few at a time.

`division_tree.fair_shares` divides every group of siblings anew. Whoever asks after each change
would pay for all that exists; here a change costs the groups whose shares it may alter. Two facts
spare the most, where past use does not count:

- One who lacks something may ask for more, or for less if it still lacks a unit, and nothing
  changes: every round offered it less than it needed, and so it would again.
- Where there is enough for all siblings, everybody has what it wants. No round is needed to know:
  portions add up to all that remains, so as long as somebody lacks something, a round satisfies
  somebody.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from fairlead.fairness.division import (
    Claim,
    Guarantees,
    divide_rest,
    settle_again,
    settle_guarantees,
)
from fairlead.fairness.division_tree import DivisionTree

_NO_HISTORY: Final = Fraction(0)
MOST_SETTLED_AGAIN: Final = 2
"""How many claims of a group are looked at one by one; more of them together with all others."""
_NOBODY: Final[Mapping[str, Sequence[int]]] = MappingProxyType({})


class KeptShares:
    """The fair share of every queue of a tree, on every resource."""

    def __init__(self, tree: DivisionTree, total: Sequence[int], *, units: Sequence[int]) -> None:
        """Divide *total* as `fair_shares` does. *units* has one entry per resource."""
        self._names = tuple(tree.parents)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._axes = [_Axis(tree, axis, unit) for axis, unit in enumerate(units)]
        self.change({}, total)

    def change(
        self,
        requested: Mapping[str, Sequence[int]],
        total: Sequence[int],
        *,
        usages_e9: Mapping[str, Sequence[int]] = _NOBODY,
        k: Fraction = _NO_HISTORY,
    ) -> dict[str, tuple[int, ...]]:
        """Let some queues request other amounts, or have used others; return what now differs.

        From then on everybody has what `fair_shares` would give with *k*. Cost: that of one
        `divide` for each group that has to be divided again.
        """
        for change, rows in ((_Axis.request, requested), (_Axis.count_use, usages_e9)):
            for name, amounts in rows.items():
                place = self._places[name]
                for axis, amount in zip(self._axes, amounts, strict=True):
                    change(axis, place, amount)
        changed: set[int] = set()
        for axis, amount in zip(self._axes, total, strict=True):
            changed.update(axis.divide(amount, k))
        return {self._names[place]: self._share(place) for place in sorted(changed)}

    def shares(self) -> dict[str, tuple[int, ...]]:
        """The fair share of every queue, in the order of division."""
        return {name: self._share(place) for place, name in enumerate(self._names)}

    def _share(self, place: int) -> tuple[int, ...]:
        return tuple([axis.shares[place] for axis in self._axes])


class _Group:
    """The places of some siblings in the list of all queues, and what follows from their claims."""

    __slots__ = (
        "amount",
        "changed",
        "end",
        "first",
        "guarantees",
        "is_owed_all",
        "levels",
        "parent",
        "users",
        "wanted",
    )

    def __init__(self, first: int, parent: int | None, levels: tuple[range, ...]) -> None:
        self.first = self.end = first
        self.parent = parent
        self.levels = levels
        self.wanted = 0  # by all of them together
        self.users = 0  # how many have a past use
        self.amount: int | None = None  # that was divided; None: not yet
        self.guarantees: Guarantees | None = None  # None: to be worked out
        self.is_owed_all = False  # whether one is guaranteed all there is
        self.changed: set[int] = set()  # whose claims differ from those of the guarantees


class _Axis:
    """One resource: what everybody claims and has of it, each queue at its place in the tree."""

    def __init__(self, tree: DivisionTree, axis: int, unit: int) -> None:
        self.shares = [0] * len(tree.parents)
        self._unit = unit
        self._k = _NO_HISTORY
        self._claims: list[Claim] = []
        self._wants: list[int] = []  # what each would have if there were enough
        self._groups: list[_Group] = []
        self._group_of: list[int] = []  # to which each queue belongs
        self._beneath: dict[int, int] = {}  # which group divides the share of a queue
        for number, siblings in enumerate(tree.groups.values()):
            if siblings.parent is not None:
                self._beneath[siblings.parent] = number
            group = _Group(len(self._claims), siblings.parent, siblings.levels)
            self._groups.append(group)
            self._claims += siblings.claims[axis]
            self._wants += map(_want, siblings.claims[axis])
            self._group_of += [number] * len(siblings.names)
            group.end = len(self._claims)
            group.wanted = sum(self._wants[group.first : group.end])
            group.is_owed_all = any(claim.guaranteed is None for claim in siblings.claims[axis])
            group.users = sum([claim.usage_e9 > 0 for claim in siblings.claims[axis]])
        self._stale = list(range(len(self._groups)))  # a heap: parents come first

    def request(self, place: int, requested: int) -> None:
        """Let one queue request another amount; its share is as before until all is divided."""
        claim = self._claims[place]
        if requested == claim.requested:
            return
        claim = self._claims[place] = replace(claim, requested=requested)
        number = self._group_of[place]
        group = self._groups[number]
        group.changed.add(place - group.first)
        before, now = self._wants[place], _want(claim)
        self._wants[place] = now
        group.wanted += now - before
        share = self.shares[place]
        # A round compares needs with portions that are not yet rounded down to whole units.
        lacks_still = share < before < now or share + self._unit <= now < before
        if now != before and (self._has_history(group) or not lacks_still):
            heappush(self._stale, number)

    def count_use(self, place: int, usage_e9: int) -> None:
        """Let one queue have used another part; its share is as before until all is divided."""
        before = self._claims[place]
        if usage_e9 == before.usage_e9:
            return
        self._claims[place] = replace(before, usage_e9=usage_e9)
        number = self._group_of[place]
        group = self._groups[number]
        group.changed.add(place - group.first)
        group.users += (usage_e9 > 0) - (before.usage_e9 > 0)
        heappush(self._stale, number)

    def divide(self, total: int, k: Fraction) -> list[int]:
        """Bring all shares up to date; return the places of those that changed."""
        changed: list[int] = []
        stale, groups, shares = self._stale, self._groups, self.shares
        if groups and groups[0].amount != total:
            heappush(stale, 0)
        self._weigh(k)
        last = -1
        while stale:
            number = heappop(stale)
            if number == last:
                continue
            last = number
            group = groups[number]
            divided = self._divided(group, total if group.parent is None else shares[group.parent])
            if divided == shares[group.first : group.end]:
                continue
            for place, share in enumerate(divided, start=group.first):
                if share != shares[place]:
                    shares[place] = share
                    changed.append(place)
                    if place in self._beneath:
                        heappush(stale, self._beneath[place])
        return changed

    def _weigh(self, k: Fraction) -> None:
        """Let past use count so much from now on."""
        if k != self._k:
            self._k = k
            for number, group in enumerate(self._groups):
                if group.users:
                    heappush(self._stale, number)

    def _divided(self, group: _Group, amount: int) -> list[int]:
        if amount != group.amount:
            group.amount = amount
            if group.is_owed_all:
                group.guarantees = None
        if amount >= group.wanted and not self._has_history(group):
            return self._wants[group.first : group.end]
        return divide_rest(amount, self._settled(group, amount), unit=self._unit, k=self._k)

    def _settled(self, group: _Group, amount: int) -> Guarantees:
        """Return what is guaranteed to the siblings of a group, at the cost of what changed."""
        claims, levels, guarantees = self._claims[group.first : group.end], group.levels, None
        if len(group.changed) <= MOST_SETTLED_AGAIN:
            guarantees = group.guarantees
        if guarantees is None:
            guarantees = settle_guarantees(amount, claims, levels)
        else:
            for position in group.changed:
                guarantees = settle_again(guarantees, position, amount, claims, levels)
        group.changed.clear()
        group.guarantees = guarantees
        return guarantees

    def _has_history(self, group: _Group) -> bool:
        """Return whether past use counts: then who has used enough may get nothing for a while."""
        return group.users > 0 and self._k > 0


def _want(claim: Claim) -> int:
    """Return what one would have if there were enough: without weight no more than guaranteed."""
    want = claim.requested
    if claim.ceiling is not None and claim.ceiling < want:
        want = claim.ceiling
    if not claim.weight and claim.guaranteed is not None and claim.guaranteed < want:
        want = claim.guaranteed
    return want
