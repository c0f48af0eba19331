"""What matters of a rule set on a live cluster: an entry for each that can schedule one."""

from typing import Final

import msgspec

from fairlead.manifest.elastic_quota.read_options import ELASTIC_QUOTA_SECTION
from fairlead.policy.contract import PolicyName


class LiveRuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """How the pods that are ours are named in our own Settings."""

    section: str
    scheduler_names: str  # the field of the section that lists the schedulers of our pods


LIVE_RULE_SETS: Final[dict[PolicyName, LiveRuleSet]] = {
    "elastic-quota": LiveRuleSet(section=ELASTIC_QUOTA_SECTION, scheduler_names="schedulerNames"),
}
LIVE_POLICIES: Final = tuple(LIVE_RULE_SETS)
