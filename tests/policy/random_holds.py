"""What a caller might hold by chance, what must hold of a plan then, and what happens next."""

from collections.abc import Iterable
from random import Random

from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadFinished, WorkloadStopped
from fairlead.model.execution.executor import apply
from fairlead.model.holds import HELD_AFTER_FAILURE, NOTHING_HELD, Holds
from fairlead.model.plan import (
    Decision,
    Evict,
    LeftPending,
    Move,
    Plan,
    Reserve,
    Start,
    Unknown,
    Wait,
)
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy, Settings, make_policy
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.policy.changes import changes_of


def random_holds(chance: Random, state: ClusterState) -> Holds:
    """Return workloads, nodes and victims of *state*, and some that are gone; now and then none."""
    if chance.random() < 0.25:
        return NOTHING_HELD
    names, nodes = sorted(state.workloads), sorted(state.nodes)
    placed = sorted((name, pod) for name, run in state.runs.items() for pod in run.pods)
    share = chance.choice((0.1, 0.4))
    pairs = [(name, node) for name in names for node in nodes]
    gone = WorkloadName("gone")
    return Holds(
        workloads=frozenset(each for each in (*names, gone) if chance.random() < share / 2),
        nodes=frozenset(each for each in (*pairs, (gone, "n0")) if chance.random() < share),
        victims=frozenset(each for each in placed if chance.random() < share),
    )


def check_holds(decisions: Iterable[Decision], held: Holds, *, places_pods: bool) -> None:
    """Nothing that is *held* is started, served by others' leaving, placed there or told to go."""
    for each in decisions:
        match each:
            case Start() | Reserve():
                assert each.workload not in held.workloads
            case Evict():
                assert each.beneficiary not in held.workloads
                assert held.victims.isdisjoint((each.workload, pod) for pod in each.pods)
            case Move():
                assert each.beneficiary not in held.workloads
                assert held.victims.isdisjoint((each.workload, p.pod) for p in each.origins)
            case Wait() | Unknown():
                is_told = each.reason.code == HELD_AFTER_FAILURE
                assert not is_told or each.workload in held.workloads
        if places_pods and isinstance(each, Start | Reserve | Move):
            assert held.nodes.isdisjoint((each.workload, p.node) for p in each.placements)


class HeldHistory:
    """A cluster that one policy follows, with others held back from plan to plan."""

    def __init__(self, state: ClusterState, settings: Settings, seed: int, now_ms: int) -> None:
        """Begin with *state* as it is."""
        self.state = state
        self.settings = settings
        self.now_ms = now_ms
        self.chance = Random(seed)
        self.policy: Policy = make_policy(settings)
        self.places_pods = bool(state.nodes)
        self.refused = 0  # that something was not done because it was held

    def live(self, steps: int) -> None:
        """Plan again and again, with another thing held each time, while something happens."""
        for _ in range(steps):
            plan = self.plan(random_holds(self.chance, self.state))
            if self.chance.random() < 0.7:
                apply(self.state, plan)
                check_invariants(self.state)
            self.go_on()

    def plan(self, held: Holds) -> Plan:
        """Plan with *held*, as a policy does that sees the state for the first time."""
        state, now_ms, before = self.state, self.now_ms, facts(self.state)
        plan = make_policy(self.settings).plan(state, now_ms, held=held)
        changes = [each for each in plan.decisions if not isinstance(each, LeftPending)]
        if self.chance.random() < 0.5:
            assert self.policy.plan(state, now_ms, held=held) == plan
        assert changes_of(self.policy, state, now_ms, held=held) == changes
        assert facts(state) == before
        assert state.holds == NOTHING_HELD
        check_holds(plan.decisions, held, places_pods=self.places_pods)
        self.refused += any(
            each.reason.code == HELD_AFTER_FAILURE
            for each in plan.decisions
            if isinstance(each, LeftPending)
        )
        return plan

    def go_on(self) -> None:
        """Let some leave, and now and then something finish."""
        self.now_ms += self.chance.choice((0, 1, 1000))
        for name in sorted(self.state.runs):
            pods = self.state.runs[name].pods
            leaving = tuple(sorted(pod for pod, at in pods.items() if at.phase == "leaving"))
            if leaving and self.chance.random() < 0.7:
                self.state.apply(WorkloadStopped(workload=name, pods=leaving))
        if self.state.workloads and self.chance.random() < 0.2:
            self.state.apply(WorkloadFinished(self.chance.choice(sorted(self.state.workloads))))
