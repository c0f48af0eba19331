"""Which resources an ElasticQuota counts."""

from typing import Final

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote

_CORE: Final = ("cpu", "memory", "ephemeral-storage")
_PREFIXES: Final = ("hugepages-", "attachable-volumes-")
_QUOTA_PREFIX: Final = "requests."  # as a ResourceQuota writes it


def is_counted(resource: str) -> bool:
    """Return whether a quota on *resource* has an effect: pods can request it and it is summed."""
    if resource in _CORE or resource.startswith(_PREFIXES):
        return True
    return "/" in resource and not resource.startswith(_QUOTA_PREFIX)


def read_counted(spec: Cursor, key: str) -> dict[str, int]:
    """Read amounts by resource. What no quota counts is left out, and reported."""
    amounts = spec.quantities(key)
    for resource in amounts:
        if not is_counted(resource):
            message = f"found {quote(resource)}, which no quota counts; it has no effect"
            spec.warn((key, resource), "no-effect", message, _cure(resource))
    return {resource: amount for resource, amount in amounts.items() if is_counted(resource)}


def _cure(resource: str) -> str:
    if resource == "pods":
        return "remove it; the number of pods is not limited by an ElasticQuota"
    plain = resource.removeprefix("requests.").removeprefix("limits.")
    if is_counted(plain):
        return f"write {plain}"
    if resource == "gpu":
        return "write the name that pods ask for, such as nvidia.com/gpu"
    return "remove it, or write the name that pods ask for, such as nvidia.com/gpu"
