"""The next cycle is tried on what a plan would leave behind."""

from unittest import mock

import pytest
from msgspec.structs import replace

from fairlead.model.events import NodeChanged, WorkloadLeaving
from fairlead.model.plan import LeftPending, Start
from fairlead.policy.kai.actions.cycle import KaiCycle
from fairlead.policy.kai.actions.look_ahead import NEXT_CYCLE_MS, look_ahead
from fairlead.policy.kai.policy import fast_backend
from fairlead.policy.kai.settings import KaiSettings
from tests.policy.kai.actions.test_look_ahead import NOW_MS, world

OWN = KaiSettings()


def test_a_job_terminating_on_a_cordoned_node_takes_back_its_place_next() -> None:
    """Once it has left it waits, and takes back the place that small would have started on."""
    state = world(
        "n0=1 n1=2",
        "a=2 b=0",
        """
        job    queue  pods  min  gpu  priority  at
        pair   a      2     1    1    50        n0,n1
        small  b      1     1    1    50        -
        huge   b      1     1    9    50        -
        """,
    )
    pair = next(iter(state.runs))
    (leaving,) = [pod for pod, placed in state.runs[pair].pods.items() if placed.node == "n0"]
    state.apply(NodeChanged(replace(state.nodes["n0"], cordoned=True)))
    state.apply(WorkloadLeaving(workload=pair, pods=(leaving,)))
    decisions = look_ahead(state, OWN, NOW_MS, fast_backend(state, OWN), explain=False).decisions
    assert not [each for each in decisions if isinstance(each, Start)]


CYCLES = {
    "all start, so no job could take a place from them": (
        """
        job    queue  pods  min  gpu  priority  at
        one    a      1     1    1    50        -
        two    a      2     1    1    50        -
        """,
        [("now", True)],
    ),
    "large waits, and might take the place of small in the next cycle": (
        """
        job    queue  pods  min  gpu  priority  at
        old    a      1     1    3    50        n0
        small  a      1     1    1    50        -
        large  b      1     1    4    50        -
        """,
        [("now", True), ("next", False)],
    ),
    # important gets the place of old: the next cycle finds it running, or pending again.
    "a reservation, which the next cycle may find kept or not": (
        """
        job        queue  pods  min  gpu  priority  at
        old        a      1     1    4    50        n0
        important  a      1     1    3    75        -
        small      a      1     1    1    25        -
        """,
        [("now", True), ("next", False)],
    ),
}


@pytest.mark.parametrize(("jobs", "expected"), CYCLES.values(), ids=CYCLES.keys())
def test_a_plan_with_reasons_runs_the_deciding_cycle_once(
    jobs: str, expected: list[tuple[str, bool]]
) -> None:
    state = world("n0=4", "a=4 b=0", jobs)
    run = mock.patch.object(KaiCycle, "decisions", autospec=True, side_effect=KaiCycle.decisions)
    with run as cycles:
        explained = look_ahead(state, OWN, NOW_MS, fast_backend(state, OWN)).decisions
    contexts = [call.args[0].context for call in cycles.call_args_list]
    when = {NOW_MS: "now", NOW_MS + NEXT_CYCLE_MS: "next"}
    assert [(when[each.now_ms], each.explain) for each in contexts] == expected
    silent = look_ahead(state, OWN, NOW_MS, fast_backend(state, OWN), explain=False).decisions
    assert tuple([each for each in explained if not isinstance(each, LeftPending)]) == silent


def test_a_plan_that_is_not_cut_in_the_end_runs_one_cycle() -> None:
    """The last gang goes beyond the number of starts, so nothing is left to be cut off."""
    state = world("n0=4", "a=4", "job queue pods min gpu priority at\ntwo a 2 2 1 50 -")
    run = mock.patch.object(KaiCycle, "decisions", autospec=True, side_effect=KaiCycle.decisions)
    with run as cycles:
        found = look_ahead(state, OWN, NOW_MS, fast_backend(state, OWN), at_most_starts=1)
    assert not found.is_cut
    assert cycles.call_count == 1
