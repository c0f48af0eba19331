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
from fairlead.policy.kueue.workloads import AdmittedWorkload, EvictionKey, Usage

_Sort: TypeAlias = tuple[int, Usage, bool]
"""Priority, use and whether it is protected: who is alike in these is mostly asked alike."""


class CandidateFilter(msgspec.Struct, frozen=True, gc=False):
    """In which way a claim asks: whom its rules let it ask, and on which axes it lacks quota."""

    policy: Literal["Never", "LowerPriority", "Any"]
    priority: int  # 0 unless the policy looks at it, so that equal ways are equal
    need: frozenset[int]
    spared: frozenset[WorkloadName] = frozenset()  # nobody of these; empty for nearly all claims
    unprotected_only: bool = False


class FilteredCandidates(NamedTuple):
    """Those of a line who may be asked, and the usages that occur among them."""

    workloads: list[AdmittedWorkload]
    usages: list[Usage]


class AdmittedWorkloads:
    """Holders in the order of giving way."""

    __slots__ = ("_keys", "_some_matching", "_sorts", "_uniform_matching", "workloads")

    def __init__(
        self, admitted: list[AdmittedWorkload], keys: list[EvictionKey], sorts: dict[_Sort, int]
    ) -> None:
        """Take over *holders* in their order, their *keys*, and how many there are of each sort."""
        self.workloads = admitted
        self._keys = keys
        self._sorts = sorts
        self._uniform_matching: dict[
            CandidateFilter, FilteredCandidates
        ] = {}  # where it is everybody, or nobody
        self._some_matching: dict[
            CandidateFilter, FilteredCandidates
        ] = {}  # where it is some of the line

    def copy(self) -> "AdmittedWorkloads":
        """Return a line of the same that changes on its own from now on."""
        return AdmittedWorkloads(self.workloads.copy(), self._keys.copy(), self._sorts.copy())

    def add(self, admitted: AdmittedWorkload) -> None:
        """Let one more stand in the line. Cost: finding its place."""
        key, sort = admitted.key(), _sort_of(admitted)
        at = bisect_left(self._keys, key)
        self._keys.insert(at, key)
        self.workloads.insert(at, admitted)
        count = self._sorts[sort] = self._sorts.get(sort, 0) + 1
        self._forget(is_other_sort=count == 1)

    def remove(self, admitted: AdmittedWorkload) -> None:
        """Let *holder*, told to leave or not, be gone; it may have been seen otherwise before.

        Cost: finding its place.
        """
        told, *rest = admitted.key()
        keys, sorts = self._keys, self._sorts
        for key in ((told, *rest), (not told, *rest)):
            at = bisect_left(keys, key)
            if at < len(keys) and keys[at] == key:
                sort = _sort_of(self.workloads[at])
                del keys[at], self.workloads[at]
                sorts[sort] -= 1
                is_last = not sorts[sort]
                if is_last:
                    del sorts[sort]
                self._forget(is_other_sort=is_last)
                return

    def _forget(self, *, is_other_sort: bool) -> None:
        """Forget what was found out about another line than this one is now."""
        self._some_matching.clear()
        if is_other_sort:
            self._uniform_matching.clear()

    def matching(self, candidate_filter: CandidateFilter) -> FilteredCandidates:
        """Return who may be asked and uses something of what is needed; not to be changed.

        Cost: the sorts of holders, once for each way of asking; where it tells them apart, the
        holders.
        """
        asked = self._uniform_matching.get(candidate_filter)
        if asked is None:
            asked = self._some_matching.get(candidate_filter)
        if asked is None:
            asked = self._find(candidate_filter)
            is_some = bool(asked.workloads) and asked.workloads is not self.workloads
            (self._some_matching if is_some else self._uniform_matching)[candidate_filter] = asked
        return asked

    def _find(self, candidate_filter: CandidateFilter) -> FilteredCandidates:
        sorts = [sort for sort in self._sorts if _is_asked(sort, candidate_filter)]
        usages = list(dict.fromkeys([usage for _, usage, _ in sorts]))
        if not sorts:
            return FilteredCandidates([], usages)
        if len(sorts) == len(self._sorts) and not candidate_filter.spared:
            return FilteredCandidates(self.workloads, usages)
        line = [
            admitted
            for admitted in self.workloads
            if _sort_of(admitted) in sorts and admitted.name not in candidate_filter.spared
        ]
        if candidate_filter.spared:
            usages = list(dict.fromkeys([admitted.usage for admitted in line]))
        return FilteredCandidates(line, usages)


def sort_admitted(admitted: Iterable[AdmittedWorkload]) -> AdmittedWorkloads:
    """Return the line of *holders*. Cost: sorting them."""
    line = sorted(admitted, key=AdmittedWorkload.key)
    return AdmittedWorkloads(
        line, list(map(AdmittedWorkload.key, line)), dict(Counter(map(_sort_of, line)))
    )


def _sort_of(admitted: AdmittedWorkload) -> _Sort:
    return admitted.priority, admitted.usage, admitted.is_protected


def _is_asked(sort: _Sort, candidate_filter: CandidateFilter) -> bool:
    """Return whether *asking* concerns all of a sort who are not spared by name."""
    priority, usage, is_protected = sort
    if candidate_filter.policy == "Never" or (is_protected and candidate_filter.unprotected_only):
        return False
    if candidate_filter.policy == "LowerPriority" and priority >= candidate_filter.priority:
        return False
    return any(axis in candidate_filter.need for axis, _ in usage)
