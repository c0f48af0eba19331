"""Definitions of the kinds of KAI-Scheduler and Kueue, with no more than a name and a scope.

Their schemas take everything: a test of reading needs an API server that serves the kinds, and not
one that refuses what the controllers of the peers would refuse.
"""

from tests.live.api import Api, Object
from tests.live.installation import DEFINITIONS
from tests.live.waiting import wait_until

_KAI = {
    "Queue": ("scheduling.run.ai", "v2", "queues", False),
    "PodGroup": ("scheduling.run.ai", "v2alpha2", "podgroups", True),
    "SchedulingShard": ("kai.scheduler", "v1", "schedulingshards", False),
}
_KUEUE = {
    kind: ("kueue.x-k8s.io", "v1beta2", plural, is_namespaced)
    for kind, plural, is_namespaced in (
        ("ClusterQueue", "clusterqueues", False),
        ("Cohort", "cohorts", False),
        ("LocalQueue", "localqueues", True),
        ("ResourceFlavor", "resourceflavors", False),
        ("Workload", "workloads", True),
        ("WorkloadPriorityClass", "workloadpriorityclasses", False),
    )
}


def install_peer_kinds(api: Api) -> None:
    """Create the definitions, and wait until the kinds are served."""
    paths = []
    for kind, (group, version, plural, is_namespaced) in (*_KAI.items(), *_KUEUE.items()):
        api.create(DEFINITIONS, _definition(kind, group, version, plural, is_namespaced))
        paths.append(f"/apis/{group}/{version}/{plural}")
    for path in paths:
        wait_until(f"{path} is served", lambda: api.code_of(path), lambda code: code == 200)  # noqa: B023


def _definition(kind: str, group: str, version: str, plural: str, is_namespaced: bool) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if is_namespaced else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
