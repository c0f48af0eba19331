"""Puts what the folder deploy/ defines into a test cluster: kinds, and the roles of its users."""

from pathlib import Path

import yaml

from tests.live.api import Api, Object
from tests.live.waiting import wait_until
from tests.shared_folder import ROOT

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRDS = ROOT / "deploy" / "crds"


def install_kinds(api: Api, *, with_older_group: bool) -> None:
    """Create the definitions of our kinds, and wait until they are served.

    *with_older_group*: ElasticQuota and PodGroup are served in both API groups, as in a cluster
    that had scheduler-plugins for years.
    """
    files = [each for each in sorted(CRDS.glob("*.yaml")) if each.name != "kustomization.yaml"]
    kinds = [_read(file) for file in files]
    if with_older_group:
        kinds += [_in_older_group(each) for each in kinds]
    for each in kinds:
        api.create(DEFINITIONS, each)
    for each in kinds:
        _wait_until_served(api, each)


def _wait_until_served(api: Api, definition: Object) -> None:
    """Return once the objects of a kind can be listed: 404 at first, and then 429 for a second."""
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    wait_until(f"{path} is served", lambda: api.code_of(path), lambda code: code == 200)


def _read(file: Path) -> Object:
    definition: Object = yaml.safe_load(file.read_text())
    return definition


def _in_older_group(definition: Object) -> Object:
    group = "scheduling.sigs.k8s.io"
    metadata = {
        "name": f"{definition['spec']['names']['plural']}.{group}",
        # Without this an API server refuses definitions in groups that belong to Kubernetes.
        "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
    }
    return {**definition, "metadata": metadata, "spec": {**definition["spec"], "group": group}}
