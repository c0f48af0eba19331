"""The rule sets whose manifests Fairlead reads: one line for each."""

from typing import Final

from fairlead.manifest.bundle import Bundle
from fairlead.manifest.elastic_quota.family import ELASTIC_QUOTA
from fairlead.manifest.kai.family import KAI
from fairlead.manifest.kueue.family import KUEUE
from fairlead.policy.contract import PolicyName

BUNDLES: Final[dict[PolicyName, Bundle]] = {
    each.policy: each for each in (KAI, KUEUE, ELASTIC_QUOTA)
}
