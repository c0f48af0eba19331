"""Settings of the ElasticQuota rules."""

from typing import Final

import msgspec

from fairlead.placement.scored_nodes import Scoring


class PluginQuirks(msgspec.Struct, frozen=True, kw_only=True):
    """Behaviours of the capacity-scheduling plugin that look like defects, each with a switch.

    All of them are off by default. docs/explanation/elastic-quota-quirks.md shows for each what the
    plugin does and what happens here.
    """

    max_core_zero: bool = False  # a max without cpu, memory or ephemeral-storage forbids it
    scalar_if_asked: bool = (
        False  # the core resources are checked even if the pod requests none of them
    )
    pool_all: bool = False  # a resource that any namespace overuses stops all namespaces
    below_min: bool = False  # a victim's namespace may fall below its min
    bare_first_check: bool = False  # nodes are checked first as if no pod were nominated
    double_remove: bool = False  # a victim that fails both checks makes its node fail
    pdb_undercount: bool = False  # a budget violated because of a quota is not counted
    own_charge: bool = False  # sidecars count as init containers, pod-level requests are ignored
    leaving_counts: bool = False  # a preemptor counts terminating pods as if they stayed
    promise_taken: bool = False  # a node freed for one pod goes to another of higher priority
    start_in_vain: bool = False  # a pod starts or preempts although a later one undoes that


AS_THE_PLUGIN: Final = PluginQuirks(**dict.fromkeys(PluginQuirks.__struct_fields__, True))


class ElasticQuotaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the ElasticQuota rules; the objects themselves carry none."""

    quirks: PluginQuirks = PluginQuirks()
    cross_node_preemption: bool = True  # a guarantee may take victims on several nodes
    protect_min: bool = False  # no namespace falls below its min for another one
    scoring: Scoring = "LeastAllocated"

    def min_protections(self) -> tuple[bool, ...]:
        """Return the rules for victims of other namespaces, in the order in which to try them.

        True: no namespace falls below its min. That is tried first, and alone with *protect_min*.
        """
        if self.protect_min:
            return (True,)
        return (False,) if self.quirks.below_min else (True, False)


FAITHFUL: Final = ElasticQuotaSettings(quirks=AS_THE_PLUGIN, cross_node_preemption=False)
"""The plugin as it is, quirks included."""
