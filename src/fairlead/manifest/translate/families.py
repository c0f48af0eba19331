"""Which objects each rule set reads, and how."""

from collections.abc import Mapping
from typing import Any, Final

from fairlead.manifest.elastic_quota.family import ElasticQuotaFamily
from fairlead.manifest.kai.family import KaiFamily
from fairlead.manifest.kueue.family import KueueFamily
from fairlead.manifest.translate.family import Family
from fairlead.policy.contract import PolicyName

FAMILIES: Final[Mapping[PolicyName, type[Family[Any]]]] = {
    "kai": KaiFamily,
    "kueue": KueueFamily,
    "elastic-quota": ElasticQuotaFamily,
}
