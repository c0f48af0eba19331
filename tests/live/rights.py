"""Rights of the users of a test cluster."""

from tests.live.api import Api, Object


def grant(api: Api, user: str, role: str, *rules: Object) -> None:
    """Give a user a ClusterRole; with *rules* the role is made first."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    version = "rbac.authorization.k8s.io/v1"
    if rules:
        body = {
            "apiVersion": version,
            "kind": "ClusterRole",
            "metadata": {"name": role},
            "rules": list(rules),
        }
        api.create(f"{rbac}/clusterroles", body)
    api.create(
        f"{rbac}/clusterrolebindings",
        {
            "apiVersion": version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{role}-to-{user}"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role,
            },
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        },
    )
