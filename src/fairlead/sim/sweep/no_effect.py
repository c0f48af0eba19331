"""Which settings of a sweep change nothing under a rule set: their rows would be equal.

A rule set leaves alone what it does not know. That is as it should be where several are swept
together, but whoever looks at equal rows must not take them for a finding.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.names import Settings
from fairlead.sim.scenario.load_variant import load_variant, settings_of
from fairlead.sim.scenario.scenario import Scenario, Variant
from fairlead.sim.scenario.with_settings import with_settings
from fairlead.sim.sweep.combinations import Sweep


def without_effect(sweep: Sweep) -> Iterator[tuple[str, str]]:
    """Yield the name of a variant, and that of a setting whose values are all the same under it.

    Cost: reading the cluster once for each variant.
    """
    # What is set at all can matter to others, as a window does to k; to which value does not.
    together = {**sweep.settings, **{name: values[0] for name, values in sweep.over.items()}}
    for variant in sweep.variants:
        own = _settings(sweep.scenario, variant)
        for name, values in sweep.over.items():
            changed = [with_settings(sweep.scenario, {**together, name: value}) for value in values]
            first, *others = [_effect(each, variant, own) for each in changed]
            if others and all(each == first for each in others):
                yield variant.name, name


def _settings(scenario: Scenario, variant: Variant) -> Settings | None:
    """Return the settings that the objects of the scenario have; None if they cannot be read."""
    place = scenario.variants.index(variant)
    loaded = load_variant(scenario.spec, scenario.file, scenario.folder, variant.form, place)
    assembled = loaded.result.assembled
    return None if assembled is None else assembled.settings


def _effect(scenario: Scenario, variant: Variant, own: Settings | None) -> tuple[Any, ...]:
    """Return all that a setting can change, as the rules of *variant* see it."""
    if own is None:
        return (scenario,)
    settings = settings_of(own, scenario.spec, variant.form, scenario.overrides)
    fetch_ms = None
    if isinstance(settings, KaiSettings):
        if settings.usage is None:  # how much past use would count makes no difference
            settings = msgspec.structs.replace(settings, k=KaiSettings().k)
        else:
            fetch_ms = scenario.overrides.fetch_interval_ms
    return scenario.spec, scenario.work, settings, fetch_ms
