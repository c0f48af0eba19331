"""What namespaces hold, as a reader of the API server alone sees it."""

from tests.live.api import Api
from tests.live.pods import node_of, pods_path
from tests.live.waiting import wait_until


def bound_pods(api: Api, namespace: str) -> set[str]:
    """Return the pods of a namespace that have a node, without those that were told to leave."""
    return {
        each["metadata"]["name"]
        for each in api.items(pods_path(namespace))
        if node_of(each) and each["metadata"].get("deletionTimestamp") is None
    }


def waiting_pods(api: Api, namespace: str) -> set[str]:
    """Return the pods of a namespace without a node."""
    return {
        each["metadata"]["name"] for each in api.items(pods_path(namespace)) if not node_of(each)
    }


def wait_until_hold(api: Api, expected: dict[str, set[str]]) -> None:
    """Return once the pods that have a node are exactly the expected ones of each namespace."""
    wait_until(
        f"the bound pods are {expected}",
        lambda: {namespace: bound_pods(api, namespace) for namespace in expected},
        lambda found: found == expected,
    )


def wait_until_counts(api: Api, expected: dict[str, tuple[int, int]]) -> None:
    """Return once so many pods of each namespace have a node, and so many wait."""
    wait_until(
        f"bound and waiting pods are {expected}",
        lambda: {
            namespace: (len(bound_pods(api, namespace)), len(waiting_pods(api, namespace)))
            for namespace in expected
        },
        lambda found: found == expected,
    )
