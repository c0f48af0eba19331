"""The names of the rule sets, and which settings belong to which."""

from typing import Literal, TypeAlias, get_args

from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueSettings

PolicyName: TypeAlias = Literal["kai", "kueue", "elastic-quota"]
POLICY_NAMES: tuple[PolicyName, ...] = get_args(PolicyName)

Settings: TypeAlias = KaiSettings | KueueSettings | ElasticQuotaSettings


def policy_of(settings: Settings) -> PolicyName:
    """Return the name of the rule set that *settings* are for."""
    match settings:
        case KaiSettings():
            return "kai"
        case KueueSettings():
            return "kueue"
        case ElasticQuotaSettings():
            return "elastic-quota"
