"""What the capacity-scheduling plugin adds up for pods, where a node is charged otherwise.

That is rare, so it is worked out only for pods that give reason to: sidecars, requests for the pod
as a whole, or a resource that is named with 0, which the plugin then looks at.
"""

from collections.abc import Sequence

from fairlead.manifest.core.objects import ByResource, PodObject
from fairlead.manifest.elastic_quota.counted_resources import is_counted


def plugin_charges(pods: Sequence[PodObject]) -> tuple[dict[str, int], ...]:
    """Return what the plugin charges each of *pods*, by the resources that a quota counts.

    Empty if for all of them it is what their node is charged, and none is named with 0.
    """
    if all(pod.plugin_requests is None and 0 not in pod.requests.values() for pod in pods):
        return ()
    charges = tuple(_counted(_as_plugin(pod)) for pod in pods)
    is_same = charges == tuple(_counted(pod.requests) for pod in pods)
    return () if is_same and not any(0 in each.values() for each in charges) else charges


def _as_plugin(pod: PodObject) -> ByResource:
    return pod.requests if pod.plugin_requests is None else pod.plugin_requests


def _counted(amounts: ByResource) -> dict[str, int]:
    return {resource: amount for resource, amount in amounts.items() if is_counted(resource)}
