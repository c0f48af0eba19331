"""Reads where KAI finds past use and over which window: ``usageDBConfig`` of a shard."""

from typing import Final, Literal, TypeAlias

from fairlead.manifest.core.read_length import positive_ms
from fairlead.manifest.text.cursor import Cursor
from fairlead.policy.kai.settings import UsageWindow

WindowType: TypeAlias = Literal["sliding", "tumbling", "cron"]

METRIC_PARAMETERS: Final = tuple(
    f"{axis}{what}Metric"
    for what in ("Allocation", "Capacity")
    for axis in ("gpu", "cpu", "memory")
)

_WINDOW_TYPES: Final[dict[str, WindowType]] = {
    "sliding": "sliding",
    "tumbling": "tumbling",
    "cron": "cron",
}
_DEFAULTS: Final = UsageWindow()


def read_usage_window(spec: Cursor) -> UsageWindow | None:
    """Read the configuration below *spec*; None where there is none, so that history is not used.

    KAI documents ``extraParams`` in one place and reads it in another; both are read here, and the
    place that KAI reads wins.
    """
    if not spec.has("usageDBConfig"):
        spec.ignore("usageDBConfig")
        return None
    config = spec.mapping("usageDBConfig")
    client = config.text("clientType", _DEFAULTS.client)
    connection = config.text("connectionString", "")
    connection_env_var = config.text("connectionStringEnvVar", "")
    params = config.mapping("usageParams")
    if config.has("extraParams"):
        message = "found extraParams here, where KAI documents it but does not look"
        fix = "move it below usageParams, so that KAI and we agree"
        config.warn("extraParams", "peer-differs", message, fix)
    documented = _read_extra(config, _DEFAULTS)
    extra = _read_extra(params, documented)
    half_life_ms = params.duration("halfLifePeriod", 0)
    window_type, cron = _window_type(params)
    return UsageWindow(
        client=client,
        connection=connection,
        connection_env_var=connection_env_var,
        half_life_ms=half_life_ms if half_life_ms > 0 else None,
        window_ms=positive_ms(params, "windowSize", _DEFAULTS.window_ms),
        window_type=window_type,
        tumbling_start_ms=params.timestamp("tumblingWindowStartTime", None),
        cron=cron,
        fetch_interval_ms=positive_ms(params, "fetchInterval", _DEFAULTS.fetch_interval_ms),
        staleness_ms=positive_ms(params, "stalenessPeriod", _DEFAULTS.staleness_ms),
        wait_timeout_ms=positive_ms(params, "waitTimeout", _DEFAULTS.wait_timeout_ms),
        metrics=extra.metrics,
        query_timeout_ms=extra.query_timeout_ms,
        query_resolution_ms=extra.query_resolution_ms,
    )


def _window_type(params: Cursor) -> tuple[WindowType, str]:
    window_type: WindowType = params.choice("windowType", _WINDOW_TYPES, _DEFAULTS.window_type)
    cron = params.text("cronString", "")
    if window_type == "cron" and not cron:
        message = "found no cronString, expected one beside windowType: cron"
        params.error("cronString", "missing-field", message, 'add it, such as "0 0 * * 1"')
    return window_type, cron


def _read_extra(parent: Cursor, otherwise: UsageWindow) -> UsageWindow:
    """Return the parameters of the client below *parent*; what it does not name is *otherwise*."""
    extra = parent.mapping("extraParams")
    given = {name: extra.text(name, "") for name in METRIC_PARAMETERS}
    metrics = {**dict(otherwise.metrics), **{name: text for name, text in given.items() if text}}
    return UsageWindow(
        metrics=tuple(sorted(metrics.items())),
        query_timeout_ms=positive_ms(extra, "usageQueryTimeout", otherwise.query_timeout_ms),
        query_resolution_ms=positive_ms(extra, "queryResolution", otherwise.query_resolution_ms),
    )
