"""Victims and waiting jobs have reasons whose numbers bear them out."""

from collections.abc import Iterator
from operator import add, sub

from hypothesis import given, settings
from msgspec.structs import replace

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.plan import (
    Decision,
    Evict,
    FailedClaim,
    Move,
    Reserve,
    SideNumbers,
    Start,
    Wait,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.actions.cycle import KaiCycle
from fairlead.policy.kai.actions.prefilter import TryEverything
from fairlead.policy.kai.actions.victim_action import VictimAction
from fairlead.policy.kai.jobs.cycle_record import TAKEN_AGAIN
from fairlead.policy.kai.policy import fast_backend
from fairlead.policy.kai.reasons.why import why_not_admitted
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.attempt import Attempt
from tests.policy.kai.actions.test_attempt_laws import NOW_MS, all_settings, busy_worlds, cycle
from tests.scale_examples import scale_examples

RECLAIMED = ("ReclaimedByFairShare", "ReclaimedByQuota")
TO_GAIN = {"Reclaims": "reclaim", "Preempts": "preempt", "Consolidates": "consolidation"}


class Holdings:
    """What queues hold, followed decision by decision with nothing but sums."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._held = {name: tuple(sums.allocated) for name, sums in state.sums.items()}

    def of(self, queue: QueueName) -> Amounts:
        return self._held[queue]

    def follow(self, decision: Decision) -> None:
        """Take in a decision; one that moves changes nothing."""
        match decision:
            case Start() | Reserve():
                for place in decision.placements:
                    self._charge(decision.workload, place.pod, 1)
            case Evict():
                for pod in decision.pods:
                    self._charge(decision.workload, pod, -1)
            case _:
                pass

    def _charge(self, job: WorkloadName, pod: PodId, sign: int) -> None:
        state = self._state
        workload = state.workloads[job]
        cost = state.axes.charge(state.resources, workload.pod_sets.of(pod).requests)
        for queue in state.path(workload.queue):
            held = self._held[queue]
            self._held[queue] = tuple(map(add if sign > 0 else sub, held, cost))


def beyond(held: Amounts, bounds: tuple[int | None, ...]) -> bool:
    return any(b is not None and h > b for h, b in zip(held, bounds, strict=True))


def evictions(decisions: list[Decision]) -> Iterator[Evict]:
    return (each for each in decisions if isinstance(each, Evict))


@settings(max_examples=scale_examples(80))
@given(state=busy_worlds(), chosen=all_settings)
def test_a_queue_that_loses_to_another_is_over_what_it_may_hold_just_before(
    state: ClusterState, chosen: KaiSettings
) -> None:
    """The sums are followed here on their own, from one decision to the next."""
    decisions = cycle(state, replace(chosen, faithful=False))
    holdings = Holdings(state)
    for each in decisions:
        if isinstance(each, Evict) and each.reason.code in RECLAIMED:
            victim: SideNumbers = each.reason.sides[1]
            held = holdings.of(victim.queue)
            assert victim.allocated_before == held
            is_over = beyond(held, victim.allocatable)
            by_quota = beyond(held, state.queues[victim.queue].guaranteed)
            assert is_over if each.reason.code == "ReclaimedByFairShare" else by_quota
        holdings.follow(each)


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_every_reported_number_bears_out_what_was_done(
    state: ClusterState, chosen: KaiSettings
) -> None:
    decisions = cycle(state, chosen)
    for each in decisions:
        reasons = [each.reason]
        if isinstance(each, Wait):
            reasons += [failed.reason for failed in each.claims]
        for reason in reasons:
            assert all(compared.holds() for compared in reason.comparisons)


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_the_sides_are_the_queues_below_the_lowest_that_both_are_in(
    state: ClusterState, chosen: KaiSettings
) -> None:
    for each in evictions(cycle(state, replace(chosen, faithful=False))):
        if each.reason.code not in RECLAIMED:
            assert each.reason.sides == ()
            continue
        assert each.beneficiary is not None
        gains, loses = each.reason.sides
        assert gains.queue in state.path(state.workloads[each.beneficiary].queue)
        assert loses.queue in state.path(state.workloads[each.workload].queue)
        assert state.queues[gains.queue].parent == state.queues[loses.queue].parent
        assert gains.queue != loses.queue


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_a_victims_reason_names_the_action_of_its_beneficiary(
    state: ClusterState, chosen: KaiSettings
) -> None:
    decisions = cycle(state, replace(chosen, faithful=False))
    gained = {
        each.workload: TO_GAIN[each.reason.code]
        for each in decisions
        if isinstance(each, Reserve) and each.reason.code in TO_GAIN
    }
    codes = {"reclaim": {*RECLAIMED, "Consolidated"}, "consolidation": {"Consolidated"}}
    codes["preempt"] = {"PreemptedByPriority", "Consolidated"}
    for each in decisions:
        if isinstance(each, Evict | Move) and each.beneficiary is not None:
            assert each.reason.code in codes[gained[each.beneficiary]]


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_a_job_has_a_refusal_if_and_only_if_it_is_not_admitted(
    state: ClusterState, chosen: KaiSettings
) -> None:
    with state.trial():
        context = KaiCycle(state, chosen, NOW_MS, fast_backend(state, chosen)).context
        for action in ("consolidation", "reclaim", "preempt"):
            attempts = VictimAction(context, TryEverything(), action, frozenset()).attempts
            jobs = context.waiting("allocate")
            for job in jobs.names():
                attempt = Attempt(attempts, action, job, jobs.request(job))
                assert attempt.is_admitted() == (why_not_admitted(attempt) is None)


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_a_job_that_waits_for_room_reports_every_action_in_which_it_could_try(
    state: ClusterState, chosen: KaiSettings
) -> None:
    """One that gained or lost something meanwhile may have nothing left to claim for.

    With a queue depth some jobs have no turn in an action.
    """
    claiming = [action for action in chosen.actions if action in TO_GAIN.values()]
    decisions = cycle(state, replace(chosen, queue_depth=()))
    gained = {each.workload for each in decisions if isinstance(each, Reserve | Evict | Move)}
    for each in decisions:
        if not isinstance(each, Wait) or each.workload in gained:
            continue
        if each.reason.code != TAKEN_AGAIN:  # it started, and lost its place in the same cycle
            failed: list[FailedClaim] = list(each.claims)
            assert [claim.action for claim in failed] == claiming
