"""One action in which jobs that wait claim places from others: each once, in the order of service.

A claim is met from room that is there already, or by a search for victims; or it is told what
stopped it.
"""

from collections.abc import Set
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.node_books import PodKey
from fairlead.model.plan import FailedClaim, Reason
from fairlead.model.workload import PodId
from fairlead.policy.kai.capped_line import CappedLine
from fairlead.policy.kai.claim_reasons import reason_to_gain, reasons_to_lose
from fairlead.policy.kai.claim_refusals import why_failed, why_not_admitted
from fairlead.policy.kai.claims import Claim, ClaimAction
from fairlead.policy.kai.cycle_record import Act
from fairlead.policy.kai.cycle_view import CycleView
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.job_signature import FailedClaims
from fairlead.policy.kai.pending_jobs import PendingJobs
from fairlead.policy.kai.queue_race import QueueRace
from fairlead.policy.kai.start_job import JobStarter, unsupported_constraint
from fairlead.policy.kai.victim_line import VictimLine
from fairlead.policy.kai.victim_pool import VictimPool
from fairlead.policy.kai.victim_search import Tried, VictimSearch

AS_REFUSED_BEFORE: Final = "AsRefusedBefore"

Alike: TypeAlias = tuple[QueueName, Amounts, bool, int]
"""All that decides whether a job may claim: queue, request, preemptible, priority."""


