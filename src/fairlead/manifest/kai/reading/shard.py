"""Reads KAI's ``SchedulingShard`` (kai.scheduler/v1): how an administrator set the rules.

Where KAI's documents and its code spell a setting differently, both spellings are read; a warning
says what KAI itself would make of it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple

from fairlead.manifest.core.read_metadata import Metadata, read_metadata, reads_named
from fairlead.manifest.core.read_settings import protection_ms, read_address
from fairlead.manifest.kai.objects import USUAL_NAMES, KaiConfigObject, KaiNames, KaiShardObject
from fairlead.manifest.kai.reading.usage import read_usage
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import (
    FieldError,
    choice_of,
    duration_of,
    exact_decimal,
    factor_of,
    field_names,
)
from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.policy.kai.settings import ACTIONS, KaiSettings, PackOrSpread

READ_BY_KAI: Final = "relcaimerSaturationMultiplier"  # its code spells it so
MULTIPLIERS: Final = (
    READ_BY_KAI,
    "reclaimerSaturationMultiplier",
    "reclaimerUtilizationMultiplier",
)

_STRATEGIES: Final[dict[str, PackOrSpread]] = {"binpack": "binpack", "spread": "spread"}
_ACTION_PRIORITIES: Final = dict(zip(ACTIONS, (500, 400, 300, 200, 100), strict=True))
_OTHER_PLUGINS: Final = field_names(
    """
    dynamicresources elastic gpupack gpusharingorder gpuspread kubeflow nodeavailability
    nodeplacement nominatednode podaffinity predicates priority ray resourcetype snapshot
    subgrouporder taskorder topology
    """
)
_IGNORED: Final = ("goMemLimit", "scenarioSearchBudgets")


@reads_named
def read_kai_shard(top: Cursor, metadata: Metadata) -> KaiShardObject:
    """Read a SchedulingShard."""
    top.ignore("status")
    spec = top.mapping("spec")
    spec.ignore(*_IGNORED)
    placement = spec.mapping("placementStrategy")
    gpu_placement = placement.choice("gpu", _STRATEGIES, "binpack")
    cpu_placement = placement.choice("cpu", _STRATEGIES, "binpack")
    proportion, minruntime = _plugin_arguments(spec)
    documented = _documented_arguments(top, spec)
    runtimes = spec.mapping("minRuntime")
    args = spec.text_map(ARGS)
    flags = read_flags(spec, args, MULTIPLIERS)
    settings = KaiSettings(
        k=_k(spec, proportion),
        usage=read_usage(spec),
        gpu_placement=gpu_placement,
        cpu_placement=cpu_placement,
        actions=_actions(spec, is_packing="spread" not in (gpu_placement, cpu_placement)),
        queue_depth=_queue_depth(spec),
        node_pool=spec.text("partitionLabelValue", ""),
        preempt_min_runtime_ms=_min_runtime_ms(
            runtimes, "preemptMinRuntime", minruntime, "defaultPreemptMinRuntime"
        ),
        reclaim_min_runtime_ms=_min_runtime_ms(
            runtimes, "reclaimMinRuntime", minruntime, "defaultReclaimMinRuntime"
        ),
        reclaim_resolve_method=_resolve_method(minruntime),
        reclaimer_multiplier=_multiplier(spec, args, proportion, documented),
        **flags,
    )
    return KaiShardObject(source=top.source, name=metadata.name, settings=settings)


def _plugin_arguments(spec: Cursor) -> tuple[Cursor, Cursor]:
    """Step into the arguments of the two plugins whose rules are ours; pass over the others."""
    plugins = spec.mapping("plugins")
    plugins.ignore(*_OTHER_PLUGINS)
    proportion, minruntime = plugins.mapping("proportion"), plugins.mapping("minruntime")
    for plugin in (proportion, minruntime):
        plugin.ignore("priority")
        if not plugin.boolean("enabled", True):
            message = "found a plugin switched off, which has no effect here"
            plugin.warn("enabled", "no-effect", message, "remove it")
    return proportion.mapping("arguments"), minruntime.mapping("arguments")


def _documented_arguments(top: Cursor, spec: Cursor) -> tuple[Cursor, ...]:
    """Step into the arguments of the plugin where KAI's page on fairness has them.

    The page shows no object around them, so they may stand in the spec or beside it.
    """
    found = []
    for at in (spec, top):
        arguments = at.mapping("pluginArguments")
        arguments.ignore(*_OTHER_PLUGINS)
        found.append(arguments.mapping("proportion"))
    return tuple(found)


def _k(spec: Cursor, proportion: Cursor) -> Fraction:
    """Read how much past use counts; what is not above 0 means: not at all, as for KAI."""
    default = Fraction(spec.factor("kValue", Decimal(1), minimum=None))
    k = proportion.fraction("kValue", default)
    if k > 0:
        return k
    at, key = (proportion, "kValue") if proportion.has("kValue") else (spec, "kValue")
    message = f"found {exact_decimal(k):f}, expected more than 0; past usage does not count at all"
    at.warn(key, "out-of-range", message, "write a number above 0, or remove usageDBConfig")
    return Fraction(0)


class _Multiplier(NamedTuple):
    """A multiplier as it is written; ``fix`` is empty where KAI reads it, too."""

    at: Cursor
    path: Path
    value: Fraction
    fix: str


def _multiplier(
    spec: Cursor, args: Mapping[str, str], proportion: Cursor, documented: tuple[Cursor, ...]
) -> Fraction:
    """Read by how much a reclaimer must stay less saturated, under any of its names and places."""
    found = [
        *_plugin_multipliers((proportion,), _fix_name),
        *_flag_multipliers(spec, args),
        *_plugin_multipliers(documented, _fix_place),
    ]
    for at, path, value, fix in found:
        name = path[-1]
        if value < 1:
            message = f"found {exact_decimal(value):f}, expected 1 or more"
            at.error(path, "out-of-range", message, "write 1 or more")
        if fix:
            what = name if name != READ_BY_KAI else f"{name} in pluginArguments"
            message = f"found {what}, which Fairlead reads and KAI does not"
            at.warn(path, "peer-differs", message, fix)
    if len({each.value for each in found}) > 1:
        first, last = found[0], found[-1]
        message = f"found several multipliers that differ; that of {first.path[-1]} counts"
        last.at.warn(last.path, "contradiction", message, "keep one of them")
    return max(Fraction(1), found[0].value) if found else Fraction(1)


def _plugin_multipliers(
    places: Iterable[Cursor], fix_of: Callable[[str], str]
) -> Iterator[_Multiplier]:
    for at in places:
        at.ignore(*MULTIPLIERS)
        for name in filter(at.has, MULTIPLIERS):
            yield _Multiplier(at, (name,), at.fraction(name, Fraction(1)), fix_of(name))


def _flag_multipliers(spec: Cursor, args: Mapping[str, str]) -> Iterator[_Multiplier]:
    for name in filter(args.__contains__, MULTIPLIERS):
        try:
            yield _Multiplier(spec, (ARGS, name), factor_of(args[name]), _fix_name(name))
        except FieldError as wrong:
            spec.error((ARGS, name), wrong.code, wrong.message, wrong.fix)


def _fix_name(name: str) -> str:
    return "" if name == READ_BY_KAI else f"write {READ_BY_KAI}, which is how KAI's code spells it"


def _fix_place(_: str) -> str:
    return f"write it as plugins.proportion.arguments.{READ_BY_KAI}, which is where KAI reads it"


def _actions(spec: Cursor, *, is_packing: bool) -> tuple[str, ...]:
    """Read which actions run, highest priority first; spreading switches consolidation off."""
    chosen: list[tuple[int, str]] = []
    actions = spec.mapping("actions")
    for name, usual in _ACTION_PRIORITIES.items():
        action = actions.mapping(name)
        priority = action.integer("priority", usual)
        if action.boolean("enabled", is_packing or name != "consolidation"):
            chosen.append((-priority, name))
    return tuple(name for _, name in sorted(chosen))


def _queue_depth(spec: Cursor) -> tuple[tuple[str, int], ...]:
    depths = spec.mapping("queueDepthPerAction")
    given = [(name, depths.integer(name, None, minimum=0)) for name in ACTIONS]
    return tuple((name, depth) for name, depth in given if depth is not None)


def _min_runtime_ms(shard: Cursor, key: str, plugin: Cursor, plugin_key: str) -> int:
    """Read a default for queues without one; the plugin's own argument wins."""
    return protection_ms(plugin, plugin_key, protection_ms(shard, key, 0))


