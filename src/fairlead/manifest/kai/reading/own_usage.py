"""Reads how past use is to count and where it is kept: a section of our own Settings.

Only Fairlead reads this object, so what makes no sense is refused here, where the same in an object
of a peer is put up with as the peer does.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from fairlead.manifest.core.read_settings import not_above_zero, positive_ms, read_address
from fairlead.manifest.core.usage_rules import (
    WINDOW_TYPES,
    RulePlaces,
    advise_on_rules,
    can_begin,
    is_far_ahead,
    is_shorter_than_a_sample,
    longest_ms,
    year_of,
)
from fairlead.manifest.kai.notation import KAI_AXES
from fairlead.manifest.kai.reading.usage import METRIC_PARAMETERS
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import words
from fairlead.model.duration import format_duration
from fairlead.usage.queue_use import Charge
from fairlead.usage.settings import (
    DAY_MS,
    WEEK_MS,
    Credentials,
    OnStale,
    PrometheusSource,
    StoreSource,
    UsageRules,
    UsageSettings,
    UsageSource,
)
from fairlead.usage.window import Cron, Sliding, Tumbling, Window

USAGE_SECTION: Final = "usage"

Way: TypeAlias = Literal["exact", "sampled"]

_RULES: Final = UsageRules()
_KEEP_RAW_MS: Final = 2 * WEEK_MS
_DAYS_PER_HALF_LIFE: Final = 10
_CHARGES: Final[Mapping[str, Charge]] = words(Charge)
_ON_STALE: Final[Mapping[str, OnStale]] = words(OnStale)
_WAYS: Final[Mapping[str, Way]] = words(Way)
_PLACES: Final = RulePlaces(
    window=("window", "length"), half_life=("halfLife",), resolution=("resolution",)
)
_OF_ANOTHER_TYPE: Final = {
    "sliding": ("start", "cron", "timeZone"),
    "tumbling": ("cron", "timeZone"),
    "cron": ("length", "start"),
}


class OwnUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What our own settings say about past use."""

    k: Fraction | None  # None: nothing is said
    settings: UsageSettings


def read_own_usage(spec: Cursor) -> OwnUsage | None:
    """Read what is said about past use below *spec*; None where nothing is."""
    if not spec.has(USAGE_SECTION):
        spec.ignore(USAGE_SECTION)
        return None
    section = spec.mapping(USAGE_SECTION)
    source = _read_source(section)
    rules = UsageRules(
        window=_read_window(section.mapping("window")),
        half_life_ms=_half_life_ms(section),
        way=_read_way(section, source),
        resolution_ms=positive_ms(section, "resolution", _RULES.resolution_ms),
        charge=section.choice("charge", _CHARGES, _RULES.charge),
        staleness_ms=positive_ms(section, "staleness", _RULES.staleness_ms),
        on_stale=section.choice("onStale", _ON_STALE, _RULES.on_stale),
    )
    _refuse_short_window(section, rules)
    advise_on_rules(rules, section, _PLACES)
    if isinstance(source, StoreSource):
        _advise_on_keep_raw(section, rules, source.keep_raw_ms)
    return OwnUsage(k=_read_k(section), settings=UsageSettings(rules=rules, source=source))


def _read_k(section: Cursor) -> Fraction | None:
    k = section.factor("k", None, minimum=None)
    if k is None:
        return None
    if k < 0:
        message = f"found {k:f}, expected 0 or more: below 0, a queue that used much would get more"
        section.error("k", "out-of-range", message, "write 0 or more")
        return None
    if k == 0:
        message = "found 0, so that past usage does not count at all"
        section.warn("k", "no-effect", message, "write a number above 0, or remove usage")
    return Fraction(k)


def _half_life_ms(section: Cursor) -> int | None:
    half_life_ms = section.duration("halfLife", None, is_zero_refused=True)
    if half_life_ms is None or half_life_ms > 0:
        return half_life_ms
    fix = "remove it, so that past usage does not fade within the window"
    section.error("halfLife", "out-of-range", not_above_zero(section, "halfLife"), fix)
    return None


def _read_window(section: Cursor) -> Window:
    window_type = section.choice("type", WINDOW_TYPES, "sliding")
    length_ms = positive_ms(section, "length", WEEK_MS)
    start_ms = section.timestamp("start", 0)
    expression = section.text("cron", "")
    time_zone = section.text("timeZone", "UTC")
    for key in filter(section.has, _OF_ANOTHER_TYPE[window_type]):
        message = f"found {key}, which has no effect in a window of type {window_type}"
        section.warn(key, "no-effect", message, "remove it, or write another type")
    if window_type == "sliding":
        return Sliding(length_ms)
    if window_type == "tumbling":
        _advise_on_start(section, start_ms)
        return Tumbling(length_ms, start_ms)
    return _by_cron(section, expression, time_zone) or Sliding(length_ms)


def _advise_on_start(section: Cursor, start_ms: int) -> None:
    if is_far_ahead(start_ms):
        message = f"found a start in {year_of(start_ms)}; windows before it count on the same grid"
        fix = "write a start in the past, such as 2026-01-05T00:00:00Z"
        section.advise("start", "ill-matched", message, fix)


def _by_cron(section: Cursor, expression: str, time_zone: str) -> Cron | None:
    """Return the window; None where the expression is wrong, which is reported."""
    if not can_begin(Cron("0 0 * * *", time_zone), section, "timeZone"):
        time_zone = "UTC"
    if not expression:
        if not section.is_refused("cron"):
            message = "found no cron, expected one beside type: cron"
            section.error("cron", "missing-field", message, 'add it, such as "0 0 * * 1"')
        return None
    window = Cron(expression, time_zone)
    return window if can_begin(window, section, "cron") else None


