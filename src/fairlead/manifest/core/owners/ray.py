"""Reads ``RayCluster``, ``RayJob`` and ``RayService`` (ray.io)."""

from collections.abc import Iterator, Mapping
from typing import Final

from fairlead.manifest.core.owners.objects import (
    OwnerObject,
    PodCounts,
    PodNames,
    Role,
)
from fairlead.manifest.core.owners.read_owner import (
    having,
    owner_of,
    passed_over,
    read_count,
    read_template,
)
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.selector import LabelSelector

CLUSTER_LABEL: Final = "ray.io/cluster"
GROUP_LABEL: Final = "ray.io/group"
NODE_TYPE_LABEL: Final = "ray.io/node-type"
MADE_FOR_LABEL: Final = "ray.io/originated-from-cr-name"
MADE_FOR_KIND_LABEL: Final = "ray.io/originated-from-crd"
HEAD_GROUP: Final = "headgroup"
_ENDED_JOBS: Final = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
_ENDED_DEPLOYMENTS: Final = frozenset({"Complete", "Failed"})


@reads_named
def read_ray_cluster(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a RayCluster: a head, and workers in groups."""
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    has_head = status.text("state", "") == "ready" or passed_over(status, "head").has("podIP")
    return owner_of(
        top,
        metadata,
        roles=tuple(_roles(spec, metadata, metadata.name)),
        pods=PodCounts(active=has_head + read_count(status, "availableWorkerReplicas", 0)),
        selector=having({CLUSTER_LABEL: metadata.name}),
        suspended=bool(spec.boolean("suspend", False)),
    )


@reads_named
def read_ray_job(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a RayJob, which makes a RayCluster, or runs on one that is there already.

    The pod that hands the job in is made when the cluster is ready; it is left out.
    """
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    has_ended = (
        status.text("jobStatus", "") in _ENDED_JOBS
        or status.text("jobDeploymentStatus", "") in _ENDED_DEPLOYMENTS
    )
    return owner_of(
        top,
        metadata,
        roles=tuple(_roles(passed_over(spec, "rayClusterSpec"), metadata, metadata.name)),
        pods=PodCounts(active=_cluster_count(status.text("rayClusterName", ""))),
        selector=_made_for("RayJob", metadata),
        suspended=bool(spec.boolean("suspend", False)),
        finished=has_ended,
    )


@reads_named
def read_ray_service(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a RayService, which makes a RayCluster."""
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    config = passed_over(spec, "rayClusterConfig")
    active = passed_over(status, "activeServiceStatus").text("rayClusterName", "")
    pending = passed_over(status, "pendingServiceStatus").text("rayClusterName", "")
    return owner_of(
        top,
        metadata,
        roles=tuple(_roles(config, metadata, metadata.name)),
        pods=PodCounts(active=_cluster_count(active or pending)),
        selector=_made_for("RayService", metadata),
        suspended=bool(config.boolean("suspend", False)),
    )


def _cluster_count(cluster: str) -> int:
    """Return how many pods there are at least of a *cluster* that was made: its head."""
    return int(cluster != "")


def _made_for(kind: str, metadata: Metadata) -> LabelSelector:
    return having({MADE_FOR_KIND_LABEL: kind, MADE_FOR_LABEL: metadata.name})


def _roles(spec: Cursor, metadata: Metadata, cluster: str) -> Iterator[Role]:
    """Yield the head and each group of workers; a group that is suspended has none."""
    own = {CLUSTER_LABEL: cluster}
    head = passed_over(spec, "headGroupSpec")
    labels = {**own, NODE_TYPE_LABEL: "head", GROUP_LABEL: HEAD_GROUP}
    template = read_template(head, metadata.namespace, labels=labels)
    if template is not None:
        yield Role(
            name=HEAD_GROUP,
            template=template,
            stem=f"{cluster}-head",
            names=PodNames.RANDOM,
            labels=labels,
        )
    for at, group in enumerate(spec.items("workerGroupSpecs")):
        group.ignore(*group.keys())
        name = group.text("groupName", "") or f"worker-group-{at}"
        labels = {**own, NODE_TYPE_LABEL: "worker", GROUP_LABEL: name}
        yield from _workers(group, metadata.namespace, name, f"{cluster}-{name}-worker", labels)


def _workers(
    group: Cursor, namespace: str, name: str, stem: str, labels: Mapping[str, str]
) -> Iterator[Role]:
    template = read_template(group, namespace, labels=labels)
    if template is None:
        return
    replicas = read_count(group, "replicas", 0)
    least = read_count(group, "minReplicas", 0)
    if least > replicas and group.has("replicas"):
        message = f"found at least {least} replicas, and {replicas} wanted; counted as {least}, "
        message += "while Ray refuses the group"
        group.warn("minReplicas", "contradiction", message, "write no more than replicas")
    is_suspended = bool(group.boolean("suspend", False))
    yield Role(
        name=name,
        template=template,
        replicas=0 if is_suspended else max(replicas, least),
        pods_each=read_count(group, "numOfHosts", 1),
        min_replicas=0 if is_suspended else least or replicas,
        stem=stem,
        names=PodNames.RANDOM,
        labels=labels,
    )
