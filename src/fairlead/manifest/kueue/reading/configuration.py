"""Reads Kueue's Configuration, as far as it decides what runs.

The object configures a whole controller: web hooks, metrics, frameworks. All that is passed over in
silence; only fair sharing, admission fair sharing, feature gates and where an evicted workload
queues up again are read.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from fairlead.manifest.core.read_settings import positive_ms, protection_ms
from fairlead.manifest.kueue.objects import KueueSettingsObject, RequestRules, Transformation
from fairlead.manifest.kueue.reading.shared_fields import given_fields
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import words
from fairlead.manifest.text.path import Path, quote
from fairlead.policy.kueue.settings import (
    BOTH_STRATEGIES,
    AdmissionFairSharing,
    KueueOptions,
    KueueSettings,
    Strategy,
)

RequeuedBy: TypeAlias = Literal["Eviction", "Creation"]

_REQUEUED_BY: Final[Mapping[str, RequeuedBy]] = words(RequeuedBy)
_VALID_STRATEGIES: Final[Mapping[tuple[str, ...], tuple[Strategy, ...]]] = {
    (): BOTH_STRATEGIES,
    BOTH_STRATEGIES: BOTH_STRATEGIES,
    BOTH_STRATEGIES[:1]: BOTH_STRATEGIES[:1],
    BOTH_STRATEGIES[1:]: BOTH_STRATEGIES[1:],
}
_QUOTA_CHECKS: Final = {"BlockUndeclared": False, "IgnoreUndeclared": True}
_REPLACES: Final = {"Retain": False, "Replace": True}
_SAMPLING_INTERVAL_MS: Final = 5 * 60 * 1000
_DAY_MS: Final = 24 * 60 * 60 * 1000  # stands for a half-life that is refused


def read_kueue_configuration(top: Cursor) -> KueueSettingsObject:
    """Read a Configuration of v1beta2 or v1beta1."""
    top.ignore(*top.keys())
    is_old = top.text("apiVersion", "").endswith("/v1beta1")
    fair_sharing = top.mapping("fairSharing")
    gates = top.mapping("featureGates")
    waiting = top.mapping("waitForPodsReady")
    resources = top.mapping("resources")
    resources.ignore(*resources.keys())
    settings = KueueSettings(
        fair_sharing=_is_enabled(fair_sharing, top.has("fairSharing"), is_old),
        strategies=_strategies(fair_sharing),
        admission_fair_sharing=_admission_fair_sharing(top),
        feature_gates=tuple((name, gates.boolean(name)) for name in sorted(gates.keys())),
        requeued_by=_requeued_by(waiting),
        ignores_undeclared=resources.choice("quotaCheckStrategy", _QUOTA_CHECKS, False),
    )
    without_effect = (
        *given_fields(top, "multiKueue"),
        *_blocked_admission(waiting, is_old),
    )
    top.finish()
    return KueueSettingsObject(
        source=top.source,
        settings=settings,
        frameworks=_frameworks(top.mapping("integrations")),
        request_rules=_request_rules(resources),
        without_effect=without_effect,
    )


def _frameworks(integrations: Cursor) -> tuple[str, ...] | None:
    """Return the frameworks that are switched on; None: it is not said."""
    integrations.ignore(*integrations.keys())
    has_any = integrations.has("frameworks")
    return integrations.texts("frameworks") if has_any else None


def _is_enabled(fair_sharing: Cursor, is_there: bool, is_old: bool) -> bool:
    """Return whether fair sharing is on: in v1beta1 if enabled, in v1beta2 if it is there."""
    enable = fair_sharing.boolean("enable", None)
    if is_old:
        return enable is True
    if enable is not None:
        fair_sharing.warn(
            "enable",
            "other-version",
            "found enable, which v1beta2 has no more: fair sharing is on if fairSharing is there; "
            "it was read as in v1beta1",
            "remove enable" if enable else "remove fairSharing",
        )
    return is_there and enable is not False


def _strategies(fair_sharing: Cursor) -> tuple[Strategy, ...]:
    listed = fair_sharing.texts("preemptionStrategies")
    valid = _VALID_STRATEGIES.get(listed)
    if valid is not None:
        return valid
    one, other = BOTH_STRATEGIES
    fair_sharing.error(
        "preemptionStrategies",
        "bad-choice",
        f"found [{', '.join(map(quote, listed[:4]))}], "
        f"expected [{one}], [{other}] or [{one}, {other}]",
        f"write [{one}, {other}], which is also the default",
    )
    return BOTH_STRATEGIES


def _admission_fair_sharing(top: Cursor) -> AdmissionFairSharing | None:
    given = top.mapping("admissionFairSharing")
    if not top.has("admissionFairSharing"):
        return None
    weights = given.mapping("resourceWeights")
    return AdmissionFairSharing(
        half_life_ms=_half_life_ms(given),
        sampling_interval_ms=positive_ms(given, "usageSamplingInterval", _SAMPLING_INTERVAL_MS),
        resource_weights=tuple(
            (resource, weights.factor(resource)) for resource in sorted(weights.keys())
        ),
    )


def _requeued_by(waiting: Cursor) -> RequeuedBy:
    """Read from when a workload queues whose pods were not ready in time; pass over the rest."""
    strategy = waiting.mapping("requeuingStrategy")
    for each in (waiting, strategy):
        each.ignore(*each.keys())
    return strategy.choice("timestamp", _REQUEUED_BY, "Eviction")


def _blocked_admission(waiting: Cursor, is_old: bool) -> tuple[Path, ...]:
    """Tell where it is said that all wait for the pods of those admitted before, if it is."""
    enabled = waiting.boolean("enable", False) if is_old else False  # which also blocks by default
    blocks = waiting.boolean("blockAdmission", enabled) and (enabled or not is_old)
    key = "blockAdmission" if waiting.has("blockAdmission") else "enable"
    return ((*waiting.path(), key),) if blocks else ()


def _device_resources(resources: Cursor) -> Iterator[tuple[str, str]]:
    """Yield each device class with the resource that its devices use."""
    for item in resources.items("deviceClassMappings"):
        item.ignore(*item.keys())
        resource = item.text("name", "")
        for device_class in item.texts("deviceClassNames"):
            yield device_class, resource


def _request_rules(resources: Cursor) -> RequestRules:
    """Read what changes the requests of pods; of two transformations of a resource one counts."""
    found: dict[str, Transformation] = {}
    for item in resources.items("transformations"):
        transformation = _transformation(item)
        if transformation.input in found:
            item.error(
                "input",
                "duplicate-entry",
                f"found {quote(transformation.input)} a second time, expected each input once",
                "put all outputs into one of the two",
            )
        found[transformation.input] = transformation
    return RequestRules(
        excluded_prefixes=resources.texts("excludeResourcePrefixes"),
        transformations=tuple(found[name] for name in sorted(found)),
        device_resources=tuple(sorted(_device_resources(resources))),
    )


def _transformation(item: Cursor) -> Transformation:
    item.ignore(*item.keys())
    outputs = item.mapping("outputs")
    return Transformation(
        input=item.text("input"),
        outputs=tuple((name, outputs.fraction(name)) for name in sorted(outputs.keys())),
        replaces_input=item.choice("strategy", _REPLACES, False),
        multiply_by=item.text("multiplyBy", ""),
    )


def _half_life_ms(given: Cursor) -> int:
    """Read the half-life of past use. Kueue takes one that is left out for 0."""
    key = "usageHalfLifeTime"
    why = ": without a half-life Kueue forgets all past usage at once, so that admission fair "
    why += "sharing changes nothing"
    fix = "write the time after which past usage counts half, such as 168h, "
    fix += "or remove admissionFairSharing"
    if not given.has(key):
        given.error(key, "out-of-range", f"found nothing, expected more than 0{why}", fix)
    return positive_ms(given, key, _DAY_MS, why, fix)


KUEUE_SECTION: Final = "kueue"

_FIELDS: Final[Mapping[str, str]] = {
    "no_preemption_loops": "preventPreemptionLoops",
    "min_run_time_ms": "minRunTime",
    "preemption_delay_ms": "preemptionDelay",
    "preemption_cooldown_ms": "preemptionCooldown",
    "priority_override": "priorityOverride",
    "smallest_first": "preemptSmallestFirst",
}


def read_kueue_options(spec: Cursor) -> KueueSettings:
    """Read what a Configuration of Kueue has no field for; what is absent or wrong is as usual.

    Law: ``faithful: true`` alone gives Kueue as it is.
    """
    section = spec.mapping(KUEUE_SECTION)
    faithful = section.boolean("faithful", False)
    usual_ms = 0 if faithful else KueueOptions().preemption_cooldown_ms
    options = KueueOptions(
        no_preemption_loops=section.boolean("preventPreemptionLoops", False),
        min_run_time_ms=protection_ms(section, "minRunTime", 0),
        preemption_delay_ms=protection_ms(section, "preemptionDelay", 0),
        preemption_cooldown_ms=protection_ms(section, "preemptionCooldown", usual_ms),
        priority_override=section.boolean("priorityOverride", False),
        smallest_first=section.boolean("preemptSmallestFirst", False),
    )
    for name, field in _FIELDS.items():
        if faithful and getattr(options, name):
            message = (
                f"found {field} beside faithful, expected one of the two: Kueue has no {field}"
            )
            section.error(field, "contradiction", message, f"remove {field}, or remove faithful")
    return KueueSettings(options=KueueOptions() if faithful else options, faithful=faithful)
