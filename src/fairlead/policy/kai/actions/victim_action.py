"""The actions reclaim, preempt and consolidation: each pending job tries once, in service order.

An attempt takes room that is there already, or searches for victims; if it fails, the reason is
recorded.
"""

from collections.abc import Set
from functools import cached_property, partial
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.plan import FailedClaim, Reason
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.kai.actions.context import CycleContext
from fairlead.policy.kai.actions.prefilter import (
    ActionInputs,
    ActionPrefilter,
    Prefilter,
    TurnFilter,
)
from fairlead.policy.kai.jobs.alike import FailedAttempts
from fairlead.policy.kai.jobs.cycle_record import Act
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.reasons.why import why_evicted, why_failed, why_granted, why_not_admitted
from fairlead.policy.kai.victims.attempt import ActionName, Attempt, AttemptContext
from fairlead.policy.kai.victims.candidates import EligibleCandidates
from fairlead.policy.kai.victims.reschedule import ServiceOrder
from fairlead.policy.kai.victims.solver import Scenario, VictimSolver
from fairlead.policy.obstacles import constraint_reason

AS_REFUSED_BEFORE: Final = "AsRefusedBefore"

Alike: TypeAlias = tuple[QueueName, Amounts, bool, int]
"""All that decides whether a job may try: queue, request, preemptible, priority."""


