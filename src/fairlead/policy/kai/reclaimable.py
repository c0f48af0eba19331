"""Whether one job may reclaim, and whether what others lose to it may stand, under KAI's rules.

A queue reclaims only up to its fair share: with the job it must stay within it. A job that is not
preemptible must also stay within the guarantee, because it could not be reclaimed again. Both look
at every resource, also those that the job does not request: a queue that holds too much of one
resource reclaims nothing of another. Only the job's own queue is checked before any victim is
looked for; what the queues above say depends on the victims.

A job that has more pods than it needs loses them one by one; the pods of its minimum are lost
together. The order matters: each loss is judged by what the ones before it have left.

Three rules. *Each loss* is checked at the two queues just below the lowest common ancestor of
reclaimer and victim, their sides: either the victim's side holds more than it may (by fair share),
or the reclaimer's side stays within its guarantee while the victim's is beyond its own (by quota).
*Saturation*: a side that ends above its fair share must end less full than every side that lost
something to it. *Guarantee*: pods that are not preemptible fit into the guarantees, all the way up.

A victim's side is a sibling of a queue on the reclaimer's path, so these sides and that path are
all the queues that any rule looks at. What they have left is kept apart from the state, which is
not changed. `reasons.evidence` collects the numbers behind a verdict.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import sub
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.plan import Reason
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.capacity import (
    NON_PREEMPTIBLE_OVER_QUOTA,
    axis_comparisons,
    holding,
)
from fairlead.policy.kai.fair_share.shares import KaiShare

OVER_FAIR_SHARE: Final = "OverFairShare"


def may_reclaim(
    state: ClusterState, share: KaiShare, request: Amounts, *, preemptible: bool
) -> bool:
    """Return whether a job of the queue of *share* may reclaim *request*. Cost: the axes."""
    sums, guaranteed = state.sums[share.queue], state.queues[share.queue].guaranteed
    if first_over(sums.allocated, request, share.fair_share) is not None:
        return False
    return preemptible or first_over(sums.non_preemptible, request, guaranteed) is None


def reclaim_refusal(
    state: ClusterState, share: KaiShare, request: Amounts, *, preemptible: bool
) -> Reason | None:
    """Return why a job of the queue of *share* may not reclaim *request*; None if it may.

    The fair share is checked first; the reason has a comparison for each resource that is over. A
    larger fair share or guarantee never turns a pass into a refusal. Cost: the number of axes;
    nothing is built unless there is a refusal.
    """
    bounds: tuple[str, Limits]
    sums, guaranteed = state.sums[share.queue], state.queues[share.queue].guaranteed
    if first_over(sums.allocated, request, share.fair_share) is not None:
        code = OVER_FAIR_SHARE
        held, bounds = ("allocated", sums.allocated), ("fair share", share.fair_share)
    elif not preemptible and first_over(sums.non_preemptible, request, guaranteed) is not None:
        code = NON_PREEMPTIBLE_OVER_QUOTA
        held, bounds = ("non-preemptible", sums.non_preemptible), ("quota", guaranteed)
    else:
        return None
    every = axis_comparisons(state.axes.axes, share.queue, held, ">", bounds, request=request)
    return Reason(code=code, queue=share.queue, comparisons=holding(every))


def first_over(held: Sequence[int], request: Amounts, bounds: Limits) -> int | None:
    """Return the first axis on which *held* and *request* exceed the bound; None if on none."""
    for at, bound in enumerate(bounds):
        if bound is not None and held[at] + request[at] > bound:
            return at
    return None


T = TypeVar("T")


class Loss(NamedTuple):
    """What the queue of a victim loses at once, on the quota axes."""

    queue: QueueName
    amounts: Amounts


def losses_of(queue: QueueName, evicted: Sequence[Amounts | None], minimum: int) -> list[Loss]:
    """Return what *queue* loses by the eviction of pods of one job, in the order of judging.

    *evicted* has the charge of each pod, in the order of their eviction; None for a pod that found
    another place. The losses sum to the charges.
    """
    return [
        Loss(queue, tuple(map(sum, zip(*piece, strict=True))))
        for piece in lost_together(evicted, minimum)
    ]


def lost_together(evicted: Sequence[T | None], minimum: int) -> list[list[T]]:
    """Return what is lost at once: one by one beyond the *minimum*, then the rest together.

    None is a pod that found another place: it is not lost, and it counts towards the minimum, as
    every other pod that was evicted.
    """
    pieces = [*[[each] for each in evicted[minimum:]], evicted[:minimum]]
    lost = [[each for each in piece if each is not None] for piece in pieces]
    return [piece for piece in lost if piece]


Strategy = Literal["fairShare", "quota"]
Rule = Literal["loss", "saturation", "guarantee"]
Remaining: TypeAlias = dict[QueueName, list[int]]
"""What each side that lost something has left."""


class Reclaimer(msgspec.Struct, frozen=True, kw_only=True):
    """The job for which others would give way; its request is on the quota axes."""

    queue: QueueName
    request: Amounts
    preemptible: bool


class Sides(NamedTuple):
    """The queues just below the lowest common ancestor; without one, the topmost queues."""

    reclaimer: QueueName
    victim: QueueName
    level: int  # of the reclaimer's side above its queue
    within_guarantee: bool  # the reclaimer's side, with the request


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a set of losses stands: what allowed each of them, or which rule refused.

    ``queues`` are the reclaimer's side and the victim's; for the guarantee the one queue that does
    not cover the job. Of a refused set, ``strategies`` has the losses before the refusal.
    """

    strategies: tuple[Strategy, ...] = ()
    refused_by: Rule | None = None
    queues: tuple[QueueName, ...] = ()
    axis: int | None = None  # where the rule failed; a loss fails on all of them

    @property
    def stands(self) -> bool:
        """Return whether no rule refuses."""
        return self.refused_by is None


