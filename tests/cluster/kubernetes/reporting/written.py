"""Reports as tests make them."""

from fairlead.cluster.kubernetes.acting.acts import PodName
from fairlead.cluster.kubernetes.reporting.reports import PodEvent, PodStatus


def target(name: str) -> PodName:
    return PodName("lab", name, f"uid-{name}")


def status(name: str, message: str = "full", *, node: str = "", version: str = "7") -> PodStatus:
    return PodStatus(
        pod=target(name),
        resource_version=version,
        message=message,
        since="2026-11-19T12:00:00Z",
        nominated_node=node,
    )


def event(name: str, message: str = "full", *, count: int = 1) -> PodEvent:
    return PodEvent(
        pod=target(name),
        name=f"{name}.1",
        type="Warning",
        reason="FailedScheduling",
        message=message,
        first_ms=1_000,
        at_ms=61_000,
        count=count,
    )
