"""A policy that keeps its trees plans as a plain one, in whatever configuration."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.events import WorkloadChanged
from fairlead.model.holds import Holds
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.policy.kueue.incremental.test_state import (
    RUN_TIMES_MS,
    STEPS,
    STRATEGIES,
    History,
    in_both_modes,
)
from tests.policy.kueue.plan_world import build
from tests.policy.kueue.random_plan_world import Row
from tests.scale_examples import scale_examples


class ClassicalHistory(History):
    """A cluster without fair sharing, in which owners switch some of their workloads off."""

    def _settings(self, *, faithful: bool) -> KueueSettings:
        return KueueSettings(options=self._options(), faithful=faithful)

    def _queues(self) -> list[Row]:
        reclaim = self.chance.choice(("Any", "LowerPriority"))
        strategy = self.chance.choice(("StrictFIFO", "BestEffortFIFO"))
        return [
            {**row, "reclaim": reclaim, "strategy": strategy} if "reclaim" in row else row
            for row in super()._queues()
        ]

    def step(self) -> None:
        super().step()
        names = sorted(self.state.runs)
        if names and self.chance.random() < 0.1:
            workload = self.state.workloads[self.chance.choice(names)]
            self.state.apply(WorkloadChanged(replace(workload, active=not workload.active)))

    def plan(self) -> int:
        """Plan, and mostly carry it out; holds a victim now and then."""
        victims = [(name, pod) for name, run in sorted(self.state.runs.items()) for pod in run.pods]
        if victims and self.chance.random() < 0.2:
            held = Holds(victims=frozenset([self.chance.choice(victims)]))
            kept = self.policy.plan(self.state, self.now_ms, held=held)
            fresh = KueuePolicy(self.settings, plain=True).plan(self.state, self.now_ms, held=held)
            assert kept == fresh
        kept = self.policy.plan(self.state, self.now_ms)
        fresh = KueuePolicy(self.settings, plain=True).plan(self.state, self.now_ms)
        assert kept == fresh
        return super().plan()


@in_both_modes
@settings(max_examples=scale_examples(30), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_plans_without_fair_sharing_are_those_of_a_plain_policy(faithful: bool, seed: int) -> None:
    history = ClassicalHistory(seed, faithful=faithful)
    for _ in range(STEPS):
        history.step()
        history.plan()


class AnyHistory(ClassicalHistory):
    """The same with fair sharing or without, and with whatever rules the queues may have."""

    def __init__(self, seed: int, *, faithful: bool) -> None:
        super().__init__(seed, faithful=faithful)
        self.groups = self.chance.choice(("gpu:any", "gpu:a,b", "cpu,gpu:a,b"))
        self.state = build(self._queues(), (), self.groups)

    def _settings(self, *, faithful: bool) -> KueueSettings:
        return KueueSettings(
            fair_sharing=self.chance.random() < 0.7,
            strategies=self.chance.choice(STRATEGIES),
            options=KueueOptions(
                no_preemption_loops=self.chance.random() < 0.2,
                priority_override=self.chance.random() < 0.2,
                min_run_time_ms=self.chance.choice(RUN_TIMES_MS),
                preemption_delay_ms=self.chance.choice((0, 0, 1, 2500)),
                preemption_cooldown_ms=self.chance.choice((0, 1, 1500)),
                smallest_first=self.chance.random() < 0.3,
            ),
            faithful=faithful,
        )

    def _queues(self) -> list[Row]:
        rows = []
        for row in super()._queues():
            if "reclaim" in row:
                within = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
                row |= {
                    "reclaim": self.chance.choice(("Never", "LowerPriority", "Any", "Any")),
                    "within": self.chance.choice(within),
                    "strategy": self.chance.choice(("StrictFIFO", "BestEffortFIFO")),
                }
            rows.append(row)
        return rows


@in_both_modes
@settings(max_examples=scale_examples(60), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_plans_in_any_configuration_are_those_of_a_plain_policy(faithful: bool, seed: int) -> None:
    history = AnyHistory(seed, faithful=faithful)
    for _ in range(STEPS):
        history.step()
        history.plan()
