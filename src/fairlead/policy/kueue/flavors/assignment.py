"""Which flavor each resource of a pending workload takes, and what that would need.

Resources of a group take one flavor together; the flavors are tried in order. A flavor may fit, fit
once victims have left, or not at all; and it may need quota from high up in the tree. How the two
weigh against each other, and when the search stops, is for the ClusterQueue to say.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

import msgspec

from fairlead.model.axes import QueueName, QuotaAxes
from fairlead.model.queue import FlavorFungibility, ResourceGroup
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Demand, PendingWorkload, Preemptor, Usage


class AssignmentMode(IntEnum):
    """How a request could be met, the best one last."""

    NO_FIT = 0
    NO_CANDIDATES = 1  # only by preemption, and there are no candidates
    PREEMPT = 2  # of workloads of its own queue, or of several
    RECLAIM = 3  # of workloads of other queues alone
    FIT = 4


class ResourceFit(NamedTuple):
    """How one resource of a flavor could be met."""

    axis: int
    mode: AssignmentMode
    borrow: int  # how high in the tree quota is borrowed from; 0: not at all


class FlavorTrial(NamedTuple):
    """How one resource of a pod set was judged on one flavor, whether it was taken or not."""

    pod_set: int  # which one, from 0
    group: int  # which of the resource groups of its ClusterQueue
    resource: str
    flavor: str
    amount: int  # of all its pods, with what earlier pod sets took of the same axis
    fit: ResourceFit
    available: int  # negative where more is in use than is allowed
    potential: int


class _Progress(NamedTuple):
    """How far one assignment has come."""

    head: PendingWorkload
    taken: dict[int, int]  # by axis
    trials: list[FlavorTrial] | None  # None: not wanted


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """The flavors of every pod set, and how the worst resource could be met."""

    mode: AssignmentMode
    flavors: tuple[dict[str, str], ...]
    usage: Usage
    need: frozenset[int]  # axes on which victims are needed
    borrow: int


FindTargets: TypeAlias = Callable[[Preemptor], Sequence[Target]]
"""Returns the victims of a preemptor; none if it cannot fit."""


class FlavorAssigner:
    """Assigns flavors on one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        axes: QuotaAxes,
        find_targets: FindTargets,
        *,
        fair_sharing: bool,
    ) -> None:
        """Judge by *snapshot* as it is at each call, which *find_targets* searches too."""
        self._snapshot = snapshot
        self._axes = axes
        self._find_targets = find_targets
        self._fair_sharing = fair_sharing

    def assign(
        self,
        head: PendingWorkload,
        only: Sequence[Mapping[str, str]] | None = None,
        trials: list[FlavorTrial] | None = None,
    ) -> Assignment | None:
        """Return the best flavors of *head*; None if some resource cannot be met by any.

        *only* are the flavors to take, by pod set and resource, if they are settled already. What
        was tried is added to *trials*, in the order of trying; if some resource cannot be met, the
        last pod set and resource group there are those at which it failed.
        """
        progress = _Progress(head, {}, trials)
        all_fits: list[ResourceFit] = []
        flavors: list[dict[str, str]] = []
        for at in range(len(head.demands)):
            found = self._assign_set(progress, at, None if only is None else only[at])
            if found is None:
                return None
            flavors.append(found[0])
            all_fits += found[1]
        return _assignment(flavors, all_fits, progress.taken)

    def _assign_set(
        self, progress: _Progress, at: int, settled: Mapping[str, str] | None
    ) -> tuple[dict[str, str], list[ResourceFit]] | None:
        """Return the flavors of one pod set and how each is met, and count them as taken."""
        demand, taken = progress.head.demands[at], progress.taken
        groups = self._snapshot.rules[progress.head.queue].resource_groups
        chosen: dict[str, str] = {}
        all_fits: list[ResourceFit] = []
        for number, requested in demand_by_group(groups, demand):
            allowed = None if demand.flavors is None else demand.flavors[number]
            if settled is not None:
                allowed = {settled[name] for name in requested}
            best = self._best_flavor(progress, (at, number), requested, allowed)
            if best is None:
                return None
            flavor, fits = best
            all_fits += fits
            for fit, amount in zip(fits, requested.values(), strict=True):
                taken[fit.axis] = taken.get(fit.axis, 0) + amount
            chosen |= dict.fromkeys(requested, flavor)
        return None if uncovered(groups, demand) else (chosen, all_fits)

    def _best_flavor(
        self,
        progress: _Progress,
        at: tuple[int, int],
        requested: Mapping[str, int],
        allowed: Collection[str] | None,
    ) -> tuple[str, list[ResourceFit]] | None:
        """Return the flavor to take for all of *requested*, and how each resource is met.

        *at* is which pod set, and of which resource group the flavors are.
        """
        head, taken = progress.head, progress.taken
        rules = self._snapshot.rules[head.queue]
        fungibility = rules.fungibility
        best: tuple[tuple[int, ...], str, list[ResourceFit]] | None = None
        for flavor in rules.resource_groups[at[1]].flavors:
            if allowed is not None and flavor not in allowed:
                continue
            fits = [
                self._fit(head, flavor, resource, amount, taken)
                for resource, amount in requested.items()
            ]
            if progress.trials is not None:
                progress.trials.extend(self._trials(progress, at, flavor, requested, fits))
            worst = min(fits, key=lambda fit: _value(fit, fungibility))
            value = _value(worst, fungibility)
            # A flavor that ends the search is taken, even if an earlier one would be preferred.
            if _may_stop(worst, fungibility):
                return flavor, fits
            if worst.mode > AssignmentMode.NO_FIT and (best is None or value > best[0]):
                best = (value, flavor, fits)
        return None if best is None else (best[1], best[2])

    def _fit(
        self,
        head: PendingWorkload,
        flavor: str,
        resource: str,
        amount: int,
        taken: Mapping[int, int],
    ) -> ResourceFit:
        """Return how *amount* of one resource could be met beside what was *taken* before."""
        tree, queue = self._snapshot.tree, head.queue
        axis = self._axes.index(resource, flavor)
        assert axis is not None, f"{flavor}/{resource} is no axis"
        amount += taken.get(axis, 0)
        if amount > tree.potential_on(queue, axis):
            return ResourceFit(axis, AssignmentMode.NO_FIT, 0)
        if amount <= max(0, tree.available_on(queue, axis)):
            return ResourceFit(axis, AssignmentMode.FIT, self._level(queue, axis, amount))
        if not self._may_preempt(queue, axis, amount):
            return ResourceFit(axis, AssignmentMode.NO_FIT, 0)
        preemptor = head.preemptor(((axis, amount),), frozenset({axis}))
        return self._with_victims(preemptor, axis, amount)

    def _trials(
        self,
        progress: _Progress,
        at: tuple[int, int],
        flavor: str,
        requested: Mapping[str, int],
        fits: Sequence[ResourceFit],
    ) -> Iterator[FlavorTrial]:
        """Yield how a flavor was judged."""
        tree, queue = self._snapshot.tree, progress.head.queue
        for (resource, amount), fit in zip(requested.items(), fits, strict=True):
            yield FlavorTrial(
                pod_set=at[0],
                group=at[1],
                resource=resource,
                flavor=flavor,
                amount=amount + progress.taken.get(fit.axis, 0),
                fit=fit,
                available=tree.available_on(queue, fit.axis),
                potential=tree.potential_on(queue, fit.axis),
            )

    def _with_victims(self, preemptor: Preemptor, axis: int, amount: int) -> ResourceFit:
        victims = [target.workload for target in self._find_targets(preemptor)]
        if not victims:
            return ResourceFit(
                axis, AssignmentMode.NO_CANDIDATES, self._level(preemptor.queue, axis, amount)
            )
        for victim in victims:
            self._snapshot.discharge(victim.queue, victim.usage)
        level = self._level(preemptor.queue, axis, amount)
        for victim in victims:
            self._snapshot.charge(victim.queue, victim.usage)
        is_own = any(victim.queue == preemptor.queue for victim in victims)
        return ResourceFit(
            axis, AssignmentMode.PREEMPT if is_own else AssignmentMode.RECLAIM, level
        )

    def _may_preempt(self, queue: QueueName, axis: int, amount: int) -> bool:
        """Return whether it is worth a search for victims."""
        tree, preemption = self._snapshot.tree, self._snapshot.rules[queue].preemption
        if amount <= tree.subtree_on(queue, axis):
            return True
        covering = tree.covering(queue, axis, amount)
        if covering is not None and self._snapshot.parents[QueueName(covering)] is not None:
            return True
        if self._fair_sharing and preemption.reclaim_within_cohort != "Never":
            return True
        return preemption.borrow_within_cohort.policy != "Never"

    def _level(self, queue: QueueName, axis: int, amount: int) -> int:
        """Return how high in the tree quota for *amount* more is borrowed from; 0: not at all."""
        covering = self._snapshot.tree.covering(queue, axis, amount)
        name = self._snapshot.path(queue)[-1] if covering is None else QueueName(covering)
        return self._snapshot.heights[name]


