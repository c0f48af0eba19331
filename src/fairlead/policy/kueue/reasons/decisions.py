"""What the rounds of one tree come to, as decisions with their reasons."""

from collections.abc import Iterator, Sequence
from typing import Final

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import Placement
from fairlead.model.plan import Comparison, Decision, Evict, Reason, Reserve, Start, Term
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.rounds import Rounds
from fairlead.policy.kueue.reasons.evict import evict_reason
from fairlead.policy.kueue.workloads import Usage

WITHIN_QUOTA: Final = "WithinQuota"
OVER_QUOTA: Final = "OverQuota"


def admit_reason(tree: QuotaTree, axes: QuotaAxes, queue: QueueName, usage: Usage) -> Reason:
    """Return why *usage* may be charged to *queue*; *tree* does not count it yet.

    Within its quota, or by borrowing what others leave unused. Then the reason also has what is
    available, and where in the tree that ends: less than is requested, if victims have to leave
    first. Cost: O(depth^2) for each axis that is borrowed.
    """
    within: list[Comparison] = []
    over: list[Comparison] = []
    for number, amount in usage:
        held, quota = tree.charged_on(queue, number), tree.subtree_on(queue, number)
        is_over = held + amount > quota
        compared = Comparison(
            queue=queue,
            axis=axes.axes[number],
            left=(Term("allocated", held), Term("request", amount)),
            relation=">" if is_over else "<=",
            right=Term("quota", quota),
        )
        if is_over:
            over += [compared, _against_available(tree, axes, queue, number, amount)]
        else:
            within.append(compared)
    code = OVER_QUOTA if over else WITHIN_QUOTA
    return Reason(code=code, queue=queue, comparisons=tuple(over or within))


def _against_available(
    tree: QuotaTree, axes: QuotaAxes, queue: QueueName, number: int, amount: int
) -> Comparison:
    available = max(0, tree.available_on(queue, number))
    return Comparison(
        queue=QueueName(tree.ends_at(queue, number)),
        axis=axes.axes[number],
        left=(Term("request", amount),),
        relation="<=" if amount <= available else ">",
        right=Term("available", available),
    )


WAITING_FOR_PREEMPTED: Final = "WaitingForPreemptedWorkloads"


class TreeDecisions:
    """Collects the decisions about the workloads of one tree."""

    def __init__(self, state: ClusterState, rounds: Rounds) -> None:
        """Collect from *rounds*, which have not begun."""
        self._state = state
        self._rounds = rounds
        self._started: dict[WorkloadName, tuple[Placement, ...]] = {}

    def decisions(self) -> list[Decision]:
        """Run the rounds and return which workloads start, which are evicted, and what is reserved.

        In the order of turns; a reservation comes right after the evictions for its sake.
        Reservations whose victims were evicted in earlier plans come last, by name.
        """
        done: list[Decision] = []
        for decided in self._rounds.run():
            done.extend(self._evictions(decided) if decided.targets else [self._start(decided)])
        preempting = self._rounds.preempting()
        if not preempting:
            return done
        evicted = self._rounds.evicted()
        reserves = {
            turn.nomination.pending.name: self._reserve(turn, self._rounds.awaited(turn, evicted))
            for turn in preempting
        }
        last = {each.beneficiary: at for at, each in enumerate(done) if isinstance(each, Evict)}
        placed: list[Decision] = []
        for at, each in enumerate(done):
            placed.append(each)
            if isinstance(each, Evict) and each.beneficiary and last[each.beneficiary] == at:
                reserve = reserves.pop(each.beneficiary, None)
                placed += [] if reserve is None else [reserve]
        return [*placed, *[reserves[name] for name in sorted(reserves)]]

    def _start(self, turn: Turn) -> Start:
        nomination = turn.nomination
        assert nomination.assignment is not None, "an admitted workload has flavors"
        pending = nomination.pending
        placements = self._placements(pending.name, nomination.counts)
        self._started[pending.name] = placements
        return Start(
            workload=pending.name,
            placements=placements,
            flavors=nomination.assignment.flavors,
            charged=tuple(self._state.path(pending.queue)),
            reason=admit_reason(
                self._rounds.present, self._state.axes, pending.queue, nomination.assignment.usage
            ),
        )

    def _evictions(self, turn: Turn) -> Iterator[Evict]:
        rules = self._rounds.decided_on.rules[turn.nomination.pending.queue]
        for target in self._rounds.newly_evicted(turn):
            yield Evict(
                workload=target.workload.name,
                pods=self._pods(target.workload.name),
                beneficiary=turn.nomination.pending.name,
                reason=evict_reason(
                    self._rounds.present, self._state.axes, rules, turn.nomination, target
                ),
                by_own_quota=target.by_own_quota,
            )

    def _pods(self, name: WorkloadName) -> tuple[PodId, ...]:
        """Return the pods of an admitted workload, perhaps of one that this plan admits."""
        started = self._started.get(name)
        if started is not None:
            return tuple(place.pod for place in started)
        run = self._state.runs[name]
        return tuple(run.pod_sets.in_order(run.pods))

    def _reserve(self, turn: Turn, awaited: Sequence[WorkloadName]) -> Reserve:
        nomination = turn.nomination
        assert nomination.assignment is not None, "a preemptor has flavors"
        name, queue = nomination.pending.name, nomination.pending.queue
        return Reserve(
            workload=name,
            placements=self._placements(name, nomination.counts),
            flavors=nomination.assignment.flavors,
            charged=tuple(self._state.path(queue)),
            waits_for=tuple(awaited),
            reason=Reason(code=WAITING_FOR_PREEMPTED, queue=queue, names=tuple(awaited)),
        )

    def _placements(self, name: WorkloadName, counts: tuple[int, ...]) -> tuple[Placement, ...]:
        """Return the pods that get quota, on no node yet: the first *counts* of each set."""
        sets = zip(self._state.workloads[name].pod_sets, counts, strict=True)
        firsts = [each.first_ids(count) for each, count in sets]
        return tuple([Placement(pod, None) for pods in firsts for pod in pods])