def _read_way(section: Cursor, source: UsageSource | None) -> Way:
    """Read how use is summed up; a Prometheus has samples only."""
    from_samples = isinstance(source, PrometheusSource)
    usual: Way = "sampled" if from_samples else "exact"
    way: Way = section.choice("sum", _WAYS, usual)
    if from_samples and way == "exact":
        message = "found exact beside prometheus, which has samples only"
        section.error("sum", "contradiction", message, "remove it, or keep past usage in a store")
    return way


def _read_source(section: Cursor) -> UsageSource | None:
    store = section.mapping("store")
    own = StoreSource(
        path=store.text("path") if section.has("store") else "",
        keep_raw_ms=positive_ms(store, "keepRaw", _KEEP_RAW_MS),
    )
    server = read_own_prometheus(section)
    if section.has("store") and server is not None:
        message = "found prometheus beside store, expected one place where past usage is"
        section.error("prometheus", "contradiction", message, "keep one of the two")
    return own if section.has("store") else server


def _refuse_short_window(section: Cursor, rules: UsageRules) -> None:
    if is_shorter_than_a_sample(rules):
        resolution = format_duration(rules.resolution_ms)
        message = f"found a window shorter than the {resolution} between two samples: "
        message += "it may hold none"
        fix = "write a longer window, a finer resolution, or sum: exact"
        section.error(_PLACES.window, "contradiction", message, fix)


def _advise_on_keep_raw(section: Cursor, rules: UsageRules, keep_raw_ms: int) -> None:
    """Remark on days that count as wholes while they are within the window."""
    window_ms, half_life_ms = longest_ms(rules.window), rules.half_life_ms
    if keep_raw_ms >= window_ms:
        return
    kept, length = format_duration(keep_raw_ms), format_duration(window_ms)
    message = f"found changes kept for {kept} in a window of {length}: what is older is known by "
    message += "the day only, so that sums may be off by what was used in a day"
    if half_life_ms is not None and half_life_ms < _DAYS_PER_HALF_LIFE * DAY_MS:
        message += f"; with a half-life of {format_duration(half_life_ms)} the first and the last "
        message += "hour of such a day count the same"
    fix = f"write {length} or more, or a shorter window"
    section.advise(("store", "keepRaw"), "ill-matched", message, fix)


_USUAL: Final = PrometheusSource()
_MUST_NOT_BE_EMPTY: Final = ("url", "urlVariable", "user", "passwordFile", "tokenFile", "caFile")


def read_own_prometheus(usage: Cursor) -> PrometheusSource | None:
    """Read the section ``prometheus`` below *usage*; None where there is none."""
    section = usage.mapping("prometheus")
    source = PrometheusSource(
        url=read_address(section, "url"),
        url_variable=section.text("urlVariable", ""),
        metrics=_given(section.mapping("metrics"), METRIC_PARAMETERS),
        guarantee_metrics=_given(section.mapping("guarantees"), KAI_AXES),
        query_timeout_ms=positive_ms(section, "queryTimeout", _USUAL.query_timeout_ms),
        fetch_interval_ms=positive_ms(section, "fetchInterval", _USUAL.fetch_interval_ms),
        wait_timeout_ms=positive_ms(section, "waitTimeout", _USUAL.wait_timeout_ms),
        credentials=Credentials(
            user=section.text("user", ""),
            password_file=section.text("passwordFile", ""),
            token_file=section.text("tokenFile", ""),
            ca_file=section.text("caFile", ""),
        ),
    )
    if not usage.has("prometheus"):
        return None
    if not usage.is_refused("prometheus"):
        _refuse_empty_texts(section)
        _check_address(section)
        _check_login(section, source)
    return source


def _given(section: Cursor, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = {name: section.text(name, "") for name in names}
    return tuple(sorted((name, text) for name, text in found.items() if text))


def _refuse_empty_texts(section: Cursor) -> None:
    for key in _MUST_NOT_BE_EMPTY:
        if not section.is_refused(key) and section.text(key, None) == "":
            message = "found an empty text, which names nothing"
            section.error(key, "missing-field", message, f"write what it is, or remove {key}")


def _check_address(section: Cursor) -> None:
    has_url, has_variable = section.has("url"), section.has("urlVariable")
    if has_url and has_variable:
        message = "found urlVariable beside url, expected one place where the address is"
        section.error("urlVariable", "contradiction", message, "keep one of the two")
    if not has_url and not has_variable:
        message = "found neither url nor urlVariable, expected the address of a server"
        fix = "add url, such as http://prometheus.monitoring:9090"
        section.error("url", "missing-field", message, fix)


def _check_login(section: Cursor, source: PrometheusSource) -> None:
    """Report a login that is given by half, or twice."""
    has_user, has_password = section.has("user"), section.has("passwordFile")
    if section.has("tokenFile") and (has_user or has_password):
        beside = "user" if has_user else "passwordFile"
        message = f"found tokenFile beside {beside}, expected one way to log in"
        section.error("tokenFile", "contradiction", message, "keep one of the two")
    elif has_user and not has_password:
        message = "found user without passwordFile, with which the password would be empty"
        section.error("passwordFile", "missing-field", message, "add the file that holds it")
    elif has_password and not has_user:
        message = "found passwordFile without user, expected both"
        section.error("user", "missing-field", message, "add the user whose password it is")
    if urlsplit(source.url).username and (has_user or section.has("tokenFile")):
        beside = "user" if has_user else "tokenFile"
        message = f"found a user in the address beside {beside}, expected one way to log in"
        section.error("url", "contradiction", message, "remove the one in the address")
