"""The rule sets that explain knows: one line each.

A rule set is a package with two modules: ``rule_set`` has its `RuleSet`, ``phrases`` its
`Phrases`. They are imported by name when they are needed: a command loads one rule set, and the
phrases of all. No other file of explain or of the command line names one.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Registered(NamedTuple):
    """A rule set: its package in explain, and the product whose objects it reads."""

    package: str
    product: str


RULE_SETS: Final[Mapping[str, Registered]] = {
    "kai": Registered("fairlead.explain.kai", "KAI-Scheduler"),
    "kueue": Registered("fairlead.explain.kueue", "Kueue"),
    "elastic-quota": Registered("fairlead.explain.elastic_quota", "ElasticQuota"),
}
