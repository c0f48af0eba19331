"""Claims for devices (dynamic resource allocation), as far as they are counted: how many GPUs.

Which devices a claim would get is not worked out, so a pod that waits with one cannot be judged.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, TypeAlias

from fairlead.manifest.core.objects import NamespacedObject
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.values import Mapping, Value


class DeviceClaimObject(NamespacedObject, frozen=True, kw_only=True):
    """A ``ResourceClaim``."""

    kind: ClassVar = "ResourceClaim"
    gpus: int


class DeviceClaimTemplateObject(NamespacedObject, frozen=True, kw_only=True):
    """A ``ResourceClaimTemplate``, of which each pod that names it gets a claim of its own."""

    kind: ClassVar = "ResourceClaimTemplate"
    gpus: int
    devices: tuple[tuple[str, int], ...] = ()  # by class, of requests for an exact number


DeviceClaimName: TypeAlias = tuple[type[DeviceClaimObject | DeviceClaimTemplateObject], str]
"""A claim or template that a pod names, in its namespace."""


def device_claims_of(spec: Value) -> tuple[DeviceClaimName, ...]:
    """Return the claims for devices that the spec of a pod names. What is odd is left out."""
    items = spec.get("resourceClaims") if isinstance(spec, dict) else None
    return tuple(_names(items)) if isinstance(items, list) else ()


def template_names(claims: Iterable[DeviceClaimName]) -> tuple[str, ...]:
    """Return the ResourceClaimTemplates among the *claims* of a pod."""
    return tuple([name for kind, name in claims if kind is DeviceClaimTemplateObject])


def _names(items: list[Value]) -> Iterator[DeviceClaimName]:
    for item in items:
        if not isinstance(item, dict):
            continue
        source = item.get("source")  # where the first versions of the API have both
        places: list[Mapping] = [item, *([source] if isinstance(source, dict) else [])]
        for place in places:
            claim, template = place.get("resourceClaimName"), place.get("resourceClaimTemplateName")
            if isinstance(claim, str):
                yield DeviceClaimObject, claim
            if isinstance(template, str):
                yield DeviceClaimTemplateObject, template


@reads_named
def read_device_claim(top: Cursor, metadata: Metadata) -> DeviceClaimObject:
    """Read a ResourceClaim."""
    status = top.mapping("status")
    status.ignore("deallocationRequested", "devices", "reservedFor")
    allocation = status.mapping("allocation")
    allocation.ignore("allocationTimestamp", "controller", "nodeSelector")
    devices = allocation.mapping("devices")
    devices.ignore("config")
    allocated = []
    for result in devices.items("results"):
        result.ignore(*result.keys())  # later versions of the API may add fields
        allocated.append(result.text("request", ""))
    return DeviceClaimObject(
        source=top.source,
        namespace=metadata.namespace,
        name=metadata.name,
        gpus=_gpus(top.mapping("spec", required=True), allocated),
    )


@reads_named
def read_device_claim_template(top: Cursor, metadata: Metadata) -> DeviceClaimTemplateObject:
    """Read a ResourceClaimTemplate."""
    spec = top.mapping("spec", required=True)
    spec.ignore("metadata")
    return DeviceClaimTemplateObject(
        source=top.source,
        namespace=metadata.namespace,
        name=metadata.name,
        gpus=_gpus(spec.mapping("spec"), []),
        devices=tuple(_devices(spec.mapping("spec"))),
    )


def _devices(spec: Cursor) -> Iterator[tuple[str, int]]:
    """Yield the class and the number of devices of each request that has no alternatives."""
    for request in spec.mapping("devices").items("requests"):
        exactly = request.mapping("exactly") if request.has("exactly") else request
        for each in (request, exactly):
            each.ignore(*each.keys())  # `_gpus` says what is not known
        device_class = exactly.text("deviceClassName", "")
        if device_class and exactly.text("allocationMode", "") != "All":
            yield device_class, exactly.integer("count", 1, minimum=0)


def _gpus(spec: Cursor, allocated: list[str]) -> int:
    """Return how many devices a claim asks for, or has *allocated*, of classes of GPUs."""
    spec.ignore("controller", "resourceClassName", "parametersRef", "allocationMode")
    devices = spec.mapping("devices")
    devices.ignore("config", "constraints")
    return sum([_of_request(each, allocated) for each in devices.items("requests")])


def _of_request(request: Cursor, allocated: list[str]) -> int:
    """Return the GPUs of a request: of the alternative that was allocated, else of the first."""
    name = request.text("name", "")
    exactly = request.mapping("exactly") if request.has("exactly") else request
    request.ignore("exactly")
    options = {name: _of_option(exactly, allocated.count(name))}
    alternatives = request.items("firstAvailable")
    if alternatives:
        options = {}
        for each in alternatives:
            full = f"{name}/{each.text('name', '')}"
            options[full] = _of_option(each, allocated.count(full))
    chosen = [count for full, count in options.items() if full in allocated]
    return [*chosen, *options.values()][0]


def _of_option(option: Cursor, allocated: int) -> int:
    """Return the GPUs of one way to meet a request; of all that match, those *allocated*."""
    option.ignore("capacity", "selectors", "tolerations")
    device_class = option.text("deviceClassName", "")
    count = option.integer("count", 1, minimum=0)
    if option.text("allocationMode", "") == "All":
        count = allocated
    is_held = "gpu" in device_class.lower() and not option.boolean("adminAccess", False)
    return count if is_held else 0
