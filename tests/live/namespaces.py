"""A namespace for one test, emptied at its end so that the next test finds free nodes."""

import re
from itertools import count

from tests.live.api import AnswerError, Api

NAMESPACES = "/api/v1/namespaces"
_numbers = count(1)
_MADE_FOR_A_TEST = "test.fairlead/namespace"  # a label
_EMPTIED = (
    ("apps/v1", "deployments"),
    ("scheduling.x-k8s.io/v1alpha1", "elasticquotas"),
    ("scheduling.x-k8s.io/v1alpha1", "podgroups"),
    ("scheduling.sigs.k8s.io/v1alpha1", "elasticquotas"),
    ("scheduling.sigs.k8s.io/v1alpha1", "podgroups"),
)


def create_namespace(api: Api, words: str) -> str:
    """Create a namespace named after *words*, and return its name."""
    slug = re.sub(r"[^a-z0-9]+", "-", words.lower())[:40].strip("-")
    name = f"{slug}-{next(_numbers)}"
    metadata = {"name": name, "labels": {_MADE_FOR_A_TEST: "yes"}}
    api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    return name


def remove_all_namespaces(api: Api) -> None:
    """Remove what `create_namespace` has created."""
    for each in api.items(NAMESPACES, labelSelector=_MADE_FOR_A_TEST):
        if each["metadata"].get("deletionTimestamp") is None:
            remove_namespace(api, each["metadata"]["name"])


def remove_namespace(api: Api, name: str) -> None:
    """Begin to delete a namespace; its pods and quotas are gone when this returns.

    In a namespace that is terminating no controller can create pods again. The rest takes the
    namespace controller ten seconds, which no test waits for.
    """
    if api.find(f"{NAMESPACES}/{name}") is None:
        return
    api.delete(f"{NAMESPACES}/{name}")
    for group_version, plural in _EMPTIED:
        try:
            api.delete(f"/apis/{group_version}/namespaces/{name}/{plural}")
        except AnswerError as problem:
            if problem.code != 404:  # the kind is not installed
                raise
    pods = f"{NAMESPACES}/{name}/pods"
    for pod in api.items(pods):
        if pod["metadata"].get("finalizers"):
            api.patch(f"{pods}/{pod['metadata']['name']}", {"metadata": {"finalizers": None}})
    api.delete(pods, grace_period_s=0)
