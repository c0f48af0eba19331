"""The rule sets whose objects have a status that their scheduler writes: one module and line each.

A module has a function ``statuses`` that returns what the status of each object is to say. No other
file of this layer names a rule set.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, TypeAlias

from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.reporting.reports import ObjectStatus
from fairlead.policy.contract import PolicyName, policy_of

_MODULES: Final[Mapping[PolicyName, str]] = {
    "elastic-quota": "fairlead.cluster.kubernetes.reporting.elastic_quota",
}

_Statuses: TypeAlias = Callable[[Engine], list[ObjectStatus]]


def object_statuses(engine: Engine) -> list[ObjectStatus]:
    """Return what the status of each object of the rule set is to say now. Cost: all pods."""
    module = _MODULES.get(policy_of(engine.settings))
    if module is None:
        return []
    statuses: _Statuses = import_module(module).statuses
    return statuses(engine)