def _resolve_method(minruntime: Cursor) -> Literal["lca", "queue"]:
    method = minruntime.text("reclaimResolveMethod", "lca")
    if method == "queue":
        return "queue"
    if method != "lca":
        message = f"found {quote(method)}, expected lca or queue; taken as lca"
        minruntime.warn("reclaimResolveMethod", "bad-choice", message, "write lca or queue")
    return "lca"


ARGS: Final = "args"
NO_CAP: Final = -1

_WHOLE_NUMBER: Final = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")  # Go takes 010 for 8
_TRUE: Final = ("true", "True", "TRUE", "t", "T", "1")
_FALSE: Final = ("false", "False", "FALSE", "f", "F", "0")
_TRUTHS: Final = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}


def read_flags(spec: Cursor, flags: Mapping[str, str], others: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of `KaiSettings` that *flags*, the args of *spec*, say.

    KAI's defaults stand in for what is wrong. *others* are names that are read elsewhere.
    """
    _warn_of_near_misses(spec, flags, others)
    found = {each: _read(spec, flags, flag, read) for flag, (each, read) in FLAGS.items()}
    return {each: values[0] for each, values in found.items() if values}


def _read(
    spec: Cursor, flags: Mapping[str, str], flag: str, convert: Callable[[str], object]
) -> list[object]:
    """Read a flag under all its spellings; KAI's own comes first, which counts."""
    names = sorted([name for name in flags if _is_spelling(name, flag)], key=lambda n: n != flag)
    found: list[object] = []
    for name in names:
        if name != flag:
            message = f"found {quote(name)}, which Fairlead reads and KAI does not"
            spec.warn((ARGS, name), "peer-differs", message, f"write {flag}")
        try:
            found.append(convert(flags[name]))
        except FieldError as wrong:
            spec.error((ARGS, name), wrong.code, wrong.message, wrong.fix)
    if len(set(found)) > 1:
        message = f"found several spellings of {flag} that differ; that of {names[0]} counts"
        spec.warn((ARGS, names[-1]), "contradiction", message, f"keep {flag}")
    return found


def _is_spelling(name: str, flag: str) -> bool:
    return _plain(name) == _plain(flag)


def _plain(name: str) -> str:
    return re.sub("[-_]", "", name).lower()


def _warn_of_near_misses(spec: Cursor, flags: Mapping[str, str], others: tuple[str, ...]) -> None:
    for name in flags:
        if name in others or any(_is_spelling(name, flag) for flag in FLAGS):
            continue
        guess = did_you_mean(name, FLAGS)
        if guess:
            message = f"found the flag {quote(name)}, which has no effect here"
            spec.warn((ARGS, name), "unknown-field", message, guess)


def _cap_of(text: str) -> int | None:
    """Accept how many jobs may be moved for another; -1: any number, which is None."""
    if not _WHOLE_NUMBER.fullmatch(text):
        message = f"found {quote(text)}, expected a whole number"
        raise FieldError("wrong-type", message, 'write a number such as "16"')
    cap = int(text)
    if cap < NO_CAP:
        message = f"found {cap}, expected {NO_CAP} or more; KAI would move no pod"
        raise FieldError("out-of-range", message, f'write "{NO_CAP}" for no cap, or "0" for none')
    return None if cap == NO_CAP else cap


def _truth_of(text: str) -> bool:
    if text in _TRUTHS:
        return _TRUTHS[text]
    return choice_of(text, {"true": True, "false": False})


def _length_ms(text: str) -> int:
    return duration_of(text)[0]


# To the field of `KaiSettings`, and how a flag is read.
FLAGS: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "max-consolidation-preemptees": ("max_consolidation_victims", _cap_of),
    "allow-consolidating-reclaim": ("consolidating_reclaim", _truth_of),
    "use-scheduling-signatures": ("signatures", _truth_of),
    "default-staleness-grace-period": ("stale_grace_ms", _length_ms),
}


