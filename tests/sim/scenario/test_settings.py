"""Changing single settings of a scenario by name."""

import pickle
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from fairlead.errors import SimulationError
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.settings import SETTABLE, with_settings
from fairlead.sim.scenario.variant.prepare import Prepared, prepare
from fairlead.sim.work.arrivals import Every, Load, Poisson
from fairlead.sim.work.description import ArrivingWork
from fairlead.usage.window import Sliding
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, indented, scenario

SPEC = (
    NODES
    + QUEUES
    + indented(
        """
        duration: 1d
        policies: [kai, kueue, elastic-quota]
        work:
          - name: w
            queue: a
            shapes: [{requests: {gpu: 1}, run: 1h}]
            arrivals: {poisson: {load: 0.5}}
          - name: v
            queue: b
            shapes: [{requests: {gpu: 1}, run: 1h}]
            arrivals: {every: {interval: 1h}}
        """
    )
)

VALUES = {
    "seed": "3",
    "duration": "2h",
    "loadFactor": "1.5",
    "atMostEvery": "10s",
    "every": "5s",
    "lookAgain": "30s",
    "grace": "30s",
    "startUp": "20s",
    "restart": "1m",
    "faithful": "true",
    "kValue": "2.5",
    "halfLife": "1d",
    "window": "2d",
    "charge": "over-quota",
    "fetchInterval": "5m",
    "fairSharing": "false",
    "preventPreemptionLoops": "true",
    "minRunTime": "1m",
    "preemptionDelay": "2m",
    "preemptionCooldown": "3m",
    "protectMin": "true",
    "crossNodePreemption": "false",
}


@pytest.fixture
def plain(tmp_path: Path) -> Scenario:
    return scenario(tmp_path, SPEC)


def under(changed: Scenario, variant: str) -> Prepared:
    return prepare(changed, changed.by_name[variant])


def test_every_name_that_can_be_set_changes_something(plain: Scenario) -> None:
    assert list(VALUES) == list(SETTABLE)
    for name, text in VALUES.items():
        assert with_settings(plain, {name: text}) != plain


def test_settings_of_time_reach_the_simulation(plain: Scenario) -> None:
    times = ("duration", "atMostEvery", "every", "lookAgain", "grace", "startUp", "restart")
    rules = under(with_settings(plain, {name: VALUES[name] for name in times}), "kai").rules
    assert rules.until_ms == rules.start_ms + 7_200_000
    assert (rules.at_most_every_ms, rules.every_ms, rules.look_again_ms) == (10_000, 5_000, 30_000)
    assert rules.grace_ms == 30_000
    assert (rules.delays.start_up_ms, rules.delays.restart_ms) == (20_000, 60_000)


def test_settings_of_past_use_turn_it_on(plain: Scenario) -> None:
    assert under(plain, "kai").past_use is None
    names = ("kValue", "halfLife", "window", "charge", "fetchInterval")
    prepared = under(with_settings(plain, {name: VALUES[name] for name in names}), "kai")
    settings = prepared.settings
    assert isinstance(settings, KaiSettings)
    assert settings.k == Fraction(5, 2)
    assert settings.usage is not None
    assert settings.usage.rules.half_life_ms == 86_400_000
    assert settings.usage.rules.window == Sliding(172_800_000)
    assert settings.usage.rules.charge == "over-quota"
    assert prepared.past_use is not None
    assert prepared.past_use.every_ms == 300_000


def test_settings_reach_the_rule_set_that_they_are_for(plain: Scenario) -> None:
    changed = with_settings(plain, VALUES | {"faithful": "false"})
    kueue = under(changed, "kueue").settings
    assert isinstance(kueue, KueueSettings)
    assert not kueue.fair_sharing
    assert kueue.options.no_preemption_loops
    assert (kueue.options.min_run_time_ms, kueue.options.preemption_delay_ms) == (60_000, 120_000)
    assert kueue.options.preemption_cooldown_ms == 180_000
    quota = under(changed, "elastic-quota").settings
    assert isinstance(quota, ElasticQuotaSettings)
    assert (quota.protect_min, quota.cross_node_preemption) == (True, False)


