"""How much pods ask for and nodes have, in thousandths, read without any code of Fairlead."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from tests.live.api import Object

Amounts = Counter[str]

_FACTORS: Final = {"m": 1, "Ki": 1000 * 2**10, "Mi": 1000 * 2**20, "Gi": 1000 * 2**30}
_OVER: Final = ("Succeeded", "Failed")


def thousandths(quantity: str | int) -> int:
    """Return a quantity as the worlds of these tests write them: 500m, 2, 4Gi."""
    text = str(quantity)
    for suffix, factor in _FACTORS.items():
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(text) * 1000


def amounts(quantities: dict[str, str | int]) -> Amounts:
    """Return a list of resources as numbers."""
    return Counter({name: thousandths(value) for name, value in quantities.items()})


def requests(pod: Object) -> Amounts:
    """Return what a pod asks for; the pods of these tests have plain containers only."""
    total: Amounts = Counter()
    for container in pod["spec"]["containers"]:
        total.update(amounts(container.get("resources", {}).get("requests", {})))
    return total


def has_room(pod: Object) -> bool:
    """Return whether a pod takes up room on a node: it has one, and is not over."""
    return bool(node_of(pod)) and pod.get("status", {}).get("phase") not in _OVER


def is_leaving(pod: Object) -> bool:
    """Return whether a pod is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def node_of(pod: Object) -> str:
    """Return the name of a pod's node; "": it has none."""
    return str(pod["spec"].get("nodeName") or "")


def sum_of(pods: Iterable[Object]) -> Amounts:
    """Return what pods ask for together."""
    total: Amounts = Counter()
    for pod in pods:
        total.update(requests(pod))
    return total


def exceeding(used: Amounts, limit: Amounts) -> dict[str, tuple[int, int]]:
    """Return each resource of which more is used than *limit* has, with both numbers."""
    return {name: (amount, limit[name]) for name, amount in used.items() if amount > limit[name]}
