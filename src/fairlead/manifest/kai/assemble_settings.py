"""Which of several SchedulingShards counts."""

from collections.abc import Sequence

from fairlead.manifest.core.tree_checks import refuse_duplicates
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import KaiShardObject
from fairlead.manifest.text.path import quote
from fairlead.policy.kai.settings import KaiSettings


def kai_settings(shards: Sequence[KaiShardObject], findings: Findings) -> KaiSettings:
    """Return the settings of the shard for nodes of no pool, else those of the first by name.

    One cluster state has one set of rules; every other shard is told to have no effect.
    """
    unique = refuse_duplicates(shards, lambda each: each.name, "SchedulingShard", findings)
    if not unique:
        return KaiSettings()
    chosen, *others = sorted(unique, key=lambda each: (each.settings.node_pool != "", each.name))
    for each in sorted(others, key=lambda each: each.name):
        each.source.report(
            findings,
            "warning",
            "no-effect",
            ("metadata", "name"),
            f"found a further SchedulingShard; the settings of {quote(chosen.name)} count",
            "look at one shard at a time",
        )
    return chosen.settings
