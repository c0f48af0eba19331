"""What the readers hand on: one cluster state, and where each part of it was written."""

from typing import Literal, TypeAlias

import msgspec

from fairlead.manifest.text.documents import Source
from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueSettings

PolicyName: TypeAlias = Literal["kai", "kueue", "elastic-quota"]
Settings: TypeAlias = KaiSettings | KueueSettings | ElasticQuotaSettings


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster state with the settings that apply to it.

    ``settings`` also says which rule set it is. ``sources`` has every queue that an object
    stands for (not a cohort that exists by reference alone).
    """

    state: ClusterState
    settings: Settings
    sources: dict[QueueName, Source]

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
