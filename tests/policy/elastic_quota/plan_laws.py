"""What must hold of every plan under ElasticQuotas, checked decision by decision.

The plan is followed on the state, so that each decision is judged by what it found. Sums are taken
anew from the pods that have a place.
"""

from collections.abc import Iterable, Iterator, Sequence

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadLeaving, WorkloadStarted
from fairlead.model.execution.executor import apply
from fairlead.model.execution.remember import forget_promises
from fairlead.model.plan import Decision, Evict, LeftPending, Plan, Reserve, Start, Unknown, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId, Workload
from fairlead.policy.elastic_quota.incremental.state import IncrementalState
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.quota.usage import Charges
from fairlead.policy.elastic_quota.scheduling.plan import CycleSource, PlainSource, settled_plan
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.placement.reference_pod_spread import is_spread
from tests.policy.elastic_quota.random_world import AXES, NOW_MS


def checked_plan(
    state: ClusterState,
    settings: ElasticQuotaSettings,
    policy: ElasticQuotaPolicy | None = None,
    now_ms: int = NOW_MS,
) -> Plan:
    """Return the plan of *policy* (None: of a fresh one), of which every law holds."""
    before = facts(state)
    plan = (policy or ElasticQuotaPolicy(settings)).plan(state, now_ms)
    check_invariants(state)
    assert facts(state) == before, "a plan changes nothing"
    if policy is not None:
        fresh = ElasticQuotaPolicy(settings).plan(state, now_ms)
        assert fresh == plan, "what was planned before does not matter"
    check_changes(state, settings, plan, policy or ElasticQuotaPolicy(settings))
    with state.trial():
        check_decisions(state, settings, plan.decisions, now_ms)
    check_gangs(state, plan.decisions)
    check_waits(state, plan)
    return plan


def check_changes(
    state: ClusterState, settings: ElasticQuotaSettings, plan: Plan, policy: ElasticQuotaPolicy
) -> None:
    """Whoever asks for changes gets the plan without its waits, whatever was asked before."""
    before = facts(state)
    expected = [each for each in plan.decisions if not isinstance(each, LeftPending)]
    for each in (policy, ElasticQuotaPolicy(settings)):
        changes = each.plan(state, plan.taken_ms, explain=False)
        assert [*changes.decisions] == expected
        assert changes.time_dependent == plan.time_dependent
        assert facts(state) == before, "changes that are told are not made"
    check_exempt(state, settings, plan.taken_ms)
    check_invariants(state)


def check_exempt(state: ClusterState, settings: ElasticQuotaSettings, now_ms: int) -> None:
    """The same workloads are exempt from preemption, whatever the cycles work with."""
    kept = IncrementalState(state, settings)
    sources: list[CycleSource] = [PlainSource(state, settings), kept]
    if kept.can_skip():
        sources.append(kept.feasible_workloads())
    assert len({settled_plan(each, state, now_ms).exempt for each in sources}) == 1


def check_waits(state: ClusterState, plan: Plan) -> None:
    """A wait ends what was promised, and does nothing else."""
    changes = tuple([each for each in plan.decisions if not isinstance(each, LeftPending)])
    with state.trial():
        apply(state, plan)
        whole = facts(state)
    with state.trial():
        apply(state, Plan(taken_ms=plan.taken_ms, decisions=changes))
        forget_promises(state, changes, plan.taken_ms)
        assert facts(state) == whole


def facts(state: ClusterState) -> object:
    """Return all that a state tells, in a form that later changes do not reach."""
    runs = {
        name: (dict(run.pods), dict(run.reserved), run.charges, dict(run.own_charges), run.flavors)
        for name, run in state.runs.items()
    }
    sums = {
        name: (
            tuple(own.allocated),
            tuple(own.non_preemptible),
            tuple(own.leaving),
            own.pending[:],
        )
        for name, own in state.sums.items()
    }
    uses = {
        name: (dict(use.pods), tuple(use.held), tuple(use.leaving), tuple(use.reserved))
        for name in state.books.booked()
        for use in [state.books.use(name)]
    }
    waiting = {queue: state.waiting(queue) for queue in state.waited_for()}
    rest = (dict(state.workloads), dict(state.queues), dict(state.nodes), list(state.capacity))
    return (runs, sums, uses, waiting, rest, state.catalogue, dict(state.usage))


def check_decisions(
    state: ClusterState,
    settings: ElasticQuotaSettings,
    decisions: Sequence[Decision],
    now_ms: int,
) -> None:
    """Follow *decisions* on *state*, which is changed, and judge each by what it finds."""
    waits = {name for queue in state.waited_for() for name in state.waiting(queue)}
    follower = Follower(state, settings, now_ms)
    for decision in decisions:
        follower.follow(decision)
    decided = {each.workload for each in decisions if not isinstance(each, Evict)}
    assert decided == waits, "whoever waits is decided about, and nobody else"


