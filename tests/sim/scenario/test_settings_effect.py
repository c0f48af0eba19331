"""Settings that change nothing under a rule set are told, each beside the others that are set."""

from pathlib import Path

import pytest

from fairlead.errors import SimulationError
from fairlead.sim.scenario.settings import settings_without_effect
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, scenario

POLICIES = "  policies: [kai, kueue, elastic-quota]\n"
USAGE = "  usage: {k: 1, halfLife: 1h}\n"
TOLD = {
    "how much past use counts, where none does": ("", "kValue=2", "", "kai kueue elastic-quota"),
    "the same where it does": (USAGE, "kValue=2", "", "kueue elastic-quota"),
    "what it is already": (USAGE, "kValue=1", "", "kai kueue elastic-quota"),
    "the same where another setting makes it count": (
        "",
        "kValue=2",
        "window=1d",
        "kueue elastic-quota",
    ),
    "kueue's own": ("", "fairSharing=false", "", "kai elastic-quota"),
    "more load, where jobs are told one by one": (
        "",
        "loadFactor=5",
        "",
        "kai kueue elastic-quota",
    ),
    "what all know": ("", "grace=1m", "", ""),
    "what it is where nobody says so": ("", "atMostEvery=1s", "", "kai kueue elastic-quota"),
    "the least time between cycles": ("", "atMostEvery=2s", "", ""),
    "the same, where they have a fixed period": (
        "  cycle: {every: 5s}\n",
        "atMostEvery=2s",
        "",
        "kai kueue elastic-quota",
    ),
    "nothing at all": ("", "", "", ""),
}


def settings_of(text: str) -> dict[str, str]:
    return {name: value for name, _, value in [each.partition("=") for each in text.split()]}


@pytest.mark.parametrize(("spec", "told", "beside", "expected"), TOLD.values(), ids=TOLD.keys())
def test_a_setting_is_reported_under_the_rule_sets_that_go_on_as_before(
    tmp_path: Path, spec: str, told: str, beside: str, expected: str
) -> None:
    found = scenario(tmp_path, NODES + QUEUES + POLICIES + spec + WORK)
    settings = settings_of(told)
    without = settings_without_effect(found, found.variants, settings, settings_of(beside))
    pairs = [(each.variant, each.setting) for each in without]
    assert pairs == [(each, name) for each in expected.split() for name in settings]


def test_each_is_judged_beside_the_others(tmp_path: Path) -> None:
    """Without a window how much past use counts would change nothing, with one it does."""
    found = scenario(tmp_path, NODES + QUEUES + WORK)
    settings = {"kValue": "2", "window": "1d", "grace": "0s"}
    without = settings_without_effect(found, found.variants, settings, {})
    assert list(without) == [("kai", "grace", False)]


@pytest.mark.parametrize(
    ("spec", "setting", "is_off"),
    [("", "kValue=2", True), (USAGE, "kValue=1", False), ("", "fetchInterval=5m", True)],
)
def test_it_is_reported_where_past_use_would_have_to_count_first(
    tmp_path: Path, spec: str, setting: str, is_off: bool
) -> None:
    found = scenario(tmp_path, NODES + QUEUES + spec + WORK)
    without = settings_without_effect(found, found.variants, settings_of(setting), {})
    assert [each.is_past_use_off for each in without] == [is_off]


def test_a_window_shorter_than_the_time_between_two_samples_is_refused_as_in_a_file(
    tmp_path: Path,
) -> None:
    sampled = scenario(tmp_path, NODES + QUEUES + "  usage: {sum: sampled}\n" + WORK)
    with pytest.raises(SimulationError, match="found 30s, which is shorter than the 1m between"):
        list(settings_without_effect(sampled, sampled.variants, {"window": "30s"}, {}))
    exact = scenario(tmp_path, NODES + QUEUES + USAGE + WORK)
    assert list(settings_without_effect(exact, exact.variants, {"window": "30s"}, {})) == []
