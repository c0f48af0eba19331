"""Single settings of a scenario changed by name, as ``--set`` and sweeps do."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from fairlead.errors import SimulationError
from fairlead.manifest.text.fields import (
    FieldError,
    check_decimals,
    choice_of,
    decimal_of,
    duration_of,
    integer_of,
    positive_of,
)
from fairlead.manifest.text.path import path_text, quote
from fairlead.manifest.text.scalar import NumberError, is_written_as_number, number_value
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.sim.scenario.check.size import too_large
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.work_part import WorkPart
from fairlead.sim.work.arrivals import Bursts, Every, Poisson
from fairlead.sim.work.description import ArrivingWork
from fairlead.sim.work.rate import Load, PerHour, Rate

Change: TypeAlias = Callable[[Scenario, Any], Scenario]
Parse: TypeAlias = Callable[[str], Any]

_WORDS: Final = {"true": True, "false": False}
_CHARGES: Final = {"all": "all", "over-quota": "over-quota"}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What can be set by one name; help shows the meaning beside it."""

    parse: Parse
    change: Change
    meaning: str


def with_settings(scenario: Scenario, settings: Mapping[str, str]) -> Scenario:
    """Return *scenario* with each of *settings* changed to the value that its text says.

    What a rule set does not know leaves it as it is. Raises `SimulationError` for a name that is
    not in `SETTABLE`, a text that is no value for it, or more than anybody could simulate. No file
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
            cure = f"; {wrong.fix}" if wrong.fix else ""
            raise SimulationError(f"the setting {name}: {wrong.message}{cure}") from None
        scenario = setting.change(scenario, value)
    for path, message, fix in too_large(scenario.spec, scenario.work, scenario.overrides):
        given = ", ".join(f"{name}={text}" for name, text in settings.items())
        raise SimulationError(
            f"with {given}: {path_text(path)}: {message}; {fix}, or set less than that"
        )
    return scenario


def _duration(text: str) -> int:
    length_ms, _ = duration_of(text)
    if length_ms < 0:
        message = f"found {quote(text)}, expected 0 or more"
        raise FieldError("out-of-range", message, "write it without the sign, or 0s")
    return length_ms


def _positive_duration(text: str) -> int:
    length_ms, _ = duration_of(text)
    if length_ms <= 0:
        message = f"found {quote(text)}, expected more than 0"
        raise FieldError("out-of-range", message, "write 1ms or more, such as 90s, 1h30m or 7d")
    return length_ms


def _number(text: str) -> Any:
    try:
        return number_value(text)
    except NumberError as wrong:
        if is_written_as_number(text):
            message, fix = str(wrong), "write a number of ordinary size"
        else:
            message = f"found {quote(text)}, expected a number"
            fix = "write digits, perhaps with a point, such as 2 or 0.5"
        raise FieldError("wrong-type", message, fix) from None


def _whole(text: str) -> int:
    return integer_of(_number(text), 0)


def _factor(text: str) -> Fraction:
    value = _number(text)
    factor = Fraction(decimal_of(value, 0))
    check_decimals(value, factor)
    return factor


def _positive_factor(text: str) -> Fraction:
    value = _number(text)
    factor = Fraction(positive_of(value))
    check_decimals(value, factor)
    return factor


def _word(text: str) -> bool:
    if text not in _WORDS:
        message = f"found {quote(text)}, expected true or false"
        raise FieldError("wrong-type", message, "write it in small letters")
    return _WORDS[text]


def _in_spec(*path: str) -> Change:
    """Return what changes a field of the file, somewhere below its ``spec``."""

    def change(scenario: Scenario, value: Any) -> Scenario:
        return msgspec.structs.replace(scenario, spec=_replaced(scenario.spec, path, value))

    return change


def _replaced(form: Any, path: tuple[str, ...], value: Any) -> Any:
    first, *rest = path
    inner = _replaced(getattr(form, first), tuple(rest), value) if rest else value
    return msgspec.structs.replace(form, **{first: inner})


def _in_policy(field: str) -> Change:
    """Return what changes a setting of a rule set."""

    def change(scenario: Scenario, value: Any) -> Scenario:
        overrides = msgspec.structs.replace(scenario.overrides, **{field: value})
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


def _setting(parse: Parse, change: Change, meaning: str) -> Setting:
    return Setting(parse=parse, change=change, meaning=meaning)


SETTABLE: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        "seed": _setting(_whole, _in_spec("seed"), "what chance begins with"),
        "duration": _setting(_positive_duration, _in_spec("duration_ms"), "how long it goes on"),
        "loadFactor": _setting(_positive_factor, _multiply_load, "2: twice as much work arrives"),
        "atMostEvery": _setting(
            _positive_duration,
            _in_spec("cycle", "at_most_every_ms"),
            "the least time between two cycles",
        ),
        "every": _setting(
            _positive_duration, _in_spec("cycle", "every_ms"), "a fixed time between cycles instead"
        ),
        "lookAgain": _setting(
            _positive_duration,
            _in_spec("cycle", "look_again_ms"),
            "when to look again where time alone may decide",
        ),
        "grace": _setting(
            _duration,
            _in_spec("pods", "grace_ms"),
            "from being told to leave until a pod has stopped",
        ),
        "startUp": _setting(
            _duration, _in_spec("pods", "start_up_ms"), "from getting its place until a job works"
        ),
        "restart": _setting(
            _duration, _in_spec("pods", "restart_ms"), "in addition, after an eviction"
        ),
        "kValue": _setting(
            _factor, _in_policy("k"), "kai: how much past use counts; 0: not at all"
        ),
        "halfLife": _setting(
            _positive_duration, _in_policy("half_life_ms"), "kai: after it, use counts half"
        ),
        "window": _setting(
            _positive_duration, _in_policy("window_ms"), "kai: how much of the past counts"
        ),
        "charge": _setting(
            lambda text: choice_of(text, _CHARGES),
            _in_policy("charge"),
            "kai: which use counts, all or over-quota",
        ),
        "fetchInterval": _setting(
            _positive_duration,
            _in_policy("fetch_interval_ms"),
            "kai: how often past use is asked for",
        ),
        "faithful": _setting(
            _word, _in_policy("faithful"), "whether it decides as the namesake does"
        ),
        "fairSharing": _setting(
            _word, _in_policy("fair_sharing"), "kueue: whether fair sharing is on"
        ),
        "preventPreemptionLoops": _setting(
            _word, _in_policy("no_preemption_loops"), "kueue: whether preemption comes to an end"
        ),
        "minRunTime": _setting(
            _duration,
            _in_policy("min_run_time_ms"),
            "kueue: how long nobody is evicted after its start",
        ),
        "preemptionDelay": _setting(
            _duration,
            _in_policy("preemption_delay_ms"),
            "kueue: the wait before fair sharing evicts",
        ),
        "preemptionCooldown": _setting(
            _duration,
            _in_policy("preemption_cooldown_ms"),
            "kueue: the wait before one that gave way evicts",
        ),
        "protectMin": _setting(
            _word, _in_policy("protect_min"), "elastic-quota: whether everybody keeps its min"
        ),
        "crossNodePreemption": _setting(
            _word,
            _in_policy("cross_node_preemption"),
            "elastic-quota: may take victims on several nodes",
        ),
    }
)
"""Every name that can be set, in the order in which people should see them."""
