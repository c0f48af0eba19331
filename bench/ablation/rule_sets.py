"""The shortcuts of each rule set, and the work on which they are measured."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from bench.ablation import elastic_quota, kai, kueue
from bench.ablation.shortcut import Shortcut
from bench.ablation.workloads import AblationWorkload


class AblatedRuleSet(NamedTuple):
    """What is switched off in one rule set, and on which work."""

    shortcuts: tuple[Shortcut, ...]
    workloads: tuple[AblationWorkload, ...]


RULE_SETS: Final[Mapping[str, AblatedRuleSet]] = {
    "kai": AblatedRuleSet(kai.SHORTCUTS, kai.WORKLOADS),
    "kueue": AblatedRuleSet(kueue.SHORTCUTS, kueue.WORKLOADS),
    "elastic-quota": AblatedRuleSet(elastic_quota.SHORTCUTS, elastic_quota.WORKLOADS),
}
