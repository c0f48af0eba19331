"""Checks for admission webhooks without a server, which make creations fail or slow."""

from collections.abc import Iterator
from typing import Any, Final

from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.doctor.diagnosis import Diagnosis
from fairlead.cluster.kubernetes.doctor.objects import ENDPOINT_SLICES, WEBHOOKS, find_all

_SERVICE_LABEL: Final = "kubernetes.io/service-name"
_OURS: Final = frozenset({"pods", "pods/*", "pods/binding", "pods/eviction", "*", "*/*", "leases"})


async def check_webhooks(session: Session) -> list[Diagnosis]:
    """Look for webhooks whose service has no ready endpoint."""
    found: list[Diagnosis] = []
    served: dict[str, frozenset[str]] = {}  # services with a ready endpoint, by namespace
    for resource in WEBHOOKS:
        for configuration in await find_all(session, resource):
            name = configuration["metadata"]["name"]
            for webhook in configuration.get("webhooks") or ():
                service = webhook.get("clientConfig", {}).get("service")
                if service is None:
                    continue
                namespace = service["namespace"]
                if namespace not in served:
                    slices = await find_all(session, ENDPOINT_SLICES, namespace)
                    served[namespace] = frozenset(_ready_services(slices))
                if service["name"] not in served[namespace]:
                    found.append(_without_server(resource.plural, name, webhook, service))
    return found or [Diagnosis(check="webhooks", level="ok", found="none lacks its server")]


def _ready_services(slices: list[Any]) -> Iterator[str]:
    for each in slices:
        for endpoint in each.get("endpoints") or ():
            if endpoint.get("conditions", {}).get("ready") is not False:
                yield (each["metadata"].get("labels") or {}).get(_SERVICE_LABEL, "")


def _without_server(plural: str, name: str, webhook: Any, service: Any) -> Diagnosis:
    resources = {
        each for rule in webhook.get("rules") or () for each in rule.get("resources") or ()
    }
    fails = webhook.get("failurePolicy", "Fail") == "Fail"
    concerns_us = bool(resources & _OURS)
    effect = "is refused" if fails else "is slowed down"
    return Diagnosis(
        check="webhooks",
        level="error" if fails and concerns_us else "warning",
        found=f"the webhook {webhook['name']} has no server: the service "
        f"{service['namespace']}/{service['name']} has no ready endpoint, so each write of "
        f"{', '.join(sorted(resources)) or 'its kinds'} {effect}",
        cure=f"start its server, or remove it: kubectl delete {plural} {name}",
    )
