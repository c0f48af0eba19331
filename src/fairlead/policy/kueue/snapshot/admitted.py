"""The admitted workloads of one ClusterQueue, and which of them are candidates for preemption.

Most preemptors of a cycle filter candidates in the same few ways. The candidates depend on the
admitted workloads and on the filter alone, so each answer is kept as long as it holds. An answer
that is the whole queue, as most are, holds until there is another profile of workloads.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.policy.kueue.workloads import AdmittedWorkload, EvictionKey, Usage

_Profile: TypeAlias = tuple[int, Usage, bool]
"""Priority, usage and whether it is protected: most filters look at nothing else."""


class CandidateFilter(msgspec.Struct, frozen=True, gc=False):
    """Which workloads a preemptor may preempt by its rules, and on which axes it lacks quota."""

    policy: Literal["Never", "LowerPriority", "Any"]
    priority: int  # 0 unless the policy looks at it, so that equal filters are equal
    need: frozenset[int]
    spared: frozenset[WorkloadName] = frozenset()  # none of these; empty for nearly all preemptors
    unprotected_only: bool = False


class FilteredCandidates(NamedTuple):
    """The workloads of a queue that pass a filter, and the usages that occur among them."""

    workloads: list[AdmittedWorkload]
    usages: list[Usage]


class AdmittedWorkloads:
    """Admitted workloads in the order of eviction."""

    __slots__ = ("_keys", "_profiles", "_some_matching", "_uniform_matching", "workloads")

    def __init__(
        self,
        admitted: list[AdmittedWorkload],
        keys: list[EvictionKey],
        profiles: dict[_Profile, int],
    ) -> None:
        """Take over *admitted* in their order, their *keys*, and the count of each profile."""
        self.workloads = admitted
        self._keys = keys
        self._profiles = profiles
        self._uniform_matching: dict[
            CandidateFilter, FilteredCandidates
        ] = {}  # all of the queue, or none
        self._some_matching: dict[CandidateFilter, FilteredCandidates] = {}  # some of the queue

    def copy(self) -> "AdmittedWorkloads":
        """Return the same workloads, to be changed independently from now on."""
        return AdmittedWorkloads(self.workloads.copy(), self._keys.copy(), self._profiles.copy())

    def add(self, admitted: AdmittedWorkload) -> None:
        """Add a workload. Cost: finding its place."""
        key, profile = admitted.key(), _profile_of(admitted)
        at = bisect_left(self._keys, key)
        self._keys.insert(at, key)
        self.workloads.insert(at, admitted)
        count = self._profiles[profile] = self._profiles.get(profile, 0) + 1
        self._forget(is_other_profile=count == 1)

    def remove(self, admitted: AdmittedWorkload) -> None:
        """Remove a workload, evicted or not; it may have been evicted since it was added.

        Cost: finding its place.
        """
        is_staying, *rest = admitted.key()
        keys, profiles = self._keys, self._profiles
        for key in ((is_staying, *rest), (not is_staying, *rest)):
            at = bisect_left(keys, key)
            if at < len(keys) and keys[at] == key:
                profile = _profile_of(self.workloads[at])
                del keys[at], self.workloads[at]
                profiles[profile] -= 1
                is_last = not profiles[profile]
                if is_last:
                    del profiles[profile]
                self._forget(is_other_profile=is_last)
                return

    def _forget(self, *, is_other_profile: bool) -> None:
        """Forget answers that may not hold any more."""
        self._some_matching.clear()
        if is_other_profile:
            self._uniform_matching.clear()

    def matching(self, candidate_filter: CandidateFilter) -> FilteredCandidates:
        """Return the workloads that pass a filter and use something of what is needed.

        Not to be changed. Cost: the profiles, once for each filter; where it tells some of them
        apart, the workloads.
        """
        found = self._uniform_matching.get(candidate_filter)
        if found is None:
            found = self._some_matching.get(candidate_filter)
        if found is None:
            found = self._find(candidate_filter)
            is_some = bool(found.workloads) and found.workloads is not self.workloads
            (self._some_matching if is_some else self._uniform_matching)[candidate_filter] = found
        return found

    def _find(self, candidate_filter: CandidateFilter) -> FilteredCandidates:
        profiles = [profile for profile in self._profiles if _passes(profile, candidate_filter)]
        usages = list(dict.fromkeys([usage for _, usage, _ in profiles]))
        if not profiles:
            return FilteredCandidates([], usages)
        if len(profiles) == len(self._profiles) and not candidate_filter.spared:
            return FilteredCandidates(self.workloads, usages)
        workloads = [
            admitted
            for admitted in self.workloads
            if _profile_of(admitted) in profiles and admitted.name not in candidate_filter.spared
        ]
        if candidate_filter.spared:
            usages = list(dict.fromkeys([admitted.usage for admitted in workloads]))
        return FilteredCandidates(workloads, usages)


def sort_admitted(admitted: Iterable[AdmittedWorkload]) -> AdmittedWorkloads:
    """Return *admitted* in the order of eviction. Cost: sorting them."""
    workloads = sorted(admitted, key=AdmittedWorkload.key)
    return AdmittedWorkloads(
        workloads,
        list(map(AdmittedWorkload.key, workloads)),
        dict(Counter(map(_profile_of, workloads))),
    )


def _profile_of(admitted: AdmittedWorkload) -> _Profile:
    return admitted.priority, admitted.usage, admitted.is_protected


def _passes(profile: _Profile, candidate_filter: CandidateFilter) -> bool:
    """Return whether workloads of a profile pass a filter unless they are spared by name."""
    priority, usage, is_protected = profile
    if candidate_filter.policy == "Never" or (is_protected and candidate_filter.unprotected_only):
        return False
    if candidate_filter.policy == "LowerPriority" and priority >= candidate_filter.priority:
        return False
    return any(axis in candidate_filter.need for axis, _ in usage)
