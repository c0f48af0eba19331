"""What a pod that was resized in place costs its node, as kube-scheduler counts it.

A resize changes the spec at once, and the containers later, or never. Until the two agree, the
status says what the kubelet has allocated to a container and what the container really has. Each
container counts with the largest of the three; a resize that the kubelet called infeasible is not
counted, because it will not come.
"""

from collections.abc import Iterator
from typing import Final

from fairlead.manifest.text.fields import FieldError, quantity_of
from fairlead.manifest.text.values import Mapping, Value

_LISTS: Final = (
    ("containers", "containerStatuses"),
    ("initContainers", "initContainerStatuses"),
)
_NOTHING: Final[Mapping] = {}


def resized_spec(pod: Mapping) -> Mapping | None:
    """Return the spec of *pod* with the requests that count; None: with its own, as nearly always.

    Of init containers only sidecars are resized. Mistakes are left for readers of the spec and of
    the status to report. Cost: a look at each container that has a status.
    """
    spec, status = _mapping(pod, "spec"), _mapping(pod, "status")
    if not spec or not status:
        return None
    is_infeasible = _is_infeasible(status)
    changed: dict[str, Value] = {}
    for listed, statuses in _LISTS:
        known = {_name(each): each for each in _mappings(status, statuses)}
        if any("resources" in each for each in known.values()):
            containers = list(_resized(spec, listed, known, is_infeasible=is_infeasible))
            if containers != spec.get(listed):
                changed[listed] = containers
    own = _mapping(spec, "resources")
    if own.get("requests"):
        requests = _counted(_mapping(own, "requests"), status, is_infeasible=is_infeasible)
        if requests is not None:
            changed["resources"] = {**own, "requests": requests}
    return {**spec, **changed} if changed else None


def _resized(
    spec: Mapping, listed: str, known: dict[str | None, Mapping], *, is_infeasible: bool
) -> Iterator[Value]:
    """Yield the containers of a list, those that were resized with the requests that count."""
    items = spec.get(listed)
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            yield item
            continue
        status = known.get(_name(item), _NOTHING)
        is_lasting = listed == "containers" or item.get("restartPolicy") == "Always"
        requests = None
        if is_lasting and "resources" in status:
            own = _mapping(item, "resources")
            written: Mapping = {**_mapping(own, "limits"), **_mapping(own, "requests")}
            requests = _counted(written, status, is_infeasible=is_infeasible)
        yield item if requests is None else {**item, "resources": {"requests": requests}}


def _counted(written: Mapping, status: Mapping, *, is_infeasible: bool) -> Mapping | None:
    """Return the largest of what is written, allocated and there, by resource; None: as written."""
    actual = _mapping(_mapping(status, "resources"), "requests")
    allocated = _mapping(status, "allocatedResources")
    if all(not each or each == written for each in (actual, allocated)):
        return None
    sides = (actual, allocated) if is_infeasible else (written, actual, allocated)
    names = dict.fromkeys(name for side in sides for name in side)
    found: Mapping = {
        name: _largest([side[name] for side in sides if name in side]) for name in names
    }
    return None if found == written else found


def _largest(amounts: list[Value]) -> Value:
    """Return the largest quantity, as it is written; the first one if one of them is none."""
    try:
        return max(amounts, key=quantity_of)
    except FieldError:
        return amounts[0]


def _is_infeasible(status: Mapping) -> bool:
    """Return whether the kubelet refused a resize for good; older ones say so in ``resize``."""
    if status.get("resize") == "Infeasible":
        return True
    return any(
        each.get("type") == "PodResizePending" and each.get("reason") == "Infeasible"
        for each in _mappings(status, "conditions")
    )


def _name(parent: Mapping) -> str | None:
    found = parent.get("name")
    return found if isinstance(found, str) else None


def _mapping(parent: Mapping, key: str) -> Mapping:
    found = parent.get(key)
    return found if isinstance(found, dict) else _NOTHING


def _mappings(parent: Mapping, key: str) -> Iterator[Mapping]:
    items = parent.get(key)
    return (each for each in (items if isinstance(items, list) else []) if isinstance(each, dict))