class ClaimRound:
    """The claims of one action, on the state of a cycle."""

    def __init__(self, view: CycleView, action: ClaimAction, spared: Set[PodKey]) -> None:
        """Look at nobody yet. Pods that are *spared* are not asked to give way."""
        self.view = view
        self.action = action
        self.state = view.state
        self.settings = view.settings
        self.now_ms = view.now_ms
        self.shares = view.shares
        self.leaves = view.leaves
        self.looked_at_the_clock = False  # at another time it might come out otherwise
        promised = [queue.reclaim_min_runtime_ms for queue in view.state.queues.values()]
        self._promises_run_time = view.settings.reclaim_min_runtime_ms > 0 or any(promised)
        self._spared = spared
        self._pool = self._victim_pool()
        self._refusals: dict[Alike, FailedClaim] = {}
        self._victims: set[WorkloadName] = set()  # of the last claim that was met
        self._failed = FailedClaims(
            self.state, across_queues=action == "consolidation", faithful=self.settings.faithful
        )

    def gang(self, job: WorkloadName) -> Gang:
        """Return the groups of a job."""
        return self.view.gang(job)

    def gpu_later(self) -> int:
        """Return what of GPUs is or will be free in the whole cluster, in thousandths."""
        return self.view.gpu_later()

    def promises_run_time(self) -> bool:
        """Return whether anybody may run for a time before others reclaim its place."""
        return self._promises_run_time

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of those who hold something in *queue* and could give way."""
        return self._pool.lowest_priority(queue)

    def run(self) -> None:
        """Let every job that waits claim once, in the order of service."""
        if self.action == "consolidation" and self.settings.max_consolidation_victims == 0:
            return
        jobs = self.view.waiting(self.action)
        claims = [Claim(self, self.action, job, jobs.request(job)) for job in jobs.names()]
        if not any(claim.is_admitted() for claim in claims):
            for claim in claims:  # and nothing changes by which somebody could be
                self._refuse(claim)
            return
        race = self.view.race(jobs)
        while (queue := race.leader()) is not None:
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            claim = Claim(self, self.action, job, jobs.request(job))
            changed = self._meet(claim, jobs.next_pods(job))
            jobs.drop_first(queue)
            jobs.look_again(self._victims)
            self._victims.clear()
            for each in {queue, *changed}:
                race.renew(each)

    def _meet(self, claim: Claim, pods: tuple[PodId, ...]) -> set[QueueName]:
        """Meet a claim if that can be; returns the queues in which something changed."""
        if not claim.is_admitted():
            self._refuse(claim)
            if self.settings.faithful and self._counts_as_tried(claim):
                self._failed.note_failure(claim.workload.name, pods)
            return set()
        job, queue = claim.workload.name, claim.workload.queue
        barred = unsupported_constraint(claim.workload, pods)
        if barred is not None:
            self.view.record.claim_failed(job, FailedClaim(action=self.action, reason=barred))
            return set()
        if self._fits_already(claim, pods):
            changed = {queue}
        elif (like := self._failed_like(job, pods)) is not None:
            reason = Reason(code=AS_REFUSED_BEFORE, queue=queue, names=(like,))
            self.view.record.claim_failed(job, FailedClaim(action=self.action, reason=reason))
            return set()
        else:
            changed = self._search(claim, pods)
        if not changed:
            self._failed.note_failure(job, pods)
            return set()
        self._failed.note_success()
        self._refusals.clear()
        for each in changed:
            self._pool.forget(each)
        return changed

    def _counts_as_tried(self, claim: Claim) -> bool:
        """Return whether KAI takes a claim that was not admitted for one that failed."""
        match self.action:
            case "consolidation":
                return claim.workload.preemptible
            case "preempt":
                return True
            case "reclaim":
                return False

    def _failed_like(self, job: WorkloadName, pods: tuple[PodId, ...]) -> WorkloadName | None:
        return self._failed.refused_like(job, pods) if self.settings.signatures else None

    def _refuse(self, claim: Claim) -> None:
        """Note why a job may not claim. Many are alike, and are told the same."""
        workload = claim.workload
        alike = (workload.queue, claim.request, workload.preemptible, workload.priority)
        failed = self._refusals.get(alike)
        if failed is None:
            reason = why_not_admitted(claim)
            assert reason is not None, "who is not admitted is told why"
            failed = self._refusals[alike] = FailedClaim(action=self.action, reason=reason)
        self.view.record.claim_failed(workload.name, failed)

    def _fits_already(self, claim: Claim, pods: tuple[PodId, ...]) -> bool:
        """Give a claimant room for which nobody has to leave, if there is some by now.

        An earlier claim may have set more free than it took, or allocate did not look so deep. KAI
        searches for victims all the same.
        """
        if self.settings.faithful or "allocate" not in self.settings.actions:
            return False
        job = claim.workload.name
        self.view.record.touch(job)
        starter = JobStarter(self.state, self.view.finder, self.now_ms)
        reason = starter.start_if_it_fits(job, self.gang(job), pods, claim.request)
        if reason is None:
            return False
        self.view.record.act(Act(reason), [(job, pod) for pod in pods])
        return True

    def _search(self, claim: Claim, pods: tuple[PodId, ...]) -> set[QueueName]:
        """Search for a place for *pods* of a job; returns the queues in which that changed.

        Those of the job and of all who had to move. Where there is no place, nothing changed.
        """
        state, job = self.state, claim.workload.name
        search = VictimSearch(
            state,
            self.view.finder,
            self._races,
            job,
            pods,
            now_ms=self.now_ms,
            faithful=self.settings.faithful,
            note=self.view.record.touch,
        )
        tried = search.run(lambda: self._line_of_victims(claim), claim.judge_for)
        self.looked_at_the_clock |= bool(claim.spared)
        if tried is None:
            candidates = len(claim.barred) + sum(
                allows(candidate)
                for queue, allows in claim.allowed()
                for _, candidate in self._pool.line(queue)
            )
            has_new = bool(self._pool.settled)
            reason = why_failed(claim, candidates, self._most_victims(), has_new=has_new)
            failed = FailedClaim(action=self.action, reason=reason)
            self.view.record.claim_failed(job, failed)
            return set()
        for reason, victims in reasons_to_lose(claim, tried):
            self.view.record.act(Act(reason, job), victims)
        gain = Act(reason_to_gain(claim, tried), waits_for=_leaving(tried))
        self.view.record.act(gain, [(job, pod) for pod in pods])
        for name, pod in tried.lost:
            self.view.away.setdefault(name, set()).add(pod)
        self._victims |= {name for name, _ in tried.lost | tried.moved | tried.joined}
        return {state.workloads[name].queue for name in (*self._victims, job)}

    def _line_of_victims(self, claim: Claim) -> VictimLine:
        most = self._most_victims()
        line = self.state, self.view.numbers, self._pool, claim.allowed()
        return VictimLine(*line) if most is None else CappedLine(*line, most)

    def _most_victims(self) -> int | None:
        """Return how many jobs may be asked for the sake of one; None: all."""
        most = self.settings.max_consolidation_victims
        if self.action != "consolidation" or most is None:
            return None
        return most + 1 if self.settings.faithful else most  # KAI's counter lets one more pass

    def _victim_pool(self) -> VictimPool:
        """Return who may be asked to give way: KAI asks also those who came in this cycle."""
        settled = None if self.settings.faithful else self._is_settled
        return VictimPool(self.state, self.gang, settled)

    def _is_settled(self, pod: PodKey) -> bool:
        return pod in self._spared or self.view.record.is_settled(pod)

    def _races(
        self, claimant: WorkloadName, pods: tuple[PodId, ...]
    ) -> tuple[PendingJobs, QueueRace]:
        """Line up all that waits, with *pods* of the claimant as its next."""
        jobs = self.view.waiting(None, {claimant: pods})
        return jobs, self.view.race(jobs)


def _leaving(tried: Tried) -> tuple[WorkloadName, ...]:
    return tuple(sorted({name for name, _ in tried.lost | tried.moved}))
