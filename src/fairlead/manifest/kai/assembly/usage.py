"""What shard, ``Config`` and our own settings together say about past use under KAI's rules."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import msgspec

from fairlead.manifest.core.objects import SettingsObject
from fairlead.manifest.core.tree_checks import place
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.objects import KaiConfigObject, KaiQueueObject, KaiShardObject
from fairlead.manifest.kai.reading.own_usage import USAGE_SECTION, OwnUsage
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.fields import exact_decimal
from fairlead.manifest.text.path import Path, quote
from fairlead.model.quantity import scale_of
from fairlead.policy.kai.settings import KaiSettings
from fairlead.usage.settings import PrometheusSource, UsageSettings

_LEAST_K: Final = Fraction(1, 10**9)  # past use is known to nine decimals


class KaiUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that count, and where k stands in the input; None: nowhere."""

    settings: KaiSettings
    source: Source | None
    k_path: Path = ("spec", "kValue")


def settle_usage(
    shard: KaiShardObject | None,
    config: KaiConfigObject | None,
    own: SettingsObject | None,
    findings: Findings,
) -> KaiUsage:
    """Return the settings of *shard* with the past use that counts.

    Our own settings take the place of the shard's, as a whole, but for a k that they do not name.
    """
    settings = shard.settings if shard else KaiSettings()
    source = shard.source if shard else None
    own_usage: OwnUsage | None = own.sections[USAGE_SECTION] if own else None
    if own is None or own_usage is None:
        usage = _with_address(settings.usage, config)
        return KaiUsage(settings=msgspec.structs.replace(settings, usage=usage), source=source)
    if settings.usage is not None and source is not None:
        own.source.warn(
            findings,
            "contradiction",
            ("spec", "usage"),
            "found past usage here and in the SchedulingShard at "
            f"{place(source, ('spec', 'usageDBConfig'))}; what is here counts",
            "keep one of the two",
        )
    k = settings.k if own_usage.k is None else own_usage.k
    settled = msgspec.structs.replace(settings, k=k, usage=own_usage.settings)
    if own_usage.k is None and source is not None:
        return KaiUsage(settings=settled, source=source)
    return KaiUsage(settings=settled, source=own.source, k_path=("spec", "usage", "k"))


def _with_address(
    usage: UsageSettings | None, config: KaiConfigObject | None
) -> UsageSettings | None:
    """Return *usage* with the address of *config*, if it has none of its own."""
    if usage is None or config is None or not isinstance(usage.source, PrometheusSource):
        return usage
    if usage.source.url or usage.source.url_variable:
        return usage
    named = msgspec.structs.replace(usage.source, url=config.prometheus_url)
    return msgspec.structs.replace(usage, source=named)


def advise_on_k(
    usage: KaiUsage, queues: Sequence[KaiQueueObject], total_gpus: int, findings: Findings
) -> None:
    """Remark on a k with which history cannot win the whole cluster back for some queue.

    A queue with w of its siblings' weights that used nothing, beside others that used everything,
    has a claim of (1 + k)w of the cluster. To be given the last of G GPUs that must round up to all
    of them: (1 + k)w >= 1 - 1/(2G). *total_gpus* is in base units.
    """
    settings = usage.settings
    if settings.usage is None or settings.k <= 0 or usage.source is None:
        return
    if settings.k < _LEAST_K:
        _warn_of_tiny_k(settings.k, usage.source, usage.k_path, findings)
        return
    smallest = _smallest_part(queues)
    if total_gpus <= 0 or smallest is None:
        return
    part, queue = smallest
    gpus = Fraction(total_gpus, scale_of("gpu"))
    least = (1 - 1 / (2 * gpus)) / part - 1
    if settings.k >= least:
        return
    usage.source.advise(
        findings,
        "ill-matched",
        usage.k_path,
        f"found k = {exact_decimal(settings.k):g}, with which {quote(queue.name)}, which has "
        f"{_rounded(part)} of its siblings' weights, can never win all {_rounded(gpus)} GPUs back "
        "from others, however long it waits",
        f"write {_rounded_up(least)} or more if one job may need the whole cluster",
    )


def _warn_of_tiny_k(k: Fraction, source: Source, at: Path, findings: Findings) -> None:
    source.warn(
        findings,
        "no-effect",
        at,
        f"found k = {exact_decimal(k):g}, which counts and moves no share by more than some "
        "billionths of the cluster; where nine decimals or fewer are shown it looks like 0",
        "write a larger number, such as 1, or 0 if past usage should not count",
    )


def _smallest_part(
    queues: Sequence[KaiQueueObject],
) -> tuple[Fraction, KaiQueueObject] | None:
    """Return the smallest part that any queue has of the weights of its siblings for GPUs."""
    sums: dict[tuple[str, int], Fraction] = {}
    weighty = [queue for queue in queues if queue.weights["gpu"] > 0]
    for queue in weighty:
        level = (queue.parent, queue.priority)
        sums[level] = sums.get(level, Fraction(0)) + Fraction(queue.weights["gpu"])
    parts = [
        (Fraction(queue.weights["gpu"]) / sums[queue.parent, queue.priority], queue)
        for queue in weighty
    ]
    return min(parts, key=lambda each: (each[0], each[1].name), default=None)


def _rounded(number: Fraction) -> str:
    return f"{float(number):.3g}"


def _rounded_up(number: Fraction) -> str:
    """Return *number* with two decimals, never less than it is."""
    hundredths = -((-number.numerator * 100) // number.denominator)
    return f"{hundredths // 100}.{hundredths % 100:02}".rstrip("0").rstrip(".")
