"""Which nodes and jobs a SchedulingShard is for: those that carry the label of its pool.

KAI runs one scheduler per shard, and each sees only its own pool. A shard without a label value is
for everything that is in no pool.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fairlead.manifest.core.objects import NodeObject
from fairlead.manifest.core.tree_checks import MAX_SHOWN_NAMES
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.objects import KaiShardObject
from fairlead.manifest.text.path import quote
from fairlead.policy.kai.settings import KaiSettings

POOL_LABEL: Final = "kai.scheduler/node-pool"


class NodePool:
    """The pool of one shard; without a shard in the input, everything belongs to it."""

    def __init__(self, shard: KaiShardObject | None) -> None:
        """Take the pool of *shard*."""
        self.settings = shard.settings if shard else KaiSettings()
        self.shard = shard

    def has(self, labels: Mapping[str, str]) -> bool:
        """Return whether what has these labels belongs to the pool."""
        return self.shard is None or labels.get(POOL_LABEL, "") == self.settings.node_pool

    def report_left_out(
        self, nodes: Sequence[NodeObject], jobs: Sequence[str], findings: Findings
    ) -> None:
        """Report once which of all *nodes*, and which *jobs*, belong to other pools."""
        others = [node for node in nodes if not self.has(node.labels)]
        if self.shard is None or not (others or jobs):
            return
        pool = self.settings.node_pool
        own = f"the shard of the pool {quote(pool)}" if pool else "the default shard"
        counts = f"{_counted(len(others), 'node')} and {_counted(len(jobs), 'job')}"
        names = f" ({_names(jobs)})" if jobs else ""
        message = f"{own}: {counts}{names} belong to other pools and are left out"
        if nodes and len(others) == len(nodes):
            message += "; no node of the input is left, so nothing can run"
        self.shard.source.report(
            findings,
            "warning",
            "no-effect",
            ("spec", "partitionLabelValue"),
            message,
            "name the shard of each pool in turn, or no shard to see all pools",
        )


def choose_pool(shards: Sequence[KaiShardObject], findings: Findings) -> NodePool:
    """Return the pool of the shard for nodes of no pool, else that of the first by name.

    One cluster state has one set of rules; every other shard is reported as having no effect.
    """
    if not shards:
        return NodePool(None)
    chosen, *others = sorted(shards, key=lambda each: (each.settings.node_pool != "", each.name))
    for each in sorted(others, key=lambda each: each.name):
        each.source.report(
            findings,
            "warning",
            "no-effect",
            ("metadata", "name"),
            f"found another SchedulingShard; the settings and nodes of {quote(chosen.name)} count",
            "name one shard at a time",
        )
    return NodePool(chosen)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _names(jobs: Sequence[str]) -> str:
    shown = [quote(name) for name in jobs[:MAX_SHOWN_NAMES]]
    if len(jobs) > MAX_SHOWN_NAMES:
        shown.append(f"{len(jobs) - MAX_SHOWN_NAMES} more")
    return ", ".join(shown)