class ReclaimJudge:
    """Judges sets of losses for one reclaimer, as many as a search produces."""

    def __init__(
        self,
        state: ClusterState,
        shares: Mapping[QueueName, KaiShare],
        reclaimer: Reclaimer,
        *,
        allocated: Mapping[QueueName, Sequence[int]],
        multiplier: Fraction,
    ) -> None:
        """Judge for *reclaimer*. Cost: the depth of its queue.

        *allocated* is what queues held when the search began (see `allocated_now`): the search
        itself may have the state on trial. What is not preemptible is read from *state* now.
        """
        assert multiplier >= 1
        self.state = state
        self.shares = shares
        self.reclaimer = reclaimer
        self.allocated = allocated
        self.multiplier = multiplier
        self.path = tuple(state.path(reclaimer.queue))
        self.non_preemptible: dict[QueueName, Amounts] = {
            name: tuple(state.sums[name].non_preemptible) for name in self.path
        }
        self._levels = {name: level for level, name in enumerate(self.path)}
        self._sides: dict[QueueName, Sides] = {}
        self._uncovered = None if reclaimer.preemptible else self._guarantee_refusal()

    def judge(self, losses: Iterable[Loss]) -> Verdict:
        """Return whether *losses*, in this order, may stand.

        The guarantee is checked first, because no losses can help it; then each loss, then the
        saturation. The state is not changed. Cost: the number of losses, and the depth for each
        side that loses; a queue is looked up in the tree once in the life of the judge.
        """
        if self._uncovered is not None:
            return self._uncovered
        remaining: Remaining = {}
        strategies: list[Strategy] = []
        for queue, amounts in losses:
            sides = self.sides(queue)
            left = remaining.get(sides.victim)
            if left is None:
                left = remaining[sides.victim] = list(self.allocated[sides.victim])
            strategy = self._strategy(sides, left)
            if strategy is None:
                pair = (sides.reclaimer, sides.victim)
                return Verdict(strategies=tuple(strategies), refused_by="loss", queues=pair)
            strategies.append(strategy)
            left[:] = map(sub, left, amounts)
        return self._verdict_on_saturation(remaining, tuple(strategies))

    def may_lose(self, queue: QueueName) -> bool:
        """Return whether any set in which *queue* loses something can stand.

        What a side has left only shrinks, so if its first loss is refused, every one is.
        """
        if self._uncovered is not None:
            return False
        sides = self.sides(queue)
        return self._strategy(sides, self.allocated[sides.victim]) is not None

    def sides(self, victim: QueueName) -> Sides:
        """Return the two queues that are compared for a loss of the queue *victim*.

        It is neither on the reclaimer's path nor below its queue: jobs are in leaves, and a victim
        is of another queue.
        """
        found = self._sides.get(victim)
        if found is None:
            found = self._sides[victim] = self._find_sides(victim)
        return found

    def _find_sides(self, victim: QueueName) -> Sides:
        side, parent = victim, self.state.queues[victim].parent
        while parent is not None and parent not in self._levels:
            side, parent = parent, self.state.queues[parent].parent
        level = len(self.path) - 1 if parent is None else self._levels[parent] - 1
        assert side not in self._levels, "a victim's queue lies on the reclaimer's path"
        assert level >= 0, "a victim's queue lies below the reclaimer's"
        own = self.path[level]
        guaranteed = self.state.queues[own].guaranteed
        over = first_over(self.allocated[own], self.reclaimer.request, guaranteed)
        return Sides(own, side, level, over is None)

    def _strategy(self, sides: Sides, left: Sequence[int]) -> Strategy | None:
        """Return what allows a loss to the victim's side, which has *left* before it."""
        for amount, most in zip(left, self.shares[sides.victim].allocatable, strict=True):
            if most is not None and amount > most:
                return "fairShare"
        if sides.within_guarantee:
            for amount, due in zip(left, self.state.queues[sides.victim].guaranteed, strict=True):
                if due is not None and amount > due:
                    return "quota"
        return None

    def _verdict_on_saturation(
        self, remaining: Remaining, strategies: tuple[Strategy, ...]
    ) -> Verdict:
        """Compare each side that lost something with the reclaimer's beside it, bottom up."""
        losers = [
            (self.sides(name), left, tuple(map(sub, self.allocated[name], left)))
            for name, left in remaining.items()
        ]
        losers.sort(key=lambda loser: loser[0].level)
        changes = [list(self.reclaimer.request) for _ in self.path]
        for sides, _, taken in losers:
            for change in changes[sides.level + 1 :]:  # those above have lost it too
                change[:] = map(sub, change, taken)
        for sides, left, taken in losers:
            axis = self._too_full(sides, changes[sides.level], left, taken)
            if axis is not None:
                pair = (sides.reclaimer, sides.victim)
                return Verdict(
                    strategies=strategies, refused_by="saturation", queues=pair, axis=axis
                )
        return Verdict(strategies=strategies)

    def _too_full(
        self, sides: Sides, change: Sequence[int], left: Sequence[int], taken: Sequence[int]
    ) -> int | None:
        """Return an axis on which the reclaimer's side ends over its share and no less full.

        Only resources that the job requests or the other side lost are compared, by cross
        multiplication, so that equal ratios are exactly equal.
        """
        held, request = self.allocated[sides.reclaimer], self.reclaimer.request
        others = self.shares[sides.victim].fair_share
        factor, divisor = self.multiplier.as_integer_ratio()
        for at, share in enumerate(self.shares[sides.reclaimer].fair_share):
            after = held[at] + change[at]
            if after <= share or others[at] == 0 or not (request[at] > 0 or taken[at] > 0):
                continue
            # With a share of 0 the right is 0: infinitely full, so no less than any other.
            if after * factor * others[at] >= left[at] * share * divisor:
                return at
        return None

    def _guarantee_refusal(self) -> Verdict | None:
        for name in self.path:
            guaranteed = self.state.queues[name].guaranteed
            axis = first_over(self.non_preemptible[name], self.reclaimer.request, guaranteed)
            if axis is not None:
                return Verdict(refused_by="guarantee", queues=(name,), axis=axis)
        return None


def allocated_now(state: ClusterState) -> dict[QueueName, Amounts]:
    """Return a copy of what every queue holds."""
    return {name: tuple(sums.allocated) for name, sums in state.sums.items()}
