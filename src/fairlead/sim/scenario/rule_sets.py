"""Which rule sets a scenario can be run under: one line for each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.elastic_quota.rule_set import ElasticQuotaRuleSet
from fairlead.sim.scenario.kai.rule_set import KaiRuleSet
from fairlead.sim.scenario.kueue.rule_set import KueueRuleSet
from fairlead.sim.scenario.rule_set import RuleSet

_LISTED: Final[tuple[RuleSet, ...]] = (
    KaiRuleSet(),
    KueueRuleSet(),
    ElasticQuotaRuleSet(),
)

RULE_SETS: Final[Mapping[PolicyName, RuleSet]] = MappingProxyType(
    {rule_set.name: rule_set for rule_set in _LISTED}
)
DEFAULT: Final[PolicyName] = _LISTED[0].name
"""Under which inline queues are run where a scenario lists no policies."""
WITH_USAGE: Final = tuple(each.name for each in _LISTED if each.usage_axes)
"""Under which past use counts."""
USAGE_AXES: Final = RULE_SETS[WITH_USAGE[0]].usage_axes
"""What past use is counted in."""
