"""The workloads that hold quota of one ClusterQueue, and whom of them others may ask.

Most claims of a cycle ask in the same few ways. Whom a claim may ask depends on the holders and on
the way of asking alone, so each answer is kept as long as it holds. An answer that is the whole
line, as most are, holds until there is a sort of holders more or less.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.policy.kueue.workloads import Holder, HolderKey, Usage

_Sort: TypeAlias = tuple[int, Usage, bool]
"""Priority, use and whether it is protected: who is alike in these is mostly asked alike."""


class Asking(msgspec.Struct, frozen=True, gc=False):
    """In which way a claim asks: whom its rules let it ask, and on which axes it lacks quota."""

    policy: Literal["Never", "LowerPriority", "Any"]
    priority: int  # 0 unless the policy looks at it, so that equal ways are equal
    need: frozenset[int]
    spared: frozenset[WorkloadName] = frozenset()  # nobody of these; empty for nearly all claims
    unprotected_only: bool = False


class Asked(NamedTuple):
    """Those of a line who may be asked, and the usages that occur among them."""

    holders: list[Holder]
    usages: list[Usage]


class HolderLine:
    """Holders in the order of giving way."""

    __slots__ = ("_asked", "_keys", "_picked", "_sorts", "holders")

    def __init__(
        self, holders: list[Holder], keys: list[HolderKey], sorts: dict[_Sort, int]
    ) -> None:
        """Take over *holders* in their order, their *keys*, and how many there are of each sort."""
        self.holders = holders
        self._keys = keys
        self._sorts = sorts
        self._asked: dict[Asking, Asked] = {}  # where it is everybody, or nobody
        self._picked: dict[Asking, Asked] = {}  # where it is some of the line

    def copy(self) -> "HolderLine":
        """Return a line of the same that changes on its own from now on."""
        return HolderLine(self.holders.copy(), self._keys.copy(), self._sorts.copy())

    def add(self, holder: Holder) -> None:
        """Let one more stand in the line. Cost: finding its place."""
        key, sort = holder.key(), _sort_of(holder)
        at = bisect_left(self._keys, key)
        self._keys.insert(at, key)
        self.holders.insert(at, holder)
        count = self._sorts[sort] = self._sorts.get(sort, 0) + 1
        self._forget(is_other_sort=count == 1)

    def remove(self, holder: Holder) -> None:
        """Let *holder*, told to leave or not, be gone; it may have been seen otherwise before.

        Cost: finding its place.
        """
        told, *rest = holder.key()
        keys, sorts = self._keys, self._sorts
        for key in ((told, *rest), (not told, *rest)):
            at = bisect_left(keys, key)
            if at < len(keys) and keys[at] == key:
                sort = _sort_of(self.holders[at])
                del keys[at], self.holders[at]
                sorts[sort] -= 1
                is_last = not sorts[sort]
                if is_last:
                    del sorts[sort]
                self._forget(is_other_sort=is_last)
                return

    def _forget(self, *, is_other_sort: bool) -> None:
        """Forget what was found out about another line than this one is now."""
        self._picked.clear()
        if is_other_sort:
            self._asked.clear()

    def whom(self, asking: Asking) -> Asked:
        """Return who may be asked and uses something of what is needed; not to be changed.

        Cost: the sorts of holders, once for each way of asking; where it tells them apart, the
        holders.
        """
        asked = self._asked.get(asking)
        if asked is None:
            asked = self._picked.get(asking)
        if asked is None:
            asked = self._find(asking)
            is_some = bool(asked.holders) and asked.holders is not self.holders
            (self._picked if is_some else self._asked)[asking] = asked
        return asked

    def _find(self, asking: Asking) -> Asked:
        sorts = [sort for sort in self._sorts if _is_asked(sort, asking)]
        usages = list(dict.fromkeys([usage for _, usage, _ in sorts]))
        if not sorts:
            return Asked([], usages)
        if len(sorts) == len(self._sorts) and not asking.spared:
            return Asked(self.holders, usages)
        line = [
            holder
            for holder in self.holders
            if _sort_of(holder) in sorts and holder.name not in asking.spared
        ]
        if asking.spared:
            usages = list(dict.fromkeys([holder.usage for holder in line]))
        return Asked(line, usages)


def line_up(holders: Iterable[Holder]) -> HolderLine:
    """Return the line of *holders*. Cost: sorting them."""
    line = sorted(holders, key=Holder.key)
    return HolderLine(line, list(map(Holder.key, line)), dict(Counter(map(_sort_of, line))))


def _sort_of(holder: Holder) -> _Sort:
    return holder.priority, holder.usage, holder.is_protected


def _is_asked(sort: _Sort, asking: Asking) -> bool:
    """Return whether *asking* concerns all of a sort who are not spared by name."""
    priority, usage, is_protected = sort
    if asking.policy == "Never" or (is_protected and asking.unprotected_only):
        return False
    if asking.policy == "LowerPriority" and priority >= asking.priority:
        return False
    return any(axis in asking.need for axis, _ in usage)
