"""Disruption budgets of a test; kube-controller-manager writes their status."""

from tests.live.api import Api
from tests.live.waiting import wait_until


def create_budget(
    api: Api, namespace: str, name: str, *, app: str, min_available: int, allowed: int
) -> None:
    """Create a budget for pods with the label app, and wait until it allows so many evictions."""
    path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    api.create(
        path,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {
                "minAvailable": min_available,
                "selector": {"matchLabels": {"app": app}},
            },
        },
    )
    wait_until(
        f"the budget {namespace}/{name} allows {allowed} evictions of {min_available} or more pods",
        lambda: api.get(f"{path}/{name}").get("status", {}),
        lambda status: (
            status.get("disruptionsAllowed") == allowed
            and status.get("currentHealthy", 0) >= min_available
            and status.get("observedGeneration", 0) >= 1
        ),
    )
