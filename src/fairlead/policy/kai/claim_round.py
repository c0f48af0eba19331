"""One action in which jobs that wait claim places from others: each once, in the order of service.

A claim is met from room that is there already, or by a search for victims; or it is told what
stopped it.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from operator import gt
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, Limits, QueueName, WorkloadName
from fairlead.model.plan import FailedClaim, Reason
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.kai.askable_pool import AskablePool
from fairlead.policy.kai.capped_line import CappedLine
from fairlead.policy.kai.claim_hopes import ClaimHopes
from fairlead.policy.kai.claim_reasons import reason_to_gain, reasons_to_lose
from fairlead.policy.kai.claim_refusals import why_failed, why_not_admitted
from fairlead.policy.kai.claims import Claim, ClaimAction, Judged
from fairlead.policy.kai.cycle_record import Act
from fairlead.policy.kai.cycle_view import CycleView
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.job_kinds import Kind
from fairlead.policy.kai.job_signature import FailedClaims
from fairlead.policy.kai.move_bound import MoveBound
from fairlead.policy.kai.node_crowds import Crowd
from fairlead.policy.kai.pending_jobs import PendingJobs
from fairlead.policy.kai.queue_race import QueueRace, RaceCourse
from fairlead.policy.kai.reclaim_judge import allocated_now
from fairlead.policy.kai.start_job import unsupported_constraint
from fairlead.policy.kai.try_line import LineOfAll, LineOfThoseConcerned, TryLine
from fairlead.policy.kai.victim_line import VICTIM_RULES, HoldRace, VictimLine
from fairlead.policy.kai.victim_search import Tried, VictimSearch
from fairlead.policy.kai.waiting_lines import Kinds, KindTally

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
        self.tells_why = view.tells_why
        self.shares = view.shares
        self.leaves = view.leaves
        self.looked_at_the_clock = False  # at another time it might come out otherwise
        self.has_displaced = False  # a claim was met for which others left their places
        self._spared = spared
        self._might_lose: tuple[int, Set[QueueName]] | None = None  # when the state was so
        self._allocated: tuple[int, Mapping[QueueName, Amounts]] | None = None  # the same
        self._moves: MoveBound | None = None  # None: not known since the last change
        self._movable: dict[Kind, bool] = {}  # for which kinds others may be moved
        self._refusals: dict[Alike, FailedClaim] = {}
        self._victims: set[WorkloadName] = set()  # of the last claim that was met

    @cached_property
    def _pool(self) -> AskablePool:
        """Those who may be asked; in most cycles nobody is."""
        view, faithful = self.view, self.settings.faithful
        held = self.state.holds.victim_workloads() & self.state.workloads.keys()
        return AskablePool(view.pool, view.record, self._spared, held, asks_all=faithful)

    @cached_property
    def _failed(self) -> FailedClaims:
        """Those who claimed in vain; in most cycles nobody claims at all."""
        return FailedClaims(
            self.state,
            self.view.pod_terms,
            across_queues=self.action == "consolidation",
            faithful=self.settings.faithful,
        )

    def might_lose(self) -> Set[QueueName]:
        """Return the leaves with a queue on their path that is over its guarantee or share.

        No others lose anything to a reclaim. Cost: nothing until the state changes; then a look at
        each queue.
        """
        if self._might_lose is None or self._might_lose[0] != self.state.moment:
            self._might_lose = self.state.moment, self._beyond_rights()
        return self._might_lose[1]

    def _beyond_rights(self) -> Set[QueueName]:
        state, beyond = self.state, set()
        for name, share in self.shares.items():  # parents before children
            held, queue = state.sums[name].allocated, state.queues[name]
            if (
                queue.parent in beyond
                or _is_over(held, queue.guaranteed)
                or _is_over(held, share.allocatable)
            ):
                beyond.add(name)
        return {name: None for name in self.leaves if name in beyond}.keys()

    def allocated(self) -> Mapping[QueueName, Amounts]:
        """Return what every queue holds now. Cost: nothing until the state changes."""
        if self._allocated is None or self._allocated[0] != self.state.moment:
            self._allocated = self.state.moment, allocated_now(self.state)
        return self._allocated[1]

    def gang(self, job: WorkloadName) -> Gang:
        """Return the groups of a job."""
        return self.view.gang(job)

    def gpu_later(self) -> int:
        """Return what of GPUs is or will be free in the whole cluster, in thousandths."""
        return self.view.gpu_later()

    def promises_run_time(self) -> bool:
        """Return whether anybody may run for a time before others reclaim its place."""
        return self._promises_run_time

    @cached_property
    def _promises_run_time(self) -> bool:
        promised = [queue.reclaim_min_runtime_ms for queue in self.state.queues.values()]
        return self.settings.reclaim_min_runtime_ms > 0 or any(promised)

    @cached_property
    def _depends_on_time(self) -> bool:
        """Whether it may take a look at the clock to line up who could give way.

        Where it is plain beforehand that nobody can help, the outcome is the same at any time.
        """
        promised = [queue.preempt_min_runtime_ms for queue in self.state.queues.values()]
        own_queue = self.settings.preempt_min_runtime_ms > 0 or any(promised)
        return own_queue if self.action == "preempt" else self._promises_run_time

    def lowest_priority(self, queue: QueueName) -> int | None:
        """Return the lowest priority of those who hold something in *queue* and could give way."""
        return self.view.pool.lowest_priority(queue)

    def run(self) -> None:
        """Let every job that waits claim once, in the order of service."""
        if self.action == "consolidation" and self.settings.max_consolidation_victims == 0:
            return
        if not self.tells_why and not self._may_any_kind_claim():
            return
        jobs = self.view.waiting(self.action)
        hopes = ClaimHopes(jobs, lambda queue, kinds: self._open_kinds(queue, kinds, jobs))
        if not hopes.are_left():
            for name in jobs.names() if self.tells_why else ():
                # Nothing changes by which it could be admitted.
                self._refuse(Claim(self, self.action, name, jobs.request(name)))
            return
        self._take_turns(jobs, hopes)

    def _take_turns(self, jobs: PendingJobs, hopes: ClaimHopes) -> None:
        """Let *jobs* claim as long as any claim may be met; who wants to know why claims anyway."""
        race = self.view.race(jobs)
        while (queue := race.leader()) is not None and (self.tells_why or hopes.are_left()):
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            kind = jobs.kind(job)
            request, pods = self.view.request(kind), jobs.next_pods(job)
            is_passed_over = self._may_pass_over and not hopes.has(queue, kind)
            if is_passed_over:
                jobs.drop_alike(queue, request, lambda kind: not hopes.has(queue, kind))
                changed = set[QueueName]()
            else:
                changed = self._meet(Claim(self, self.action, job, request), pods)
                jobs.drop_first(queue)
                jobs.look_again(self._victims)
                self._victims.clear()
            if changed:
                for each in {queue, *changed}:
                    race.renew(each)
                hopes.look_again()
                continue
            if jobs.next_request(queue) != request:  # else it stands as before
                race.renew(queue)
            if not is_passed_over:
                all_alike = self._speaks_for_its_kind(job, pods)
                hopes.take_notice(queue, kind, all_alike=all_alike)

    @property
    def _may_pass_over(self) -> bool:
        """Whether a turn need not be taken that comes to nothing.

        KAI remembers of those who may not claim that they failed; who wants to know why has a turn.
        """
        return not self.tells_why and not self.settings.faithful

    def _speaks_for_its_kind(self, job: WorkloadName, pods: tuple[PodId, ...]) -> bool:
        """Return whether *job*, whose claim failed, is answer enough for others of its kind.

        Law: those in its queue, each in its turn, would be told that it was refused before.
        """
        set_index = self.state.workloads[job].pod_sets.set_index
        if not self._may_pass_over or len({set_index[pod] for pod in pods}) > 1:
            return False  # the pods of another may come in another order
        return self._failed_like(job, pods) is not None

    def _may_any_kind_claim(self) -> bool:
        """Return whether the claims of any kind may be met, as far as a look at each kind tells."""
        if self.action == "reclaim":
            return self.view.may_anybody_reclaim() and self._may_any_reclaim_be_met()
        if self.action == "consolidation":
            return any(self._may_be_moved_for(kind, each) for kind, each in self._small_enough())
        lowest = self.view.pool.lowest_of_all()
        return lowest is not None and self.view.is_anybody_above(lowest)

    def _may_any_reclaim_be_met(self) -> bool:
        """Return whether not all who may reclaim do so plainly in vain.

        What holds of one of a kind in a queue holds of all of them.
        """
        return bool(self.view.away) or not all(
            self._reclaims_in_vain(kind, one) for kind, one in self.view.who_may_reclaim()
        )

    def _reclaims_in_vain(self, kind: Kind, one: KindTally) -> bool:
        """Return whether there is plainly no room for a kind, and too little that others lose."""
        if kind not in self.view.hopeless.all():
            return False
        claim = Claim(self, self.action, one.job, self.view.request(kind))
        return not claim.has_anybody_to_ask() or self._is_too_little_held(claim, one.pods)

    def _small_enough(self) -> list[tuple[Kind, KindTally]]:
        """Return the kinds of those who wait that ask for no more GPUs than are free in all.

        No others are admitted to a consolidation.
        """
        tally, gpu = self.view.tally(self.action), self.state.axes.index("gpu")
        if gpu is None:
            return [*tally.items()]
        request, free = self.view.request, self.gpu_later()
        return [(kind, each) for kind, each in tally.items() if request(kind)[gpu] <= free]

    def _open_kinds(self, queue: QueueName, kinds: Kinds, jobs: PendingJobs) -> Iterable[Kind]:
        """Return the kinds of those in *queue* whose claims may be met.

        What holds of one of them holds of all.
        """
        if self.action == "reclaim":
            return self.view.kinds_that_may_reclaim(queue, kinds)
        first_of = {kind: keys[0][-1] for kind, keys in kinds.items()}
        if self.action == "consolidation":
            tally = {kind: KindTally(1, job, jobs.next_pods(job)) for kind, job in first_of.items()}
            return [kind for kind, each in tally.items() if self._may_be_moved_for(kind, each)]
        lowest, first = self.lowest_priority(queue), jobs.first(queue)
        if lowest is None or first is None or lowest >= self.state.workloads[first].priority:
            return ()  # nobody is more important than the first
        claims = {
            kind: Claim(self, self.action, job, self.view.request(kind))
            for kind, job in first_of.items()
        }
        return [kind for kind, claim in claims.items() if claim.is_admitted()]

    def _may_be_moved_for(self, kind: Kind, one: KindTally) -> bool:
        """Return whether others may be moved for a kind of job, in whichever queue it is."""
        if kind not in self._movable:
            claim = Claim(self, self.action, one.job, self.view.request(kind))
            self._movable[kind] = claim.is_admitted() and not self._is_hopeless(claim, one.pods)
        return self._movable[kind]

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
            self._tell_failure(job, barred)
            return set()
        if self._fits_already(claim, pods):
            changed = {queue}
        elif (like := self._failed_like(job, pods)) is not None:
            reason = Reason(code=AS_REFUSED_BEFORE, queue=queue, names=(like,))
            self._tell_failure(job, reason)
            return set()
        else:
            changed = self._search(claim, pods)
        if not changed:
            self._failed.note_failure(job, pods)
            return set()
        self._failed.note_success()
        self._refusals.clear()
        self._moves = None
        self._movable.clear()
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
        if not self.tells_why:
            return
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
        starter = self.view.starter()
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
        tried = self._tried(claim, pods)
        self.looked_at_the_clock |= bool(claim.spared)
        if tried is None:
            self._tell_failed_search(claim)
            return set()
        self.has_displaced = True
        for reason, victims in reasons_to_lose(claim, tried):
            self.view.record.act(Act(reason, job), victims)
        gain = Act(reason_to_gain(claim, tried), waits_for=_leaving(tried))
        self.view.record.act(gain, [(job, pod) for pod in pods])
        for name, pod in tried.lost:
            self.view.away.setdefault(name, set()).add(pod)
        self._victims |= {name for name, _ in tried.lost | tried.moved | tried.joined}
        return {state.workloads[name].queue for name in (*self._victims, job)}

    def _tried(self, claim: Claim, pods: tuple[PodId, ...]) -> Tried | None:
        """Return what was done to meet a claim; None if nothing can be.

        Who holds what it may is disturbed only if taking from the others is not enough. It loses
        nothing even then, but may have to move. If nobody holds more, there is nothing to be had.
        """
        if not claim.has_anybody_to_ask() or self._is_hopeless(claim, pods):
            return None
        if (
            self.action == "reclaim"
            and not self.tells_why
            and self._is_too_little_held(claim, pods)
        ):
            return None
        tried = self._search_once(claim, pods)
        if tried is None and self.action == "reclaim" and not claim.asks_everybody:
            claim.asks_everybody = True
            tried = self._search_once(claim, pods)
        return tried

    def _is_hopeless(self, claim: Claim, pods: tuple[PodId, ...]) -> bool:
        """Return whether it is plain that nothing can be moved about so that *pods* fit.

        Who wants to know why is told what stopped the search, so it is made.
        """
        if self.action != "consolidation" or self.tells_why:
            return False
        if claim.workload.name in self.state.runs:
            return False  # it could move for others, but not for itself
        finder = self.view.finder
        if self._moves is None:
            self._moves = self.view.move_bound(self._most_victims(), self._pool)
        sets = claim.workload.pod_sets
        asked = [sets.of(pod) for pod in pods]
        sizes = [finder.besides_shares(each) for each in asked]
        return not self._moves.allows(sizes, finder.nodes_with_room(asked))

    def _is_too_little_held(self, claim: Claim, pods: tuple[PodId, ...]) -> bool:
        """Return whether those who may lose hold too little on every node for the first of *pods*.

        What it gets and is not idle they lose, and in a try for it only those of one node leave.
        """
        lacking = claim.lacking_gpus(pods)
        if lacking <= 0:
            return False
        losers = [(leaf, self._pool.line(leaf)) for leaf, _ in claim.losers()]
        most = self.view.most_gpus_on_a_node(losers)
        return most is not None and most < lacking

    def _search_once(self, claim: Claim, pods: tuple[PodId, ...]) -> Tried | None:
        job = claim.workload.name
        search = VictimSearch(
            self.state,
            self.view.finder,
            self._try_line(job, pods),
            job,
            pods,
            now_ms=self.now_ms,
            faithful=self.settings.faithful,
            note=self.view.record.touch,
            bound_for=claim.bound_for,
            crowds=None if self.tells_why else lambda: self._crowds(claim),
            looks_first=self._depends_on_time,
        )
        return search.run(lambda: self._line_of_victims(claim), claim.judge_for)

    def _crowds(self, claim: Claim) -> Mapping[str, Crowd]:
        """Return all of the leaves that are asked, also who of them may not be asked just now."""
        return self.view.crowds((leaf, self._pool.line(leaf)) for leaf, _ in claim.allowed())

    def _tell_failed_search(self, claim: Claim) -> None:
        """Note why a search came to nothing, if anybody wants to know."""
        if not self.tells_why:
            return
        candidates = len(claim.barred) + sum(
            allows(candidate)
            for queue, allows in claim.allowed()
            for _, candidate in self._pool.line(queue)
        )
        if claim.stopped is None:
            claim.kept_by = self._first_within_rights(claim)
        has_new, has_held = bool(self._pool.settled), bool(self._pool.held)
        most = self._most_victims()
        reason = why_failed(claim, candidates, most, has_new=has_new, has_held=has_held)
        self._tell_failure(claim.workload.name, reason)

    def _tell_failure(self, job: WorkloadName, reason: Reason) -> None:
        failed = FailedClaim(action=self.action, reason=reason)
        self.view.record.claim_failed(job, failed)

    def _line_of_victims(self, claim: Claim) -> VictimLine:
        most, allowed = self._most_victims(), list(claim.allowed())
        hold_race: HoldRace = self.view.race_to_give_way
        if not self.settings.faithful and len(allowed) < len(self.leaves):
            hold_race = self._race_of([leaf for leaf, _ in allowed])
        line = self.state, self._pool, allowed, hold_race
        return VictimLine(*line) if most is None else CappedLine(*line, most)

    def _race_of(self, leaves: Iterable[QueueName]) -> HoldRace:
        """Let only those meet who are asked."""
        course = RaceCourse.of_leaves(self.state, leaves)
        world = self.state, course, self.view.numbers
        return lambda offer, lines: QueueRace(*world, offer, lines, *VICTIM_RULES)

    def _first_within_rights(self, claim: Claim) -> Judged | None:
        """Return why whoever would be the first to give way, but need not, is not asked."""
        leaves = list(claim.within_rights())
        line = VictimLine(self.state, self._pool, leaves, self.view.race_to_give_way)
        candidate = line.pop()
        return None if candidate is None else claim.judge_of(candidate)

    def _most_victims(self) -> int | None:
        """Return how many jobs may be asked for the sake of one; None: all."""
        most = self.settings.max_consolidation_victims
        if self.action != "consolidation" or most is None:
            return None
        return most + 1 if self.settings.faithful else most  # KAI's counter lets one more pass

    def _try_line(self, claimant: WorkloadName, pods: tuple[PodId, ...]) -> TryLine:
        if self.settings.faithful:
            return LineOfAll(self.view, claimant, pods)
        return LineOfThoseConcerned(self.view, claimant)


def _is_over(held: Sequence[int], most: Limits) -> bool:
    """Return whether more is held of anything than *most* allows; None: all is allowed."""
    bounds = [each if bound is None else bound for each, bound in zip(held, most, strict=True)]
    return any(map(gt, held, bounds))


def _leaving(tried: Tried) -> tuple[WorkloadName, ...]:
    return tuple(sorted({name for name, _ in tried.lost | tried.moved}))
