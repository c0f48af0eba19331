"""The workloads that hold quota of one ClusterQueue, and whom of them others may ask.

Most claims of a cycle ask in the same few ways. Whom a claim may ask depends on the holders and on
the way of asking alone, so each answer is kept as long as the line stands: a line never changes,
and one without somebody is another line.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Literal, NamedTuple

from fairlead.model.axes import WorkloadName
from fairlead.policy.kueue.holder import Holder, Usage


class Asking(NamedTuple):
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

    __slots__ = ("_asked", "holders")

    def __init__(self, holders: Iterable[Holder]) -> None:
        """Line up *holders*. Cost: sorting them."""
        self.holders = sorted(holders, key=Holder.key)
        self._asked: dict[Asking, Asked] = {}

    def with_one(self, holder: Holder) -> "HolderLine":
        """Return the line in which one more stands. Cost: a copy of it."""
        line = self.holders.copy()
        insort(line, holder, key=Holder.key)
        return _in_order(line)

    def without(self, holder: Holder) -> "HolderLine":
        """Return the line that is left when *holder*, told to leave or not, has gone.

        Cost: a copy of it.
        """
        line = self.holders.copy()
        for told in (holder.is_evicted, not holder.is_evicted):
            key = holder._replace(is_evicted=told).key()
            at = bisect_left(line, key, key=Holder.key)
            if at < len(line) and line[at].name == holder.name:
                del line[at]
                break
        return _in_order(line)

    def whom(self, asking: Asking) -> Asked:
        """Return who may be asked and uses something of what is needed; not to be changed.

        Cost: the holders, once for each way of asking.
        """
        asked = self._asked.get(asking)
        if asked is None:
            asked = self._asked[asking] = self._find(asking)
        return asked

    def _find(self, asking: Asking) -> Asked:
        line = self.holders
        if asking.policy == "Never":
            line = []
        if asking.policy == "LowerPriority":
            line = [holder for holder in line if holder.priority < asking.priority]
        if asking.unprotected_only:
            line = [holder for holder in line if not holder.is_protected]
        if asking.spared:
            line = [holder for holder in line if holder.name not in asking.spared]
        usages = dict.fromkeys(holder.usage for holder in line)
        helping = [each for each in usages if any(axis in asking.need for axis, _ in each)]
        if len(helping) < len(usages):
            line = [holder for holder in line if holder.usage in helping]
        return Asked(line, helping)


def _in_order(holders: list[Holder]) -> HolderLine:
    """Return a line of *holders*, which stand in their order already."""
    line = HolderLine(())
    line.holders = holders
    return line
