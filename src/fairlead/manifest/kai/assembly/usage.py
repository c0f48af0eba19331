"""What shard, ``Config`` and our own settings together say about past use under KAI's rules."""

import msgspec

from fairlead.manifest.core.objects import SettingsObject
from fairlead.manifest.core.tree_checks import place
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.objects import KaiConfigObject, KaiShardObject
from fairlead.manifest.kai.reading.own_usage import USAGE_SECTION, OwnUsage
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path
from fairlead.policy.kai.settings import KaiSettings
from fairlead.usage.settings import PrometheusSource, UsageSettings


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
        own.source.report(
            findings,
            "warning",
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
