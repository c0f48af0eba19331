"""The rule sets that have metrics: one module and one line each.

A module has a function ``families`` that returns the metrics of a state under its peer's names. It
is imported when it is needed. No other file of this layer names a rule set.
"""

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias

from fairlead.model.axes import Amounts
from fairlead.model.state import ClusterState
from fairlead.policy.contract import PolicyName, Settings, policy_of
from fairlead.store.metrics.family import Family

MODULES: Final[Mapping[PolicyName, str]] = {
    "kai": "fairlead.store.metrics.kai",
    "kueue": "fairlead.store.metrics.kueue",
    "elastic-quota": "fairlead.store.metrics.elastic_quota",
}

_Families: TypeAlias = Callable[[ClusterState, Any, Amounts | None, Collection[str]], list[Family]]


def state_families(
    state: ClusterState,
    settings: Settings,
    capacity: Amounts | None,
    *,
    unknown: Collection[str] = (),
) -> list[Family]:
    """Return the metrics of *state*; *capacity* replaces the capacity of the nodes.

    Usage of *unknown* resources is left out: 0 would be wrong. Cost: that of the rule set's shares,
    twice where past usage counts.
    """
    families: _Families = import_module(MODULES[policy_of(settings)]).families
    return families(state, settings, capacity, unknown)