def demand_by_group(
    groups: Sequence[ResourceGroup], demand: Demand
) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the number of each group that *demand* requests something of, and how much of what.

    A resource belongs to the first group that lists it.
    """
    rest = demand.total()
    for number, group in enumerate(groups):
        requested = {name: amount for name, amount in rest.items() if name in group.resources}
        if requested:
            rest = {name: amount for name, amount in rest.items() if name not in requested}
            yield number, requested


def sole_usage(
    groups: Sequence[ResourceGroup], head: PendingWorkload, axes: QuotaAxes
) -> Usage | None:
    """Return what *head* uses where each of *groups* has one flavor; None if that suits it not."""
    usage: dict[int, int] = {}
    for demand in head.demands:
        for number, requested in demand_by_group(groups, demand):
            if demand.flavors is not None and not demand.flavors[number]:
                return None
            for resource, amount in requested.items():
                axis = axes.index(resource, groups[number].flavors[0])
                assert axis is not None, f"{resource} is no axis"
                usage[axis] = usage.get(axis, 0) + amount
        if uncovered(groups, demand):
            return None
    return tuple(sorted((axis, amount) for axis, amount in usage.items() if amount > 0))


def uncovered(groups: Sequence[ResourceGroup], demand: Demand) -> list[str]:
    """Return the resources that are requested and that no group lists."""
    covered = {name for group in groups for name in group.resources}
    return [name for name, amount in demand.requests.items() if amount > 0 and name not in covered]


def _value(fit: ResourceFit, fungibility: FlavorFungibility) -> tuple[int, ...]:
    """Return what orders the fits of a request, the best one last."""
    if (
        fungibility.preference == "BorrowingOverPreemption"
        or fit.mode <= AssignmentMode.NO_CANDIDATES
    ):
        return (fit.mode, -fit.borrow)
    return (AssignmentMode.PREEMPT, -fit.borrow, fit.mode)


def _may_stop(fit: ResourceFit, fungibility: FlavorFungibility) -> bool:
    """Return whether a flavor with this worst resource is good enough to try no other."""
    is_met = fit.mode == AssignmentMode.FIT or (
        fit.mode >= AssignmentMode.PREEMPT and fungibility.when_can_preempt == "MayStopSearch"
    )
    return is_met and (fit.borrow == 0 or fungibility.when_can_borrow == "MayStopSearch")


def _assignment(
    flavors: Sequence[dict[str, str]], fits: Sequence[ResourceFit], taken: Mapping[int, int]
) -> Assignment:
    return Assignment(
        mode=min((fit.mode for fit in fits), default=AssignmentMode.FIT),
        flavors=tuple(flavors),
        usage=tuple(sorted((axis, amount) for axis, amount in taken.items() if amount > 0)),
        need=frozenset(fit.axis for fit in fits if fit.mode != AssignmentMode.FIT),
        borrow=max((fit.borrow for fit in fits), default=0),
    )
