"""Deployments of a test; kube-controller-manager makes their pods."""

from typing import Any

from tests.live.api import Api, Object
from tests.live.pods import pod_spec


def create_deployment(
    api: Api,
    namespace: str,
    name: str,
    replicas: int,
    *,
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """Create a Deployment whose pods have the spec `pod_spec(**spec)` and the label app: name."""
    selected = {"app": name}
    template = {
        "metadata": {"labels": {**selected, **(labels or {})}},
        "spec": pod_spec(**spec),
    }
    return api.create(
        f"/apis/apps/v1/namespaces/{namespace}/deployments",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": selected},
                "template": template,
            },
        },
    )


def scale_deployment(api: Api, namespace: str, name: str, replicas: int) -> None:
    """Ask for another number of pods."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    api.patch(path, {"spec": {"replicas": replicas}})
