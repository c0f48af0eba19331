"""Reads how ElasticQuotas are to be scheduled, which their own objects have no field for.

A section of our Settings. To be faithful is to be as the capacity-scheduling plugin is in
everything, so what departs from it cannot be wanted at the same time.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import words
from fairlead.placement.scored_nodes import Scoring
from fairlead.policy.elastic_quota.settings import (
    ElasticQuotaSettings,
    PluginQuirks,
)

ELASTIC_QUOTA_SECTION: Final = "elasticQuota"

DEFAULT_SCHEDULERS: Final = frozenset(
    {"default-scheduler", "scheduler-plugins-scheduler", "fairlead"}
)
"""As which the capacity-scheduling plugin runs, in its two forms of installation, and Fairlead."""

_SCORINGS: Final[Mapping[str, Scoring]] = words(Scoring)


def quirk_field(name: str) -> str:
    """Return how a quirk is called in a manifest: ``max_core_zero`` is ``maxCoreZero``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class ElasticQuotaOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the section says: how to schedule, and the pods of which schedulers."""

    settings: ElasticQuotaSettings = ElasticQuotaSettings()
    schedulers: frozenset[str] = DEFAULT_SCHEDULERS


def read_elastic_quota_options(spec: Cursor) -> ElasticQuotaOptions:
    """Read the section for ElasticQuotas; what is absent or wrong is as by default."""
    section = spec.mapping(ELASTIC_QUOTA_SECTION)
    return ElasticQuotaOptions(
        settings=_read_settings(section), schedulers=_read_schedulers(section)
    )


def _read_settings(section: Cursor) -> ElasticQuotaSettings:
    """Read how to schedule. Law: ``faithful: true`` alone gives the plugin as it is."""
    faithful = section.boolean("faithful", False)
    across_nodes = section.boolean("crossNodePreemption", not faithful)
    protect_min = section.boolean("protectMin", False)
    quirks = _read_quirks(section.mapping("pluginQuirks"), faithful=faithful)
    if faithful and across_nodes:
        _refuse_departure(section, "crossNodePreemption", "frees room on one node at a time")
    if faithful and protect_min:
        _refuse_departure(section, "protectMin", "may push a namespace below its min")
    elif protect_min and quirks.below_min:
        message = "found true beside the quirk belowMin, expected one of the two"
        fix = "remove protectMin, or belowMin from pluginQuirks"
        section.error("protectMin", "contradiction", message, fix)
    return ElasticQuotaSettings(
        quirks=quirks,
        cross_node_preemption=across_nodes,
        protect_min=protect_min,
        scoring=section.choice("nodeScoring", _SCORINGS, "LeastAllocated"),
    )


def _read_schedulers(section: Cursor) -> frozenset[str]:
    """Read the names of schedulers; pods that name another one are never started.

    An empty list is as none at all.
    """
    return frozenset(section.texts("schedulerNames")) or DEFAULT_SCHEDULERS


def _read_quirks(section: Cursor, *, faithful: bool) -> PluginQuirks:
    """Read which quirks are there: all of them where *faithful*, else those that are named."""
    found = {}
    for name in PluginQuirks.__struct_fields__:
        field = quirk_field(name)
        found[name] = section.boolean(field, faithful)
        if faithful and not found[name]:
            message = "found false beside faithful, expected true: the plugin has all of its quirks"
            fix = "remove faithful, and write the quirks that are to stay"
            section.error(field, "contradiction", message, fix)
    return PluginQuirks(**found)


def _refuse_departure(section: Cursor, field: str, habit: str) -> None:
    message = f"found true beside faithful, expected false: the plugin {habit}"
    section.error(field, "contradiction", message, f"remove {field}, or remove faithful")
