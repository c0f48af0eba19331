"""Puts what the folder deploy/ defines into a test cluster: kinds, and the roles of its users.

The roles get names and subjects of their own, so that a test that installs and removes the whole
of deploy/ does not take the rights of other tests away.
"""

from collections.abc import Iterable
from pathlib import Path

import yaml

from tests.live.api import Api, Object
from tests.live.waiting import wait_until
from tests.shared_folder import ROOT

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEPLOY = ROOT / "deploy"
LEASE_NAMESPACE = "fairlead-system"
USERS_OF = {
    "scheduler": ("fairlead", "fairlead-2"),
    "shadow": ("shadow",),
    "viewer": ("viewer",),
}


def install_kinds(api: Api, *, with_older_group: bool) -> None:
    """Create the definitions of our kinds, and wait until they are served.

    *with_older_group*: ElasticQuota and PodGroup are served in both API groups, as in a cluster
    that had scheduler-plugins for years.
    """
    kinds = [
        each
        for file in sorted((DEPLOY / "crds").glob("*.yaml"))
        for each in _read(file)
        if each["kind"] == "CustomResourceDefinition"
    ]
    if with_older_group:
        kinds += [_in_older_group(each) for each in kinds]
    create_definitions(api, kinds)


def create_definitions(api: Api, definitions: Iterable[Object]) -> None:
    """Create definitions of kinds, and wait until all the kinds are served."""
    created = list(definitions)
    for each in created:
        api.create(DEFINITIONS, each)
    for each in created:
        _wait_until_served(api, each)


def _wait_until_served(api: Api, definition: Object) -> None:
    """Return once the objects of a kind can be listed: 404 at first, and then 429 for a second."""
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    wait_until(f"{path} is served", lambda: api.code_of(path), lambda code: code == 200)


def install_roles(api: Api) -> None:
    """Give each user of the cluster the rights of its role in deploy/, and no other."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASE_NAMESPACE}}
    api.create("/api/v1/namespaces", namespace)
    for component, users in USERS_OF.items():
        for each in _read(DEPLOY / component / "role.yaml"):
            if each["kind"] in {"ClusterRole", "Role"}:
                _install_role(api, each, f"test-{component}", users)


def _install_role(api: Api, role: Object, name: str, users: tuple[str, ...]) -> None:
    namespace = role["metadata"].get("namespace", "")
    within = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
    kind: str = role["kind"]
    group = "rbac.authorization.k8s.io"
    api.create(f"{within}/{kind.lower()}s", {**role, "metadata": {"name": name}})
    api.create(
        f"{within}/{kind.lower()}bindings",
        {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": kind, "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user} for user in users],
        },
    )


def _read(file: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(file.read_text()) if each]


def _in_older_group(definition: Object) -> Object:
    group = "scheduling.sigs.k8s.io"
    metadata = {
        "name": f"{definition['spec']['names']['plural']}.{group}",
        # Without this an API server refuses definitions in groups that belong to Kubernetes.
        "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
    }
    return {**definition, "metadata": metadata, "spec": {**definition["spec"], "group": group}}
