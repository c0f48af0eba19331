"""Fair shares of a tree, kept while requests, past usage and the total change a little at a time.

`division_tree.fair_shares` divides every group of siblings again, which after each change would
cost all that exists; here a change costs the groups whose shares it may alter. Two facts save the
most, where past usage does not count. First, a queue that lacks something may request more, or less
if it still lacks a unit, and nothing changes: every round offered it less than it needed, and would
do so again. Second, if there is enough for all siblings, each of them has what it needs, and no
round is needed to know: portions sum to all that remains, so while any sibling lacks something, a
round satisfies at least one.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import compress
from types import MappingProxyType
from typing import Final

from fairlead.fairness.division import Guarantees, divide_rest
from fairlead.fairness.division_level import Wanting
from fairlead.fairness.division_tree import DivisionTree, SiblingGroup

_NO_HISTORY: Final = Fraction(0)
_NONE_CHANGED: Final[Mapping[str, Sequence[int]]] = MappingProxyType({})


class KeptShares:
    """The fair share of every queue of a tree, on every resource."""

    def __init__(
        self,
        tree: DivisionTree,
        total: Sequence[int],
        *,
        units: Sequence[int],
        leftovers: bool = True,
    ) -> None:
        """Divide *total* as `fair_shares` does. *units* has one entry per resource.

        Without *leftovers* all shares are rounded down, as `divide_rest` says.
        """
        self._names = tuple(tree.parents)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._axes = [_Axis(tree, axis, unit, leftovers) for axis, unit in enumerate(units)]
        self._numbered = list(enumerate(self._axes))
        self.change({}, total)

    def change(
        self,
        requested: Mapping[str, Sequence[int]],
        total: Sequence[int],
        *,
        usages_e9: Mapping[str, Sequence[int]] = _NONE_CHANGED,
        k: Fraction = _NO_HISTORY,
    ) -> dict[str, tuple[int, ...]]:
        """Change the requests or the past usage of some queues; returns the shares that differ.

        Then all shares are what `fair_shares` would give with *k*; by default past usage does not
        count. Cost: that of one `divide` for
        each group that has to be divided again.
        """
        for name, amounts in requested.items():
            place = self._places[name]
            for at, axis in self._numbered:
                if amounts[at] != axis.requested[place]:
                    axis.request(place, amounts[at])
        for name, amounts in usages_e9.items() if usages_e9 else ():
            place = self._places[name]
            for axis, amount in zip(self._axes, amounts, strict=True):
                if amount != axis.usages_e9[place]:
                    axis.set_usage(place, amount)
        changed: set[int] = set()
        for at, axis in self._numbered:
            if axis.stale or total[at] != axis.total or k is not axis.k:
                axis.divide(total[at], k, changed)
        if not changed:
            return {}
        return {self._names[place]: self._share(place) for place in sorted(changed)}

    def shares(self) -> dict[str, tuple[int, ...]]:
        """Return the fair share of every queue, in the order of division."""
        return {name: self._share(place) for place, name in enumerate(self._names)}

    def _share(self, place: int) -> tuple[int, ...]:
        return tuple([axis.shares[place] for axis in self._axes])


class _Group:
    """The positions of some siblings in the list of all queues, and sums over them."""

    __slots__ = (
        "amount",
        "changed",
        "end",
        "first",
        "granted",
        "has_enough",
        "levels",
        "parent",
        "queues_with_usage",
        "unlimited",
        "wanted",
    )

    def __init__(self, first: int, siblings: SiblingGroup) -> None:
        self.first = first
        self.end = first + len(siblings.names)
        self.parent = siblings.parent
        self.levels = siblings.levels
        self.wanted = 0  # by all of them together
        self.granted = 0  # of their guarantees
        self.queues_with_usage = 0  # how many have past usage
        self.amount: int | None = None  # that was divided; None: not yet
        self.has_enough = False  # whether each had all that it needs then
        self.changed: set[int] = set()  # those with another request since then
        self.unlimited: list[int] = []  # those that are guaranteed the whole amount


class _Axis:
    """One resource: the claim and the share of each queue, at its position in the tree.

    The steps of the division that read one claim alone are kept for each position, so that another
    request costs its own steps, and those of its siblings only if they are divided again.
    """

    def __init__(self, tree: DivisionTree, axis: int, unit: int, leftovers: bool) -> None:
        claims = [claim for group in tree.groups.values() for claim in group.claims[axis]]
        self.shares = [0] * len(claims)
        self.requested = [0] * len(claims)
        self.usages_e9 = [0] * len(claims)
        self.total: int | None = None  # that was divided last; None: not yet
        self.k = _NO_HISTORY  # how strongly past usage counted then
        self._unit = unit
        self._leftovers = leftovers
        self._guaranteed = [claim.guaranteed for claim in claims]
        self._ceilings = [claim.ceiling for claim in claims]
        self._weights = [claim.weight for claim in claims]
        self._requestable = [0] * len(claims)
        self._granted = [0] * len(claims)  # of the guarantee
        self._needs = [0] * len(claims)  # beyond that, of queues with weight
        self._wants = [0] * len(claims)  # what each would have if there were enough
        self._groups: list[_Group] = []
        self._group_of: list[int] = []  # the group of each queue
        self._child_group: dict[int, int] = {}  # the group that divides the share of a queue
        for number, siblings in enumerate(tree.groups.values()):
            if siblings.parent is not None:
                self._child_group[siblings.parent] = number
            group = _Group(len(self._group_of), siblings)
            self._groups.append(group)
            self._group_of += [number] * len(siblings.names)
            places = range(group.first, group.end)
            group.unlimited = [place for place in places if self._guaranteed[place] is None]
        self.stale: list[int] = []  # groups to divide again; a heap: parents come first
        for place, claim in enumerate(claims):
            self.request(place, claim.requested)
            self.set_usage(place, claim.usage_e9)
        self.stale = list(range(len(self._groups)))

    def request(self, place: int, requested: int) -> None:
        """Change the request of one queue; its share stays as before until all is divided."""
        self.requested[place] = requested
        ceiling = self._ceilings[place]
        most = requested if ceiling is None or requested < ceiling else ceiling
        if most == self._requestable[place]:
            return
        self._requestable[place] = most
        number = self._group_of[place]
        group = self._groups[number]
        self._grant(group, place)
        before = self._wants[place]
        # A queue without weight gets no more than its guarantee.
        is_bounded = not self._weights[place] and self._guaranteed[place] is not None
        now = self._wants[place] = self._granted[place] if is_bounded else most
        group.wanted += now - before
        share = self.shares[place]
        # A round compares needs with portions that are not yet rounded down to whole units.
        lacks_still = share < before < now or share + self._unit <= now < before
        if now != before:
            group.changed.add(place)
            if not lacks_still or self._has_history(group):
                heappush(self.stale, number)

    def set_usage(self, place: int, usage_e9: int) -> None:
        """Change the past usage of one queue; its share stays as before until all is divided."""
        before = self.usages_e9[place]
        self.usages_e9[place] = usage_e9
        number = self._group_of[place]
        self._groups[number].queues_with_usage += (usage_e9 > 0) - (before > 0)
        heappush(self.stale, number)

    def divide(self, total: int, k: Fraction, changed: set[int]) -> None:
        """Bring all shares up to date; *changed* gets the positions of those that changed."""
        stale, groups, shares = self.stale, self._groups, self.shares
        if total != self.total:
            self.total = total
            if groups:
                heappush(stale, 0)
        if k is not self.k:  # which is quicker to see than that they are equal
            self._set_k(k)
        last = -1
        while stale:
            number = heappop(stale)
            if number == last:
                continue
            last = number
            group = groups[number]
            divided = self._divided(group, total if group.parent is None else shares[group.parent])
            for place, share in divided:
                if share != shares[place]:
                    shares[place] = share
                    changed.add(place)
                    if place in self._child_group:
                        heappush(stale, self._child_group[place])

    def _set_k(self, k: Fraction) -> None:
        """Set how strongly past usage counts from now on."""
        is_other, self.k = k != self.k, k
        for number, group in enumerate(self._groups if is_other else ()):
            if group.queues_with_usage:
                heappush(self.stale, number)

    def _divided(self, group: _Group, amount: int) -> Iterable[tuple[int, int]]:
        """Return the queues whose share may have changed, and the shares."""
        if amount != group.amount:
            group.amount = amount
            for place in group.unlimited:
                most = self._requestable[place]
                if self._granted[place] != (amount if amount < most else most):  # else as before
                    self._grant(group, place)
        had_enough, has_history = group.has_enough, self._has_history(group)
        has_enough = group.has_enough = amount >= group.wanted and not has_history
        first, end = group.first, group.end
        divided: Iterable[tuple[int, int]] = ()
        if has_enough and had_enough:
            divided = [(place, self._wants[place]) for place in group.changed]
        else:
            shares = self._wants[first:end]
            if not has_enough:
                shares = self._divided_when_short(group, amount, has_history)
            if shares != self.shares[first:end]:
                divided = enumerate(shares, start=first)
        group.changed.clear()
        return divided

    def _divided_when_short(self, group: _Group, amount: int, has_history: bool) -> list[int]:
        """Return the shares of siblings if there is too little for all of them."""
        first, end = group.first, group.end
        granted = self._granted[first:end]
        if amount <= group.granted:
            return granted
        levels = tuple([self._wanting(first, level, has_history) for level in group.levels])
        requestable = tuple(self._requestable[first:end])
        guarantees = Guarantees(requestable, tuple(granted), group.granted, levels)
        return divide_rest(amount, guarantees, unit=self._unit, k=self.k, leftovers=self._leftovers)

    def _grant(self, group: _Group, place: int) -> None:
        """Grant a queue its guarantee, as far as it is requested and permitted."""
        most, guaranteed = self._requestable[place], self._guaranteed[place]
        if guaranteed is None:
            guaranteed = group.amount or 0
        granted = guaranteed if guaranteed < most else most
        group.granted += granted - self._granted[place]
        self._granted[place] = granted
        self._needs[place] = most - granted if self._weights[place] else 0

    def _wanting(self, first: int, level: range, has_history: bool) -> Wanting:
        """Return which siblings take part in the rounds."""
        part = slice(first + level.start, first + level.stop)
        needs = self._needs[part]
        return Wanting(
            siblings=tuple(compress(level, needs)),
            needs=tuple(filter(None, needs)),
            weights=tuple(compress(self._weights[part], needs)),
            usages_e9=tuple(compress(self.usages_e9[part], needs)) if has_history else (),
        )

    def _has_history(self, group: _Group) -> bool:
        """Return whether past usage counts: then a queue that has used enough may get nothing."""
        return group.queues_with_usage > 0 and self.k > 0
