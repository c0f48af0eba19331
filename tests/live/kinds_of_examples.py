"""Definitions of the peers' kinds, as far as an API server needs them to take any object of one.

Which kinds there are is what the readers of manifests know, and what pages show beside; what is in
them is not checked.
"""

from typing import Final

from fairlead.manifest.kinds import KINDS
from tests.live.api import Object

_DEFINED_ELSEWHERE: Final = frozenset({"scheduling.x-k8s.io"})  # in deploy/
_NO_API_GROUP: Final = frozenset({"config.kueue.x-k8s.io"})
_ON_PAGES: Final = {("monitoring.coreos.com", "ServiceMonitor"): ("v1",)}
_CLUSTER_SCOPED: Final = frozenset(
    {
        ("scheduling.run.ai", "Queue"),
        ("kai.scheduler", "SchedulingShard"),
        ("kai.scheduler", "Config"),
        ("kueue.x-k8s.io", "ClusterQueue"),
        ("kueue.x-k8s.io", "Cohort"),
        ("kueue.x-k8s.io", "ResourceFlavor"),
        ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    }
)


def definitions_of_peers() -> list[Object]:
    """Return a CRD for every kind that we name, if neither an API server nor deploy/ has it."""
    read = {
        (group, kind): known.versions
        for (group, kind), known in KINDS.items()
        if "." in group
        and not group.endswith(".k8s.io")
        and group not in (_DEFINED_ELSEWHERE | _NO_API_GROUP)
    }
    return [_definition(*kind, versions) for kind, versions in {**read, **_ON_PAGES}.items()]


def _definition(group: str, kind: str, versions: tuple[str, ...]) -> Object:
    singular = kind.lower()
    plural = singular + ("es" if singular.endswith("s") else "s")
    is_cluster_scoped = (group, kind) in _CLUSTER_SCOPED
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster" if is_cluster_scoped else "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": singular},
            "versions": [_version(each, is_stored=each == versions[0]) for each in versions],
        },
    }


def _version(name: str, *, is_stored: bool) -> Object:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "name": name,
        "served": True,
        "storage": is_stored,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": anything},
    }
