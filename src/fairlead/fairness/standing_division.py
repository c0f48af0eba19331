"""Fair shares of a tree of queues that is divided again and again, a little different each time.

Between two divisions mostly one queue asks for something else. That concerns its siblings and those
of the queues above it; the others divide the same amount among the same claims as before.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from fairlead.fairness.division_tree import DivisionTree, SiblingGroup


class _Divided(NamedTuple):
    group: SiblingGroup
    amounts: tuple[int, ...]
    k: Fraction


class StandingDivision:
    """The shares of the last division, and what they came from."""

    def __init__(self, units: Sequence[int]) -> None:
        """Hand out each resource in its own of *units*. Nothing is divided yet."""
        self._units = tuple(units)
        self._divided: dict[str | None, _Divided] = {}
        self._shares: dict[str, tuple[int, ...]] = {}

    @property
    def shares(self) -> Mapping[str, tuple[int, ...]]:
        """What every queue is entitled to, per resource."""
        return self._shares

    def divide(self, tree: DivisionTree, total: Sequence[int], k: Fraction) -> list[str]:
        """Divide *total* among the queues of *tree*; return those whose shares are others now.

        It has the queues of the tree before, mostly with the same groups (see `with_claims`). Law:
        the shares are those of `fair_shares`. Cost: the groups that changed, and those that divide
        another amount.
        """
        changed: list[str] = []
        for parent, group in tree.groups.items():
            amounts = tuple(total) if parent is None else self._shares[parent]
            known = self._divided.get(parent)
            if known is not None and known.group is group and known[1:] == (amounts, k):
                continue
            self._divided[parent] = _Divided(group, amounts, k)
            columns = [
                group.divide(amount, axis=axis, unit=unit, k=k)
                for axis, (amount, unit) in enumerate(zip(amounts, self._units, strict=True))
            ]
            for name, share in zip(group.names, zip(*columns, strict=True), strict=True):
                if self._shares.get(name) != share:
                    self._shares[name] = share
                    changed.append(name)
        return changed