def test_who_is_faithful_is_so_under_every_rule_set(plain: Scenario) -> None:
    changed = with_settings(plain, {"faithful": "true"})
    kai, kueue, quota = (under(changed, name).settings for name in changed.by_name)
    assert isinstance(kai, KaiSettings)
    assert kai.faithful
    assert kueue == KueueSettings(fair_sharing=True, faithful=True)
    assert isinstance(quota, ElasticQuotaSettings)
    assert quota.quirks.pool_all


def test_what_is_set_takes_the_place_of_what_the_policies_say(tmp_path: Path) -> None:
    """To be faithful is to be without options, unless one of them is set as well."""
    policies = indented(
        """
        policies:
          - {name: patient, policy: kueue, settings: {minRunTime: 5m, preemptionDelay: 1m}}
          - {name: as-kueue, policy: kueue, faithful: true}
        """
    )
    given = scenario(tmp_path, NODES + QUEUES + WORK + policies)
    faithful = KueueSettings(fair_sharing=True, faithful=True)
    changed = with_settings(given, {"faithful": "true"})
    assert under(changed, "patient").settings == under(changed, "as-kueue").settings == faithful
    assert under(with_settings(given, {"faithful": "false"}), "as-kueue").settings == KueueSettings(
        fair_sharing=True
    )
    both = under(with_settings(given, {"faithful": "true", "minRunTime": "9m"}), "patient").settings
    assert both == replace(faithful, options=KueueOptions(min_run_time_ms=540_000))
    cooling = {"faithful": "true", "preemptionCooldown": "1h"}
    assert under(with_settings(given, cooling), "patient").settings == faithful


def test_who_was_faithful_need_not_be(tmp_path: Path) -> None:
    policies = "  policies: [{policy: elastic-quota, faithful: true}]\n"
    given = scenario(tmp_path, NODES + QUEUES + WORK + policies)
    changed = with_settings(given, {"faithful": "false"})
    assert under(changed, "elastic-quota").settings == ElasticQuotaSettings()


def test_inline_queues_share_fairly_under_kueue(plain: Scenario) -> None:
    settings = under(plain, "kueue").settings
    assert isinstance(settings, KueueSettings)
    assert settings.fair_sharing


def test_more_load_comes_more_often(plain: Scenario) -> None:
    """0.5 times 1.5 is 0.75, and an hour by 1.5 is 40 minutes."""
    first, second = with_settings(plain, {"loadFactor": "1.5"}).work
    assert isinstance(first, ArrivingWork)
    assert isinstance(second, ArrivingWork)
    assert isinstance(first.arrivals, Poisson)
    assert isinstance(first.arrivals.rate, Load)
    assert Fraction(first.arrivals.rate.load) == Fraction(3, 4)
    assert isinstance(second.arrivals, Every)
    assert second.arrivals.interval_ms == 40 * 60_000


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("kvalue", "1", 'did you mean "kValue"'),
        ("zzz", "1", "expected one of: seed, duration"),
        ("kValue", "many", "kValue: found"),
        ("kValue", "-1", "expected at least 0"),
        ("kValue", "1e400", 'found "1e400", expected a number below 1e308; write a number of'),
        ("duration", "-1h", 'found "-1h", expected more than 0; write 1ms or more'),
        ("grace", "-1h", 'found "-1h", expected 0 or more; write it without the sign'),
        ("seed", "1.5", "expected a whole number"),
        ("halfLife", "0s", "expected more"),
        ("halfLife", "2", "expected a duration"),
        (
            "loadFactor",
            "0",
            "found the number 0, expected more than 0; write a number above 0, such as 1",
        ),
        ("loadFactor", "-1", "found the number -1, expected more than 0; write a number above 0"),
        ("loadFactor", "1e19", "expected a number between 0 and 1e18"),
        ("seed", "1e19", "expected a number between 0 and 1e18"),
        ("faithful", "perhaps", "expected true or false"),
        ("charge", "none", "one of: all, over-quota"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_a_reason(
    plain: Scenario, name: str, text: str, complaint: str
) -> None:
    with pytest.raises(SimulationError, match=complaint):
        with_settings(plain, {name: text})


def test_a_scenario_can_be_sent_to_another_process(plain: Scenario) -> None:
    changed = with_settings(plain, VALUES)
    assert pickle.loads(pickle.dumps(changed)) == changed  # noqa: S301
