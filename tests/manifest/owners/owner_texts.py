"""Owners in text, and what is read of them."""

from fairlead.manifest.core.owners.made_pods import made_pods
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.readers import OWNER_KINDS
from tests.manifest.yaml_text import cursor_of, remarks

TEMPLATE = "{spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}"


def owner_text(
    kind: str, spec: str, *, status: str = "", metadata: str = "", name: str = "x"
) -> str:
    """Return an owner; *kind* is such as batch/v1/Job, and T in *spec* a template with 2 CPUs."""
    api_version, _, own = kind.rpartition("/")
    written = spec.replace("TEMPLATE", f"template: {TEMPLATE}")
    return (
        f"{{apiVersion: {api_version}, kind: {own}, metadata: {{name: {name}, namespace: lab, "
        f"{metadata}}}, spec: {{{written}}}, status: {{{status}}}}}"
    )


def read_owner(text: str) -> OwnerObject:
    """Read an owner in which nothing is wrong."""
    cursor, findings = cursor_of(text)
    api_version, kind = str(cursor.value["apiVersion"]), str(cursor.value["kind"])
    found = OWNER_KINDS[api_version.rpartition("/")[0], kind].read(cursor)
    assert remarks(findings) == [], text
    assert found is not None
    return found


def pod_names(owner: OwnerObject) -> list[str]:
    return [pod.name for role in owner.roles for pod in made_pods(owner, role)]


def shown(owner: OwnerObject) -> str:
    """Return how many pods there are of each role, and what else matters."""
    roles = [f"{role.name} {role.left}/{role.count}" for role in owner.roles]
    words = [word for word in ("suspended", "finished", "scheduled") if getattr(owner, word)]
    active = [f"active {owner.pods.active}"] if owner.pods.active else []
    return ", ".join([*roles, *words, *active])
