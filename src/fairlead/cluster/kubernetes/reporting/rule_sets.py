"""The rule sets whose objects have a status that their scheduler writes: one module and line each.

A module has a class ``Statuses``, which works out what the status of each object is to say. No
other file of this layer names a rule set.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final, Protocol

from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.reporting.reports import ObjectStatus
from fairlead.policy.contract import PolicyName, policy_of

_MODULES: Final[Mapping[PolicyName, str]] = {
    "elastic-quota": "fairlead.cluster.kubernetes.reporting.elastic_quota",
}


class _Statuses(Protocol):
    """The statuses of the objects of one rule set."""

    def of(self, engine: Engine) -> list[ObjectStatus]:
        """Return what the status of each object is to say now."""


class ObjectStatuses:
    """The statuses of the objects of whichever rule set an engine has."""

    def __init__(self) -> None:
        """Begin with nothing looked at."""
        self._of: dict[PolicyName, _Statuses] = {}

    def of(self, engine: Engine) -> list[ObjectStatus]:
        """Return what the status of each object of the rule set is to say now."""
        policy = policy_of(engine.settings)
        if policy not in _MODULES:
            return []
        if policy not in self._of:
            self._of[policy] = import_module(_MODULES[policy]).Statuses()
        return self._of[policy].of(engine)
