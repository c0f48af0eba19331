"""How an administrator set the rules of capacity scheduling."""

from typing import Final, Literal, TypeAlias

import msgspec

Scoring: TypeAlias = Literal["LeastAllocated", "MostAllocated"]


class PluginQuirks(msgspec.Struct, frozen=True, kw_only=True):
    """Rules of the capacity-scheduling plugin that look like defects, each a switch of its own.

    All of them are off by default. docs/explanation/elastic-quota-quirks.md shows for each what
    the plugin does and what happens here.
    """

    max_core_zero: bool = False  # a max without cpu, memory or ephemeral-storage forbids it
    scalar_if_asked: bool = False  # the core resources are checked even if nobody asks for them
    pool_all: bool = False  # a resource overused by anybody stops everybody
    below_min: bool = False  # nobody looks at whether a victim's namespace falls below its min
    bare_first_check: bool = False  # nodes are judged first as if no pod were nominated
    double_remove: bool = False  # a victim for two reasons at once makes its node fail
    pdb_undercount: bool = False  # a budget violated for a quota's sake is not counted
    own_charge: bool = False  # sidecars count as init containers, pod-level requests not at all
    leaving_counts: bool = False  # who takes back counts those who leave as if they stayed
    promise_taken: bool = False  # what was cleared for one pod goes to a more important one
    start_in_vain: bool = False  # a pod starts though who comes next takes its place at once


AS_THE_PLUGIN: Final = PluginQuirks(**dict.fromkeys(PluginQuirks.__struct_fields__, True))


class ElasticQuotaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the elastic-quota rules; the objects themselves have none."""

    quirks: PluginQuirks = PluginQuirks()
    cross_node_preemption: bool = True  # a guarantee may take victims on several nodes
    protect_min: bool = False  # nobody falls below its min for somebody else
    scoring: Scoring = "LeastAllocated"

    def min_protections(self) -> tuple[bool, ...]:
        """Return by which rules victims of other namespaces are looked for, one after the other.

        True: nobody falls below its min. That is tried first, and alone if it is a rule.
        """
        if self.protect_min:
            return (True,)
        return (False,) if self.quirks.below_min else (True, False)


FAITHFUL: Final = ElasticQuotaSettings(quirks=AS_THE_PLUGIN, cross_node_preemption=False)
"""The plugin as it is, quirks included."""
