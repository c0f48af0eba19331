"""Reads KAI's ``SchedulingShard`` (kai.scheduler/v1): how an administrator set the rules.

Where KAI's documents and its code spell a setting differently, both spellings are read; a warning
says what KAI itself would make of it.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal

from fairlead.manifest.core.exact_decimal import exact_decimal
from fairlead.manifest.core.read_length import protection_ms
from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.kai.objects import KaiShardObject
from fairlead.manifest.kai.read_flags import ARGS, read_flags
from fairlead.manifest.kai.read_usage import read_usage
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import FieldError, factor_of
from fairlead.manifest.text.path import Path, quote
from fairlead.policy.kai.settings import ACTIONS, KaiSettings, PackOrSpread

READ_BY_KAI: Final = "relcaimerSaturationMultiplier"  # its code spells it so
MULTIPLIERS: Final = (
    READ_BY_KAI,
    "reclaimerSaturationMultiplier",
    "reclaimerUtilizationMultiplier",
)

_STRATEGIES: Final[dict[str, PackOrSpread]] = {"binpack": "binpack", "spread": "spread"}
_ACTION_PRIORITIES: Final = dict(zip(ACTIONS, (500, 400, 300, 200, 100), strict=True))
_OTHER_PLUGINS: Final = (
    "dynamicresources",
    "elastic",
    "gpupack",
    "gpusharingorder",
    "gpuspread",
    "kubeflow",
    "nodeavailability",
    "nodeplacement",
    "nominatednode",
    "podaffinity",
    "predicates",
    "priority",
    "ray",
    "resourcetype",
    "snapshot",
    "subgrouporder",
    "taskorder",
    "topology",
)
_IGNORED: Final = ("goMemLimit", "scenarioSearchBudgets")


def read_kai_shard(top: Cursor) -> KaiShardObject | None:
    """Read a SchedulingShard; None if it has no usable name."""
    top.ignore("apiVersion", "kind", "status")
    metadata = read_metadata(top)
    spec = top.mapping("spec")
    spec.ignore(*_IGNORED)
    placement = spec.mapping("placementStrategy")
    gpu_placement = placement.choice("gpu", _STRATEGIES, "binpack")
    cpu_placement = placement.choice("cpu", _STRATEGIES, "binpack")
    proportion, minruntime = _plugin_arguments(spec)
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
        stale_grace_ms=flags.stale_grace_ms,
        reclaimer_multiplier=_multiplier(spec, args, proportion),
        consolidating_reclaim=flags.consolidating_reclaim,
        max_consolidation_victims=flags.max_consolidation_victims,
        signatures=flags.signatures,
    )
    top.finish()
    if not metadata.name:
        return None
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


def _k(spec: Cursor, proportion: Cursor) -> Fraction:
    """Read how much past use counts; what is not above 0 means: not at all, as for KAI."""
    default = Fraction(spec.factor("kValue", Decimal(1), minimum=None))
    k = proportion.fraction("kValue", default)
    if k > 0:
        return k
    at, key = (proportion, "kValue") if proportion.has("kValue") else (spec, "kValue")
    message = f"found {exact_decimal(k):f}, expected more than 0; past use does not count at all"
    at.warn(key, "out-of-range", message, "write a number above 0, or remove usageDBConfig")
    return Fraction(0)


def _multiplier(spec: Cursor, args: Mapping[str, str], proportion: Cursor) -> Fraction:
    """Read by how much a reclaimer must stay less saturated, under any of its names."""
    found = _given_multipliers(spec, args, proportion)
    for at, path, value in found:
        name = path[-1]
        if value < 1:
            message = f"found {exact_decimal(value):f}, expected 1 or more"
            at.error(path, "out-of-range", message, "write 1 or more")
        if name != READ_BY_KAI:
            message = f"found {name}, which is read here but not by KAI"
            fix = f"write {READ_BY_KAI}, which is how KAI's code spells it"
            at.warn(path, "peer-differs", message, fix)
    if len({value for _, _, value in found}) > 1:
        at, path, _ = found[-1]
        message = f"found several multipliers that differ; that of {found[0][1][-1]} counts"
        at.warn(path, "contradiction", message, "keep one of them")
    return max(Fraction(1), found[0][2]) if found else Fraction(1)


def _given_multipliers(
    spec: Cursor, args: Mapping[str, str], proportion: Cursor
) -> list[tuple[Cursor, Path, Fraction]]:
    proportion.ignore(*MULTIPLIERS)
    found: list[tuple[Cursor, Path, Fraction]] = [
        (proportion, (name,), proportion.fraction(name, Fraction(1)))
        for name in MULTIPLIERS
        if proportion.has(name)
    ]
    for name in MULTIPLIERS:
        if name in args:
            try:
                found.append((spec, (ARGS, name), factor_of(args[name])))
            except FieldError as wrong:
                spec.error((ARGS, name), wrong.code, wrong.message, wrong.fix)
    return found


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
