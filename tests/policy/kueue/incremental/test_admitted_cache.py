"""Admitted workloads that are kept from plan to plan are those of a fresh plan."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.events import WorkloadChanged
from fairlead.model.holds import Holds
from fairlead.policy.kueue.incremental.admitted import AdmittedCache
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.incremental.test_state import STEPS, History, in_both_modes
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
            fresh = KueuePolicy(self.settings).plan(self.state, self.now_ms, held=held)
            assert kept == fresh
        kept = self.policy.plan(self.state, self.now_ms)
        fresh, _ = KueuePolicy(self.settings).plan_with_outcomes(self.state, self.now_ms)
        assert kept.decisions == fresh.decisions
        return super().plan()


@in_both_modes
@settings(max_examples=scale_examples(30), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_plans_with_kept_lines_are_those_of_a_fresh_policy(faithful: bool, seed: int) -> None:
    history = ClassicalHistory(seed, faithful=faithful)
    for _ in range(STEPS):
        history.step()
        history.plan()


@pytest.mark.parametrize("run_time_ms", [0, 1])
def test_lines_are_kept_where_no_holder_is_protected(run_time_ms: int) -> None:
    history = ClassicalHistory(7, faithful=False)
    for _ in range(5):
        history.step()
        history.plan()
    options = replace(history.settings.options, min_run_time_ms=run_time_ms)
    kept = AdmittedCache(history.state, replace(history.settings, options=options))
    assert kept.serve(history.state)
    assert (kept.up_to_date() is not None) == (run_time_ms == 0)
