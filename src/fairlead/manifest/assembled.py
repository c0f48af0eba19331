"""What the readers hand on: one cluster state, and the rules that apply to it."""

from typing import Literal, TypeAlias

import msgspec

from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueSettings

PolicyName: TypeAlias = Literal["kai", "kueue", "elastic-quota"]
Settings: TypeAlias = KaiSettings | KueueSettings | ElasticQuotaSettings


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster state with the settings that apply to it, which also say which rule set it is."""

    state: ClusterState
    settings: Settings

    @property
    def policy(self) -> PolicyName:
        """The name of the rule set."""
        match self.settings:
            case KaiSettings():
                return "kai"
            case KueueSettings():
                return "kueue"
            case ElasticQuotaSettings():
                return "elastic-quota"
