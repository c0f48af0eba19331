"""The rule sets whose manifests Fairlead reads: one line for each."""

from typing import Final

from fairlead.manifest.bundle import Bundle
from fairlead.manifest.elastic_quota.bundle import ELASTIC_QUOTA
from fairlead.manifest.kai.bundle import KAI
from fairlead.manifest.kueue.bundle import KUEUE
from fairlead.policy.contract import PolicyName

BUNDLES: Final[dict[PolicyName, Bundle]] = {
    each.policy: each for each in (KAI, KUEUE, ELASTIC_QUOTA)
}
