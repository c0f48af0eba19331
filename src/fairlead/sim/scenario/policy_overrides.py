"""Single settings of a rule set that take the place of what its objects say."""

from fractions import Fraction

import msgspec

from fairlead.policy.contract import Settings
from fairlead.policy.elastic_quota.settings import (
    AS_THE_PLUGIN,
    FAITHFUL,
    ElasticQuotaSettings,
)
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from fairlead.usage.queue_use import Charge
from fairlead.usage.settings import UsageSettings
from fairlead.usage.window import Sliding


class PolicyOverrides(msgspec.Struct, frozen=True, kw_only=True):
    """What is set anew; None leaves it as it is."""

    k: Fraction | None = None
    half_life_ms: int | None = None
    window_ms: int | None = None
    charge: Charge | None = None
    fetch_interval_ms: int | None = None
    faithful: bool | None = None
    fair_sharing: bool | None = None
    no_preemption_loops: bool | None = None
    min_run_time_ms: int | None = None
    preemption_delay_ms: int | None = None
    preemption_cooldown_ms: int | None = None
    protect_min: bool | None = None
    cross_node_preemption: bool | None = None


def overridden(settings: Settings, overrides: PolicyOverrides) -> Settings:
    """Return *settings* with what of *overrides* is about their rule set."""
    match settings:
        case KaiSettings():
            return _kai(settings, overrides)
        case KueueSettings():
            return _kueue(settings, overrides)
        case ElasticQuotaSettings():
            return _elastic_quota(settings, overrides)


def _kai(settings: KaiSettings, overrides: PolicyOverrides) -> KaiSettings:
    window_ms = overrides.window_ms
    rules = _given(
        window=None if window_ms is None else Sliding(window_ms),
        half_life_ms=overrides.half_life_ms,
        charge=overrides.charge,
    )
    usage = settings.usage
    if rules:
        usage = usage or UsageSettings()
        usage = msgspec.structs.replace(usage, rules=msgspec.structs.replace(usage.rules, **rules))
    changes = _given(k=overrides.k, faithful=overrides.faithful)
    return msgspec.structs.replace(settings, usage=usage, **changes)


def _kueue(settings: KueueSettings, overrides: PolicyOverrides) -> KueueSettings:
    base = KueueOptions() if overrides.faithful else settings.options
    faithful = settings.faithful if overrides.faithful is None else overrides.faithful
    options = msgspec.structs.replace(
        base,
        **_given(
            no_preemption_loops=overrides.no_preemption_loops,
            min_run_time_ms=overrides.min_run_time_ms,
            preemption_delay_ms=overrides.preemption_delay_ms,
            # Nobody cools down then, so that to set it changes nothing.
            preemption_cooldown_ms=None if faithful else overrides.preemption_cooldown_ms,
        ),
    )
    changes = _given(fair_sharing=overrides.fair_sharing)
    return msgspec.structs.replace(settings, options=options, faithful=faithful, **changes)


def _elastic_quota(
    settings: ElasticQuotaSettings, overrides: PolicyOverrides
) -> ElasticQuotaSettings:
    if overrides.faithful:
        settings = msgspec.structs.replace(FAITHFUL, scoring=settings.scoring)
    elif overrides.faithful is False and settings.quirks == AS_THE_PLUGIN:
        settings = ElasticQuotaSettings(scoring=settings.scoring)
    changes = _given(
        protect_min=overrides.protect_min, cross_node_preemption=overrides.cross_node_preemption
    )
    return msgspec.structs.replace(settings, **changes)


def _given(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
