"""Single settings of a scenario changed by name, as ``--set`` and sweeps do, and their effect.

A rule set leaves alone what it does not know, so that several can be run with the same settings.
`settings_without_effect` reports such settings: two equal runs are no finding.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from fairlead.errors import SimulationError
from fairlead.manifest.text.fields import FieldError
from fairlead.manifest.text.path import path_text, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.policy.contract import Settings
from fairlead.sim.scenario.check.spec import too_large
from fairlead.sim.scenario.form.scenario_form import CYCLE_MS, CycleForm, SpecForm
from fairlead.sim.scenario.rule_set import Effect
from fairlead.sim.scenario.rule_sets import RULE_SETS
from fairlead.sim.scenario.scenario import Scenario, Variant, WorkPart
from fairlead.sim.scenario.setting import (
    Parse,
    parse_duration,
    parse_positive_duration,
    parse_positive_factor,
    parse_whole,
    parse_word,
)
from fairlead.sim.scenario.variant.objects import source_without_lines
from fairlead.sim.scenario.variant.prepare import load_variant, settings_of
from fairlead.sim.work.arrivals import Bursts, Every, Load, PerHour, Poisson, Rate
from fairlead.sim.work.description import ArrivingWork

Change: TypeAlias = Callable[[Scenario, Any], Scenario]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What can be set by one name; help shows the meaning beside it."""

    parse: Parse
    change: Change
    meaning: str


def with_settings(scenario: Scenario, settings: Mapping[str, str]) -> Scenario:
    """Return *scenario* with each of *settings* changed to the value that its text says.

    What a rule set does not know leaves it as it is. Raises `SimulationError` for a name that is
    not in `SETTABLE`, a text that is no value for it, or more than can be simulated. No file
    is read again.
    """
    for name, text in settings.items():
        setting = SETTABLE.get(name)
        if setting is None:
            hint = did_you_mean(name, SETTABLE)
            listed = f"expected one of: {', '.join(SETTABLE)}"
            raise SimulationError(f"found the setting {quote(name)}; {hint or listed}")
        try:
            value = setting.parse(text)
        except FieldError as wrong:
            fix = f"; {wrong.fix}" if wrong.fix else ""
            raise SimulationError(f"the setting {name}: {wrong.message}{fix}") from None
        scenario = setting.change(scenario, value)
    for path, message, fix in too_large(scenario.spec, scenario.work, scenario.overrides):
        given = ", ".join(f"{name}={text}" for name, text in settings.items())
        raise SimulationError(
            f"with {given}: {path_text(path)}: {message}; {fix}, or set less than that"
        )
    return scenario


def _in_spec(*path: str) -> Change:
    """Return what changes a field of the file, somewhere below its ``spec``."""

    def change(scenario: Scenario, value: Any) -> Scenario:
        return msgspec.structs.replace(scenario, spec=_replaced(scenario.spec, path, value))

    return change


def _replaced(form: Any, path: tuple[str, ...], value: Any) -> Any:
    first, *rest = path
    inner = _replaced(getattr(form, first), tuple(rest), value) if rest else value
    return msgspec.structs.replace(form, **{first: inner})


def _in_policy(name: str) -> Change:
    """Return what changes a setting of rule sets."""

    def change(scenario: Scenario, value: Any) -> Scenario:
        overrides = {**scenario.overrides, name: value}
        return msgspec.structs.replace(scenario, overrides=overrides)

    return change


def _multiply_load(scenario: Scenario, factor: Fraction) -> Scenario:
    work = tuple(_busier(part, factor) for part in scenario.work)
    return msgspec.structs.replace(scenario, work=work)


def _busier(part: WorkPart, factor: Fraction) -> WorkPart:
    if not isinstance(part, ArrivingWork):
        return part
    arrivals = part.arrivals
    if isinstance(arrivals, Poisson | Bursts):
        rate = _times(arrivals.rate, factor)
        return msgspec.structs.replace(part, arrivals=msgspec.structs.replace(arrivals, rate=rate))
    if isinstance(arrivals, Every):
        interval_ms = max(1, round(arrivals.interval_ms / factor))
        faster = msgspec.structs.replace(arrivals, interval_ms=interval_ms)
        return msgspec.structs.replace(part, arrivals=faster)
    return part


def _times(rate: Rate, factor: Fraction) -> Rate:
    # Factors have few decimals, so the product of two decimals is exact.
    decimal = Decimal(factor.numerator) / Decimal(factor.denominator)
    match rate:
        case PerHour(arrivals=arrivals):
            return PerHour(arrivals=arrivals * decimal)
        case Load(load=load):
            return msgspec.structs.replace(rate, load=load * decimal)


def _of_rule_sets() -> Iterator[tuple[str, Parse, Change, str]]:
    for rule_set in RULE_SETS.values():
        for name, (parse, meaning) in rule_set.settable.items():
            yield name, parse, _in_policy(name), f"{rule_set.name}: {meaning}"


SETTABLE: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        name: Setting(parse=parse, change=change, meaning=meaning)
        for name, parse, change, meaning in (
            ("seed", parse_whole, _in_spec("seed"), "what chance begins with"),
            ("duration", parse_positive_duration, _in_spec("duration_ms"), "how long it goes on"),
            ("loadFactor", parse_positive_factor, _multiply_load, "2: twice as much work arrives"),
            (
                "atMostEvery",
                parse_positive_duration,
                _in_spec("cycle", "at_most_every_ms"),
                "the least time between two cycles",
            ),
            (
                "every",
                parse_positive_duration,
                _in_spec("cycle", "every_ms"),
                "a fixed time between cycles instead",
            ),
            (
                "lookAgain",
                parse_positive_duration,
                _in_spec("cycle", "look_again_ms"),
                "when to look again where time alone may decide",
            ),
            (
                "grace",
                parse_duration,
                _in_spec("pods", "grace_ms"),
                "from the eviction of a pod until it has stopped",
            ),
            (
                "startUp",
                parse_duration,
                _in_spec("pods", "start_up_ms"),
                "from getting its place until a job works",
            ),
            (
                "restart",
                parse_duration,
                _in_spec("pods", "restart_ms"),
                "in addition, after an eviction",
            ),
            (
                "faithful",
                parse_word,
                _in_policy("faithful"),
                "whether it decides as the peer does",
            ),
            *_of_rule_sets(),
        )
    }
)
"""Every name that can be set, in the order in which people should see them."""


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
        self._rule_set = RULE_SETS[variant.policy]
        self._own = _settings(scenario, variant)

    def of(self, settings: Mapping[str, str]) -> Effect:
        """Return all that *settings* can change, as the rules of the variant see it."""
        scenario, rules = self._with(settings)
        if rules is None:
            return (scenario,)
        of_rules = self._rule_set.effect(rules, scenario.overrides)
        return _as_it_runs(scenario.spec), scenario.work, of_rules

    def none_of(self, setting: str, settings: Mapping[str, str]) -> WithoutEffect:
        """Return that one of *settings* changes nothing."""
        _, rules = self._with(settings)
        is_off = rules is not None and self._rule_set.usage(rules) is None
        is_past_use_off = is_off and self._rule_set.needs_usage(setting)
        return WithoutEffect(self._variant.name, setting, is_past_use_off)

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
    source = source_without_lines(scenario.file)
    loaded = load_variant(scenario.spec, source, scenario.folder, variant.form, place)
    assembled = loaded.assembled
    return None if assembled is None else assembled.settings