class VictimAction:
    """One action in which pending jobs may take places from others."""

    def __init__(
        self,
        context: CycleContext,
        prefilter: Prefilter,
        action: ActionName,
        spared: Set[PodKey],
    ) -> None:
        """Look at no job yet. *spared* pods are not evicted."""
        self.time_dependent = False  # at another time the outcome may differ
        self._context = context
        self._action: ActionName = action
        self._state = context.state
        self._settings = context.settings
        self._explain = context.explain
        self._spared = spared
        self._general_prefilter = prefilter
        self._refusals: dict[Alike, FailedClaim] = {}
        self._victims: set[WorkloadName] = set()  # of the last attempt that succeeded

    @cached_property
    def attempts(self) -> AttemptContext:
        """What all attempts of the action look at."""
        context, sources = self._context, self._context.sources
        division, candidates = context.division, sources.candidates
        return AttemptContext(
            context.state,
            context.settings,
            context.now_ms,
            division,
            candidates,
            context.finder,
        )

    @cached_property
    def _candidates(self) -> EligibleCandidates:
        held = self._state.holds.victim_workloads() & self._state.workloads.keys()
        return EligibleCandidates(
            self._context.sources.candidates,
            self._state,
            self._context.record,
            self._spared,
            held,
            includes_settled=self._settings.faithful,
        )

    @cached_property
    def _failed(self) -> FailedAttempts:
        return FailedAttempts(
            self._state,
            across_queues=self._action == "consolidation",
            faithful=self._settings.faithful,
        )

    @cached_property
    def _prefilter(self) -> ActionPrefilter:
        most = self._most_victims()
        inputs = ActionInputs(self._context, self._action, self.attempts, self._candidates, most)
        return self._general_prefilter.for_action(inputs)

    def run(self) -> None:
        """Let every pending job try once, in service order."""
        if self._action == "consolidation" and self._settings.max_consolidation_victims == 0:
            return
        jobs = self._context.waiting(self._action)
        turn_filter = self._prefilter.turn_filter(jobs)
        if turn_filter.is_any_left():
            self._take_turns(jobs, turn_filter)
        elif self._explain:  # no job is admitted, and nothing changes that
            for name in jobs.names():
                self._note_refusal(self._attempt(name, jobs.request(name)))

    def _take_turns(self, jobs: PendingJobs, turn_filter: TurnFilter) -> None:
        """Let *jobs* try as long as any attempt may succeed, or all of them to explain it."""
        tournament = self._context.tournament(jobs)
        while (queue := tournament.leader()) is not None:
            if not self._explain and not turn_filter.is_any_left():
                return
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            job_class = jobs.job_class(job)
            request, pods = self._context.request(job_class), jobs.next_pods(job)
            is_skipped = self._may_skip and not turn_filter.may_succeed(queue, job_class)
            changed = set() if is_skipped else self._try(self._attempt(job, request), pods)
            jobs.drop_first(queue)
            jobs.update(self._victims)
            self._victims.clear()
            if changed:
                for each in changed:
                    tournament.renew(each)
                turn_filter.note_change(changed)
                continue
            if jobs.next_request(queue) != request:  # else its offer is the same
                tournament.renew(queue)

    @property
    def _may_skip(self) -> bool:
        """Whether a turn in vain may be skipped: not if it is explained, nor in faithful mode.

        KAI remembers that a job failed which was not admitted.
        """
        return not self._explain and not self._settings.faithful

    def _attempt(self, job: WorkloadName, request: Amounts) -> Attempt:
        return Attempt(self.attempts, self._action, job, request)

    def _try(self, attempt: Attempt, pods: tuple[PodId, ...]) -> set[QueueName]:
        """Make an attempt; returns the queues in which something changed."""
        if not attempt.is_admitted():
            self._note_refusal(attempt)
            if self._settings.faithful and self._counts_as_tried(attempt):
                self._failed.note_failure(attempt.workload.name, pods)
            return set()
        job, queue = attempt.workload.name, attempt.workload.queue
        barred = constraint_reason(attempt.workload, pods, queue)
        if barred is not None:
            self._note_failure(job, barred)
            return set()
        if self._fits_already(attempt, pods):
            changed = {queue}
        elif (like := self._failed_like(job, pods)) is not None:
            reason = Reason(code=AS_REFUSED_BEFORE, queue=queue, names=(like,))
            self._note_failure(job, reason)
            return set()
        else:
            changed = self._take_from_others(attempt, pods)
        if not changed:
            self._failed.note_failure(job, pods)
            return set()
        self._failed.note_success()
        self._refusals.clear()
        self._prefilter.note_change()
        return changed

    def _counts_as_tried(self, attempt: Attempt) -> bool:
        """Return whether KAI takes an attempt that was not admitted for one that failed."""
        match self._action:
            case "consolidation":
                return attempt.workload.preemptible
            case "preempt":
                return True
            case "reclaim":
                return False

    def _failed_like(self, job: WorkloadName, pods: tuple[PodId, ...]) -> WorkloadName | None:
        return self._failed.refused_like(job, pods) if self._settings.signatures else None

    def _fits_already(self, attempt: Attempt, pods: tuple[PodId, ...]) -> bool:
        """Start the job on room that is free by now, if there is some.

        An earlier attempt may have freed more than it took, or allocate did not look so deep. KAI
        searches for victims all the same.
        """
        if self._settings.faithful or "allocate" not in self._settings.actions:
            return False
        context, job = self._context, attempt.workload.name
        context.record.touch(job)
        starter = context.starter(explain=False)  # the search after it explains a failure
        outcome = starter.start(job, context.gang(job), pods, attempt.request)
        if outcome.is_placed:
            context.record.act(Act(outcome.reason), [(job, pod) for pod in pods])
        return outcome.is_placed

    def _take_from_others(self, attempt: Attempt, pods: tuple[PodId, ...]) -> set[QueueName]:
        """Search victims for *pods* of a job; returns the queues of all jobs that changed.

        Where there is no place for the pods, nothing changes.
        """
        state, job, record = self._state, attempt.workload.name, self._context.record
        scenario = self._find_scenario(attempt, pods)
        self.time_dependent |= bool(attempt.protected)
        if scenario is None:
            self._note_failed_search(attempt)
            return set()
        for reason, victims in why_evicted(attempt, scenario):
            record.act(Act(reason, job), victims)
        displaced = {name for name, _ in scenario.lost | scenario.moved}
        grant = Act(why_granted(attempt, scenario), waits_for=tuple(sorted(displaced)))
        record.act(grant, [(job, pod) for pod in pods])
        for name, pod in scenario.lost:
            self._context.note_eviction(name, pod)
        self._victims |= displaced | {name for name, _ in scenario.joined}
        return {state.workloads[name].queue for name in (*self._victims, job)}

    def _find_scenario(self, attempt: Attempt, pods: tuple[PodId, ...]) -> Scenario | None:
        """Return the scenario that gives *pods* their places; None if there is none.

        A reclaim first evicts only jobs of queues over their entitlement. If that is not enough,
        others may have to move as well; they lose nothing.
        """
        if not attempt.has_candidate_queue() or not self._prefilter.may_succeed(attempt, pods):
            return None
        scenario = self._search(attempt, pods)
        if scenario is None and self._action == "reclaim" and not attempt.includes_entitled:
            attempt.includes_entitled = True
            scenario = self._search(attempt, pods)
        return scenario

    def _search(self, attempt: Attempt, pods: tuple[PodId, ...]) -> Scenario | None:
        context, job = self._context, attempt.workload.name
        solver = VictimSolver(
            self._state,
            context.finder,
            self._service_order(job),
            job,
            pods,
            now_ms=context.now_ms,
            faithful=self._settings.faithful,
            touch=context.record.touch,
            new_bounds=self._general_prefilter.new_bounds,
        )
        most = self._most_victims()
        new_order = partial(attempt.eviction_order, self._candidates, most)
        return solver.run(new_order, attempt.validator_for)

    def _most_victims(self) -> int | None:
        """Return how many jobs one attempt may evict; None: all."""
        most = self._settings.max_consolidation_victims
        if self._action != "consolidation" or most is None:
            return None
        return most + 1 if self._settings.faithful else most  # KAI's counter lets one more pass

    def _service_order(self, preemptor: WorkloadName) -> ServiceOrder:
        """Return what orders the preemptor and its victims in a scenario.

        KAI gives turns to all pending jobs: they get nothing in a scenario, but each turn shapes
        the order of the others. With thousands of them nearly all of a scenario would be their
        turns, so they have none except in faithful mode.
        """
        context = self._context
        if self._settings.faithful:
            return lambda pods, _: context.all_turns({preemptor: pods})
        return lambda pods, victims: context.turns_of({preemptor: pods}, victims)

    def _note_refusal(self, attempt: Attempt) -> None:
        """Record why a job is not admitted. Jobs that are alike share the reason."""
        if not self._explain:
            return
        workload = attempt.workload
        alike = (workload.queue, attempt.request, workload.preemptible, workload.priority)
        failed = self._refusals.get(alike)
        if failed is None:
            reason = why_not_admitted(attempt)
            assert reason is not None, "a job that is not admitted has a reason"
            failed = self._refusals[alike] = FailedClaim(action=self._action, reason=reason)
        self._context.record.attempt_failed(workload.name, failed)

    def _note_failed_search(self, attempt: Attempt) -> None:
        """Record why a search found nothing, if that is to be explained."""
        if not self._explain:
            return
        candidates = len(attempt.fully_protected) + sum(
            passes(candidate)
            for queue, passes in attempt.filters()
            for _, candidate in self._candidates.of(queue)
        )
        if attempt.refused is None:
            attempt.kept_by = attempt.judge_first_entitled(self._candidates)
        reason = why_failed(
            attempt,
            candidates,
            self._most_victims(),
            has_new=bool(self._candidates.settled),
            has_held=bool(self._candidates.held),
        )
        self._note_failure(attempt.workload.name, reason)

    def _note_failure(self, job: WorkloadName, reason: Reason) -> None:
        failed = FailedClaim(action=self._action, reason=reason)
        self._context.record.attempt_failed(job, failed)
