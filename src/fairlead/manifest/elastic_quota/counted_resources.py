"""Which resources an ElasticQuota counts."""

from typing import Final

_CORE: Final = ("cpu", "memory", "ephemeral-storage")
_PREFIXES: Final = ("hugepages-", "attachable-volumes-")
_QUOTA_PREFIX: Final = "requests."  # as a ResourceQuota writes it


def is_counted(resource: str) -> bool:
    """Tell whether a quota on *resource* has an effect: pods can ask for it and it is added up."""
    if resource in _CORE or resource.startswith(_PREFIXES):
        return True
    return "/" in resource and not resource.startswith(_QUOTA_PREFIX)
