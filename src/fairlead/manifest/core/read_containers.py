"""Reads the containers of a pod as far as they decide where it fits: requests and host ports."""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import FieldError, quantity_of
from fairlead.manifest.text.values import Value, describe

_PORT_MAX: Final = 65_535
_PROTOCOLS: Final[Mapping[str, str]] = {"TCP": "TCP", "UDP": "UDP", "SCTP": "SCTP"}
_RESTART_POLICIES: Final = {"Always": "Always", "OnFailure": "OnFailure", "Never": "Never"}
PASSED_OVER_OF_CONTAINERS: Final = frozenset(
    {
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "lifecycle",
        "livenessProbe",
        "name",
        "readinessProbe",
        "resizePolicy",
        "restartPolicyRules",
        "securityContext",
        "startupProbe",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
    }
)


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """What one container asks for. A sidecar is an init container that goes on running."""

    requests: Mapping[str, int]
    host_ports: tuple[tuple[str, int], ...] = ()  # protocol and port
    is_sidecar: bool = False


def read_containers(spec: Cursor, key: str, *, on_host_network: bool) -> list[Container]:
    """Read the list of containers at *key*, in its order."""
    return [_read_container(item, on_host_network) for item in spec.items(key)]


def read_requests(parent: Cursor) -> dict[str, int]:
    """Read ``resources`` as the API server completes it: a limit stands in for a request."""
    resources = parent.mapping("resources")
    resources.ignore("claims")  # the pod's resourceClaims are what matters
    limits = resources.quantities("limits", refuse_part)
    return {**limits, **resources.quantities("requests", refuse_part)}


def _read_container(container: Cursor, on_host_network: bool) -> Container:
    container.ignore(*PASSED_OVER_OF_CONTAINERS)
    return Container(
        requests=read_requests(container),
        host_ports=_host_ports(container, on_host_network),
        is_sidecar=container.choice("restartPolicy", _RESTART_POLICIES, "") == "Always",
    )


def _host_ports(container: Cursor, on_host_network: bool) -> tuple[tuple[str, int], ...]:
    found = []
    for item in container.items("ports"):
        item.ignore("name", "hostIP")
        inside = item.integer("containerPort", minimum=1, maximum=_PORT_MAX)
        port = item.integer("hostPort", 0, minimum=0, maximum=_PORT_MAX)
        protocol = item.choice("protocol", _PROTOCOLS, "TCP")
        if port == 0 and on_host_network:
            port = inside  # a pod in the host's network opens its ports there
        if port:
            found.append((protocol, port))
    return tuple(found)


_OF_KUBERNETES: Final = "kubernetes.io/"


def refuse_part(resource: str, value: Value) -> None:
    """Refuse an amount of *resource* that Kubernetes would refuse: a part of an extended one."""
    if "/" not in resource or _OF_KUBERNETES in resource or quantity_of(value).denominator == 1:
        return
    fix = "write a whole number"
    if resource.endswith("/gpu"):
        fix += "; a part of a GPU is asked for with the annotation gpu-fraction of a pod"
    message = (
        f"found {describe(value)}, expected a whole number: Kubernetes does not divide {resource}"
    )
    raise FieldError("bad-quantity", message, fix)
