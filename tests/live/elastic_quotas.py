"""ElasticQuotas and PodGroups of a test, of either API group."""

from typing import Literal, TypeAlias

from tests.live.api import Api, Object

Group: TypeAlias = Literal["scheduling.x-k8s.io", "scheduling.sigs.k8s.io"]
Amounts: TypeAlias = dict[str, str]


def elastic_quotas_path(
    namespace: str, name: str = "", *, group: Group = "scheduling.x-k8s.io"
) -> str:
    """Return the path of the ElasticQuotas of a namespace, or of one."""
    path = f"/apis/{group}/v1alpha1/namespaces/{namespace}/elasticquotas"
    return f"{path}/{name}" if name else path


def create_elastic_quota(
    api: Api,
    namespace: str,
    name: str,
    *,
    min: Amounts,  # noqa: A002 - the name of the field
    max: Amounts | None = None,  # noqa: A002 - the name of the field
    group: Group = "scheduling.x-k8s.io",
) -> Object:
    """Create an ElasticQuota; without *max* it has no ceiling."""
    spec = {"min": min} if max is None else {"min": min, "max": max}
    body = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": name},
        "spec": spec,
    }
    return api.create(elastic_quotas_path(namespace, group=group), body)


def create_pod_group(
    api: Api,
    namespace: str,
    name: str,
    *,
    min_member: int,
    group: Group = "scheduling.x-k8s.io",
) -> Object:
    """Create a PodGroup of coscheduling."""
    body = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": min_member},
    }
    return api.create(f"/apis/{group}/v1alpha1/namespaces/{namespace}/podgroups", body)