class Follower:
    """Carries decisions out one by one on a state, and checks the laws at each."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings, now_ms: int) -> None:
        """Begin with *state* as the plan found it."""
        self.state = state
        self.settings = settings
        self.expects_termination = not settings.quirks.leaving_counts
        self._protects_min = (
            settings.protect_min and self.expects_termination and not settings.quirks.below_min
        )
        self.now_ms = now_ms
        self.charges = Charges(state, as_plugin=settings.quirks.own_charge)
        self.nominated: dict[tuple[WorkloadName, PodId], str] = {}  # in this plan
        self._before: dict[tuple[WorkloadName, QueueName], Amounts] = {}  # what a claim found

    def follow(self, decision: Decision) -> None:
        """Check *decision*, and carry it out."""
        workload = self.state.workloads[decision.workload]
        match decision:
            case Start():
                self._start(workload, decision.placements)
            case Evict():
                self._evict(workload, decision)
            case Reserve():
                for each in decision.placements:
                    self._nominate(workload, each)
            case Wait() | Unknown():
                assert decision.reason.code
            case _:
                raise AssertionError("pods are never moved")

    def _start(self, workload: Workload, placements: tuple[Placement, ...]) -> None:
        for each in placements:
            assert (workload.name, each.pod) not in self.nominated
            self._check_allowed(workload, each)
            node, at = self.state.nodes[str(each.node)], workload.pod_sets.set_index[each.pod]
            assert is_spread(self.state, workload, at, node, "now"), "skew within maxSkew"
            self.state.apply(
                WorkloadStarted(workload=workload.name, placements=(each,), at_ms=self.now_ms)
            )
            self._check_rules(workload, each.pod, later=False)
            self._check_room(workload, each, later=False)

    def _nominate(self, workload: Workload, placement: Placement) -> None:
        assert (workload.name, placement.pod) not in self.nominated
        self.nominated[workload.name, placement.pod] = str(placement.node)
        if not self.expects_termination:
            return  # the plugin promises what it cannot keep
        self._check_allowed(workload, placement)
        self._check_rules(workload, placement.pod, later=True)
        self._check_room(workload, placement, later=True)

    def _evict(self, workload: Workload, decision: Evict) -> None:
        assert decision.beneficiary is not None
        claimant = self.state.workloads[decision.beneficiary]
        own = claimant.extension
        assert not isinstance(own, ElasticPods) or own.preemption_policy != "Never"
        queue = workload.queue
        quotas = self.state.queues
        if claimant.queue == queue or queue not in quotas or claimant.queue not in quotas:
            assert workload.priority < claimant.priority
            assert (queue in quotas) == (claimant.queue in quotas)
        else:
            self._check_borrows(queue, claimant.name)
        before = self.used(queue, later=True) if queue in quotas else ()
        self.state.apply(WorkloadLeaving(workload=workload.name, pods=decision.pods))
        if self._protects_min and claimant.queue != queue and queue in quotas:
            rows = zip(before, self.used(queue, later=True), self._least(queue), strict=True)
            assert not any(left < least <= had for had, left, least in rows), "kept its min"

    def _check_borrows(self, queue: QueueName, claimant: WorkloadName) -> None:
        """Check that a namespace borrowed before anybody left for *claimant*.

        In which order its pods leave is told otherwise than by the order of decisions.
        """
        if (claimant, queue) not in self._before:
            self._before[claimant, queue] = self.used(queue, later=self.expects_termination)
        used = self._before[claimant, queue]
        assert any(map(int.__gt__, used, self._least(queue))), "only a borrower gives way"

    def used(self, queue: QueueName, *, later: bool) -> Amounts:
        """Return what the pods of a namespace have, those who are leaving counted, or not."""
        return _total(
            self.charges.of(workload, workload.pod_sets.set_index[pod]).amounts
            for workload, pod, is_terminating in self._placed()
            if workload.queue == queue and not (later and is_terminating)
        )

    def _check_rules(self, workload: Workload, pod: PodId, *, later: bool) -> None:
        asked = self._asked(workload, pod)
        for use, bounds in self._rules(workload, later=later):
            for at in asked:
                bound = bounds[at]
                assert bound is None or use[at] <= bound, "by our decision no rule is broken"

    def _rules(
        self, workload: Workload, *, later: bool
    ) -> Iterator[tuple[Amounts, Sequence[int | None]]]:
        """Yield what counts in the quota and in the pool, against their bounds.

        What others were promised beyond their mins they may lose to who is within its own.
        """
        queues = self.state.queues
        if workload.queue not in queues:
            return
        in_quota = self.used(workload.queue, later=later)
        in_pool = _total(
            [
                self.state.axes.zero,
                *[self.used(queue, later=later) for queue in queues if queue != workload.queue],
            ]
        )
        nominated = self._promised_by_quota()
        in_quota = _total([in_quota, nominated.pop(workload.queue, self.state.axes.zero)])
        in_pool = _total([in_pool, in_quota])
        is_over = any(map(int.__gt__, in_quota, self._least(workload.queue)))
        for queue, amounts in nominated.items():
            counts = amounts if later and is_over else self._rightful(queue, amounts, later=later)
            in_pool = _total([in_pool, counts])
        yield in_quota, queues[workload.queue].ceiling
        yield in_pool, _total(self._least(queue) for queue in queues)

    def _promised_by_quota(self) -> dict[QueueName, Amounts]:
        found: dict[QueueName, Amounts] = {}
        for name, pod in self.nominated:
            workload = self.state.workloads[name]
            charge = self.charges.of(workload, workload.pod_sets.set_index[pod]).amounts
            if workload.queue in self.state.queues:
                before = found.get(workload.queue, (0,) * len(charge))
                found[workload.queue] = _total([before, charge])
        return found

    def _rightful(self, queue: QueueName, nominated: Amounts, *, later: bool) -> Amounts:
        """Return how much of what is *promised* to pods of a quota is within its min."""
        if not self.expects_termination:
            return (0,) * len(nominated) if self._is_over_min(queue) else nominated
        rows = zip(nominated, self._least(queue), self.used(queue, later=later), strict=True)
        return tuple([min(most, max(0, least - used)) for most, least, used in rows])

    def _check_allowed(self, workload: Workload, placement: Placement) -> None:
        wanted = workload.pod_sets.of(placement.pod)
        node = self.state.nodes[str(placement.node)]
        assert not wanted.gated
        assert not wanted.constraints.unsupported
        assert node.ready
        assert not node.cordoned
        assert all(node.labels.get(key) == v for key, v in wanted.constraints.node_selector)

    def _check_room(self, workload: Workload, placement: Placement, *, later: bool) -> None:
        node = self.state.nodes[str(placement.node)]
        held = _total(
            [
                (0,) * len(node.allocatable),
                *[
                    each.pod_sets.of(pod).requests
                    for each, pod, is_terminating in self._placed(node.name)
                    if not (later and is_terminating)
                ],
                *[
                    self.state.workloads[name].pod_sets.of(pod).requests
                    for (name, pod), nominated in self.nominated.items()
                    if nominated == node.name
                ],
            ]
        )
        needs = workload.pod_sets.of(placement.pod).requests
        rows = zip(needs, held, node.allocatable, strict=True)
        assert all(there <= most for need, there, most in rows if need), "room"

    def _placed(self, node: str | None = None) -> Iterator[tuple[Workload, PodId, bool]]:
        for name, run in self.state.runs.items():
            for pod, placed in run.pods.items():
                if node in (None, placed.node):
                    yield self.state.workloads[name], pod, placed.phase == "leaving"

    def _asked(self, workload: Workload, pod: PodId) -> list[int]:
        charge = self.charges.of(workload, workload.pod_sets.set_index[pod]).amounts
        return [at for at, amount in enumerate(charge) if amount]

    def _least(self, queue: QueueName) -> Amounts:
        return tuple(amount or 0 for amount in self.state.queues[queue].guaranteed)

    def _is_over_min(self, queue: QueueName) -> bool:
        return any(map(int.__gt__, self.used(queue, later=False), self._least(queue)))


def check_gangs(state: ClusterState, decisions: Sequence[Decision]) -> None:
    """Check that no gang is left with less than it needs, unless it had less before."""
    for name, workload in state.workloads.items():
        run = state.runs.get(name)
        staying = [p for p in run.pods.values() if p.phase == "running"] if run else []
        own = [each for each in decisions if each.workload == name]
        started = sum(len(each.placements) for each in own if isinstance(each, Start))
        waiting = sum(len(each.placements) for each in own if isinstance(each, Reserve))
        there = len(staying) + started
        if started:
            assert there >= workload.min_count, "it starts with all that it needs"
        if waiting:
            assert there + waiting >= workload.min_count, "it waits with all that it needs"


def _total(parts: Iterable[Amounts]) -> Amounts:
    found = [0] * len(AXES)
    for part in parts:
        found += [0] * (len(part) - len(found))
        found = [a + b for a, b in zip(found, part, strict=True)]
    return tuple(found)
