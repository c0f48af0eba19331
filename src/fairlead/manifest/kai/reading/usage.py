"""Reads where KAI finds past use and over which window: ``usageDBConfig`` of a shard.

KAI sums up samples of a Prometheus. What KAI goes on with is gone on with here, with a warning;
what it could not start with is an error.
"""

from typing import Final

import msgspec

from fairlead.errors import DurationError
from fairlead.manifest.core.read_settings import not_above_zero, positive_ms, read_address
from fairlead.manifest.core.usage_rules import (
    WINDOW_TYPES,
    RulePlaces,
    advise_on_rules,
    can_begin,
    is_far_ahead,
    is_shorter_than_a_sample,
    year_of,
)
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote
from fairlead.model.duration import format_duration, parse_duration
from fairlead.usage.settings import WEEK_MS, PrometheusSource, UsageRules, UsageSettings
from fairlead.usage.window import Cron, Sliding, Tumbling, Window

METRIC_PARAMETERS: Final = tuple(
    f"{axis}{what}Metric"
    for what in ("Allocation", "Capacity")
    for axis in ("gpu", "cpu", "memory")
)

_CLIENTS: Final = {"prometheus": "prometheus"}
_ANY: Final = frozenset({"*", "?"})  # the two are the same to KAI
_SECOND_ZERO: Final = frozenset({"0", "00"})
_UNITS_UNKNOWN_TO_GO: Final = frozenset("dwy")
_SOURCE: Final = PrometheusSource()
_RULES: Final = UsageRules()
_PLACES: Final = RulePlaces(
    window=("windowSize",),
    half_life=("halfLifePeriod",),
    resolution=("extraParams", "queryResolution"),
)


