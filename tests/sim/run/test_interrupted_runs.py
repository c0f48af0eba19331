"""A run that is stopped tells what a run tells that was to end then."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.results.about import EVICTIONS_FILE, JOBS_FILE, SUMMARY_FILE
from fairlead.sim.run.run_variant import RunOrder, Unobserved, run_variant
from tests.scale_examples import scale_examples
from tests.sim.random_scenarios import POLICIES, Document, documents, read


class StopsAfter(Unobserved):
    """Stops a run when it was asked so many times."""

    def __init__(self, times: int) -> None:
        self._left = times

    def may_go_on(self, now_ms: int, finished: int) -> bool:
        del now_ms, finished
        self._left -= 1
        return self._left >= 0


@settings(max_examples=scale_examples(25))
@given(documents(), st.sampled_from(POLICIES), st.integers(0, 40))
def test_a_run_that_is_stopped_has_the_numbers_of_one_that_ends_there(
    document: Document, policy: str, times: int
) -> None:
    scenario = read(document, policy)
    with tempfile.TemporaryDirectory() as name:
        stopped, whole = Path(name) / "stopped", Path(name) / "whole"
        order = RunOrder(scenario=scenario, variant=policy, seed=1)
        about = run_variant(order, stopped, observer=StopsAfter(times))
        duration = f"{about.end_ms - about.start_ms}ms"
        order = RunOrder(scenario=scenario, variant=policy, seed=1, settings={"duration": duration})
        assert run_variant(order, whole).end_ms == about.end_ms
        for file in (SUMMARY_FILE, JOBS_FILE, EVICTIONS_FILE):
            assert (stopped / file).read_text() == (whole / file).read_text()