USUAL_NAMESPACE: Final = "kai-scheduler"

_OF_THE_INSTALLATION: Final = field_names(
    """
    externalPrometheusHealthProbe retentionPeriod sampleInterval serviceMonitor storageClassName
    storageSize
    """
)


def read_kai_config(top: Cursor) -> KaiConfigObject:
    """Read a Config: the names of scheduler and labels, and the address of a Prometheus.

    Without an address, that of a Prometheus that KAI itself runs counts.
    """
    top.ignore("apiVersion", "kind", "status")
    read_metadata(top)
    spec = top.mapping("spec")
    namespace = spec.text("namespace", "") or USUAL_NAMESPACE
    prometheus = spec.mapping("prometheus")
    names = _read_names(spec.mapping("global"))
    spec.ignore(*spec.keys())
    prometheus.ignore(*_OF_THE_INSTALLATION)
    address = read_address(prometheus, "externalPrometheusUrl")
    if prometheus.boolean("enabled", False) and not prometheus.has("externalPrometheusUrl"):
        address = f"http://usage-prometheus.{namespace}.svc.cluster.local:9090"
    top.finish()
    return KaiConfigObject(source=top.source, prometheus_url=address, names=names)


def _read_names(settings: Cursor) -> KaiNames:
    """Read which scheduler and labels are KAI's; the old label counts beside its own only."""
    usual = USUAL_NAMES.queue_labels
    queue_label = settings.text("queueLabelKey", "") or usual[0]
    names = KaiNames(
        scheduler=settings.text("schedulerName", "") or USUAL_NAMES.scheduler,
        queue_labels=usual if queue_label == usual[0] else (queue_label,),
        pool_label=settings.text("nodePoolLabelKey", "") or USUAL_NAMES.pool_label,
    )
    settings.ignore(*settings.keys())
    return names