class _Extra(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of the client."""

    metrics: tuple[tuple[str, str], ...] = ()
    query_timeout_ms: int = _SOURCE.query_timeout_ms
    resolution_ms: int = _RULES.resolution_ms


def read_usage(spec: Cursor) -> UsageSettings | None:
    """Read the configuration below *spec*; None where there is none, so that history is not used.

    KAI documents ``extraParams`` in one place and reads it in another; both are read here, and the
    place that KAI reads wins.
    """
    if not spec.has("usageDBConfig"):
        spec.ignore("usageDBConfig")
        return None
    config = spec.mapping("usageDBConfig")
    config.choice("clientType", _CLIENTS, "prometheus")
    params = config.mapping("usageParams")
    if config.has("extraParams"):
        message = "found extraParams here, where KAI documents it but does not look"
        fix = "move it below usageParams, so that KAI reads it too"
        config.warn("extraParams", "peer-differs", message, fix)
    if config.has("connectionString") and config.has("connectionStringEnvVar"):
        message = "found connectionStringEnvVar beside connectionString, which counts here"
        config.warn("connectionStringEnvVar", "contradiction", message, "keep one of the two")
    extra = _read_extra(params, _read_extra(config, _Extra()))
    source = PrometheusSource(
        url=read_address(config, "connectionString"),
        url_variable=config.text("connectionStringEnvVar", ""),
        metrics=extra.metrics,
        query_timeout_ms=extra.query_timeout_ms,
        fetch_interval_ms=positive_ms(params, "fetchInterval", _SOURCE.fetch_interval_ms),
        wait_timeout_ms=positive_ms(params, "waitTimeout", _SOURCE.wait_timeout_ms),
    )
    rules = UsageRules(
        window=_read_window(params),
        half_life_ms=_half_life_ms(params),
        way="sampled",
        resolution_ms=extra.resolution_ms,
        staleness_ms=positive_ms(params, "stalenessPeriod", _RULES.staleness_ms),
    )
    _warn_of_short_window(params, rules)
    advise_on_rules(rules, params, _PLACES)
    return UsageSettings(rules=rules, source=source)


def _read_window(params: Cursor) -> Window:
    length_ms = positive_ms(params, "windowSize", WEEK_MS)
    start_ms = params.timestamp("tumblingWindowStartTime", 0)
    expression = params.text("cronString", "")
    match params.choice("windowType", WINDOW_TYPES, "sliding"):
        case "sliding":
            return Sliding(length_ms)
        case "tumbling":
            _warn_of_start(params, start_ms)
            return Tumbling(length_ms, start_ms)
        case "cron":
            return _read_cron(params, expression) or Sliding(length_ms)


def _warn_of_start(params: Cursor, start_ms: int) -> None:
    if is_far_ahead(start_ms):
        message = f"found a start in {year_of(start_ms)}, before which KAI counts nothing; here "
        message += "the windows before it count, on the same grid"
        fix = "write a start in the past, such as 2026-01-05T00:00:00Z"
        params.warn("tumblingWindowStartTime", "peer-differs", message, fix)
    if not params.has("tumblingWindowStartTime"):
        message = "found none beside windowType: tumbling, without which KAI does not start; here "
        message += "windows are counted from the beginning of 1970"
        fix = 'add it, such as "2026-01-05T00:00:00Z"'
        params.warn("tumblingWindowStartTime", "peer-differs", message, fix)


def _read_cron(params: Cursor, expression: str) -> Cron | None:
    """Return the window by cron; None where it is wrong, which is reported."""
    if not expression:
        if not params.is_refused("cronString"):
            message = "found no cronString, expected one beside windowType: cron"
            params.error("cronString", "missing-field", message, 'add it, such as "0 0 * * 1"')
        return None
    fields = _five_fields(expression, params)
    if fields is None:
        return None
    window = Cron(fields)
    return window if can_begin(window, params, "cronString") else None


def _five_fields(expression: str, params: Cursor) -> str | None:
    """Return what KAI takes *expression* for, in five fields; None where these cannot say it.

    With six fields the last is the year, and with seven the first is the second besides. Any other
    number is left for the check of the window.
    """
    fields = expression.split()
    second, year = "0", "*"
    if len(fields) == 7:
        second = fields.pop(0)
    if len(fields) == 6:
        year = fields.pop()
    if second in _SECOND_ZERO and year in _ANY:
        return " ".join("*" if field in _ANY else field for field in fields)
    where = "seconds" if second not in _SECOND_ZERO else "years"
    message = f"found {quote(expression)}, which names {where} to KAI: it takes the last of six "
    message += "or seven fields for the year and the first of seven for the second; a window here "
    message += "begins with a whole minute, in any year"
    fix = "write the five fields between them: minute, hour, day of month, month, day of week"
    params.error("cronString", "bad-cron", message, fix)
    return None


def _half_life_ms(params: Cursor) -> int | None:
    """Read the half-life; what is not above 0 means none, as for KAI."""
    half_life_ms = params.duration("halfLifePeriod", None, is_zero_refused=True)
    if half_life_ms is None or half_life_ms > 0:
        return half_life_ms
    message = not_above_zero(params, "halfLifePeriod")
    message += "; past usage does not fade within the window"
    params.warn("halfLifePeriod", "out-of-range", message, "remove it, or write a time above 0")
    return None


def _warn_of_short_window(params: Cursor, rules: UsageRules) -> None:
    if is_shorter_than_a_sample(rules):
        message = f"found samples {format_duration(rules.resolution_ms)} apart, which is longer "
        message += "than the window: it may hold none, and then past usage does not count"
        fix = "write a longer windowSize, or a finer queryResolution"
        params.warn(_PLACES.window, "ill-matched", message, fix)


def _read_extra(parent: Cursor, otherwise: _Extra) -> _Extra:
    """Return the parameters of the client below *parent*; what it does not name is *otherwise*."""
    extra = parent.mapping("extraParams")
    given = {name: extra.text(name, "") for name in METRIC_PARAMETERS}
    metrics = {**dict(otherwise.metrics), **{name: text for name, text in given.items() if text}}
    return _Extra(
        metrics=tuple(sorted(metrics.items())),
        query_timeout_ms=_extra_ms(
            extra, "usageQueryTimeout", otherwise.query_timeout_ms, _SOURCE.query_timeout_ms
        ),
        resolution_ms=_extra_ms(
            extra, "queryResolution", otherwise.resolution_ms, _RULES.resolution_ms
        ),
    )


def _extra_ms(extra: Cursor, key: str, otherwise_ms: int, default_ms: int) -> int:
    """Read a duration above 0; *otherwise_ms* where there is none.

    The default stands for one that KAI cannot read: it goes on with that in silence.
    """
    text = extra.text(key, None)
    if text is None:
        return otherwise_ms
    if _go_reads(text):
        return positive_ms(extra, key, default_ms)
    message = f"found {quote(text)}, which KAI cannot read; its default counts, "
    message += format_duration(default_ms)
    fix = "write a number with its unit, hours at most, such as 90s or 1h30m"
    extra.warn(key, "bad-duration", message, fix)
    return default_ms


def _go_reads(text: str) -> bool:
    """Return whether Go can read a duration; it knows no days, weeks and years."""
    try:
        parse_duration(text)
    except DurationError:
        return False
    return _UNITS_UNKNOWN_TO_GO.isdisjoint(text)
