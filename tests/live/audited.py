"""What the audit log of a test cluster says of the requests of a user."""

from http import HTTPStatus

from tools.k8s.audit import Request, read_audit
from tools.k8s.cluster import Cluster


def requests_of(cluster: Cluster, user: str, after_bytes: int = 0) -> list[Request]:
    """Return the requests of a user, or those since the log had a size."""
    found = read_audit(cluster.audit_log, after_bytes=after_bytes)
    return [each for each in found if each.user == user]


def denials(cluster: Cluster, user: str, after_bytes: int = 0) -> list[str]:
    """Return what was denied to a user, each once: ``patch pods/status: 403``."""
    return sorted(
        {
            f"{each.verb} {'/'.join(filter(None, (each.group, each.resource, each.subresource)))}"
            f"{'' if each.resource else each.path}: {each.code}"
            for each in requests_of(cluster, user, after_bytes)
            if each.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
        }
    )
