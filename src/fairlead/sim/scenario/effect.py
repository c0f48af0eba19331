"""What settings change of a run under a rule set: with equal effects, runs are equal.

A rule set leaves alone what it does not know. That is as it should be where several are run
together, but whoever sets something must not take a run as before for what it came to.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from fairlead.policy.contract import Settings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.sim.scenario.form.scenario_form import CYCLE_MS, CycleForm, SpecForm
from fairlead.sim.scenario.scenario import Scenario, Variant
from fairlead.sim.scenario.settings import with_settings
from fairlead.sim.scenario.variant.load_variant import load_variant, settings_of

Effect: TypeAlias = tuple[Any, ...]

_OF_PAST_USE: Final = frozenset({"kValue", "fetchInterval"})
"""What is set of past use, and does not make it count."""


class WithoutEffect(NamedTuple):
    """A setting that changes nothing under a variant."""

    variant: str
    setting: str
    is_past_use_off: bool  # and it would matter if past use counted


class Effects:
    """The effects that settings of one scenario have under one of its variants."""

    def __init__(self, scenario: Scenario, variant: Variant) -> None:
        """Read the cluster once."""
        self._scenario = scenario
        self._variant = variant
        self._own = _settings(scenario, variant)

    def of(self, settings: Mapping[str, str]) -> Effect:
        """Return all that *settings* can change, as the rules of the variant see it."""
        scenario, rules = self._with(settings)
        if rules is None:
            return (scenario,)
        fetch_ms = None
        if isinstance(rules, KaiSettings):
            if rules.usage is None:  # how much past use would count makes no difference
                rules = msgspec.structs.replace(rules, k=KaiSettings().k)
            else:
                fetch_ms = scenario.overrides.fetch_interval_ms
        return _as_it_runs(scenario.spec), scenario.work, rules, fetch_ms

    def none_of(self, setting: str, settings: Mapping[str, str]) -> WithoutEffect:
        """Return that one of *settings* changes nothing."""
        _, rules = self._with(settings)
        is_off = isinstance(rules, KaiSettings) and rules.usage is None
        return WithoutEffect(self._variant.name, setting, is_off and setting in _OF_PAST_USE)

    def _with(self, settings: Mapping[str, str]) -> tuple[Scenario, Settings | None]:
        scenario = with_settings(self._scenario, settings)
        if self._own is None:
            return scenario, None
        return scenario, settings_of(self._own, self._variant.form, scenario.overrides)


def settings_without_effect(
    scenario: Scenario,
    variants: Sequence[Variant],
    settings: Mapping[str, str],
    beside: Mapping[str, str],
) -> Iterator[WithoutEffect]:
    """Yield each variant and setting without which its run is the same.

    What is set *beside* them stays. Cost: reading the cluster once for each variant.
    """
    together = {**beside, **settings}
    for variant in variants if settings else ():
        effects = Effects(scenario, variant)
        whole = effects.of(together)
        for name in settings:
            others = {other: value for other, value in together.items() if other != name}
            if effects.of(others) == whole:
                yield effects.none_of(name, together)


def _as_it_runs(spec: SpecForm) -> SpecForm:
    """Return *spec* with what counts of its cycles: of a fixed period nothing else does."""
    cycle = spec.cycle
    if cycle.every_ms is not None:
        cycle = CycleForm(every_ms=cycle.every_ms)
    elif cycle.at_most_every_ms is None:
        cycle = msgspec.structs.replace(cycle, at_most_every_ms=CYCLE_MS)
    return msgspec.structs.replace(spec, cycle=cycle)


def _settings(scenario: Scenario, variant: Variant) -> Settings | None:
    """Return the settings that the objects of the scenario have; None if they cannot be read."""
    place = scenario.variants.index(variant)
    loaded = load_variant(scenario.spec, scenario.file, scenario.folder, variant.form, place)
    assembled = loaded.result.assembled
    return None if assembled is None else assembled.settings
