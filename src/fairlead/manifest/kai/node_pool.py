"""Which nodes and jobs a SchedulingShard is for: those that carry the label of its pool.

KAI runs one scheduler per shard, and each sees only its own pool. A shard without a label value is
for everything that is in no pool.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fairlead.manifest.core.tree_checks import refuse_duplicates
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import KaiShardObject
from fairlead.manifest.text.path import quote
from fairlead.policy.kai.settings import KaiSettings

POOL_LABEL: Final = "kai.scheduler/node-pool"


class NodePool:
    """The pool of one shard; without a shard in the input, everything belongs to it."""

    def __init__(self, shard: KaiShardObject | None) -> None:
        """Take the pool of *shard*."""
        self.settings = shard.settings if shard else KaiSettings()
        self._shard = shard

    def has(self, labels: Mapping[str, str]) -> bool:
        """Tell whether what has these labels belongs to the pool."""
        return self._shard is None or labels.get(POOL_LABEL, "") == self.settings.node_pool

    def tell_left_out(self, nodes: int, jobs: int, findings: Findings) -> None:
        """Say once how many nodes and jobs belong to other pools."""
        if self._shard is None or not (nodes or jobs):
            return
        pool = self.settings.node_pool
        own = f"the pool {quote(pool)}" if pool else "no pool"
        self._shard.source.report(
            findings,
            "advice",
            "no-effect",
            ("spec", "partitionLabelValue"),
            f"found a shard for {own}; {nodes} nodes and {jobs} jobs whose label {POOL_LABEL} says "
            "otherwise do not count",
            "look at each pool with its own shard",
        )


def choose_pool(shards: Sequence[KaiShardObject], findings: Findings) -> NodePool:
    """Return the pool of the shard for nodes of no pool, else that of the first by name.

    One cluster state has one set of rules; every other shard is told to have no effect.
    """
    unique = refuse_duplicates(shards, lambda each: each.name, "SchedulingShard", findings)
    if not unique:
        return NodePool(None)
    chosen, *others = sorted(unique, key=lambda each: (each.settings.node_pool != "", each.name))
    for each in sorted(others, key=lambda each: each.name):
        each.source.report(
            findings,
            "warning",
            "no-effect",
            ("metadata", "name"),
            f"found a further SchedulingShard; settings and nodes of {quote(chosen.name)} count",
            "look at one shard at a time",
        )
    return NodePool(chosen)
