"""Reads ``JobSet`` (jobset.x-k8s.io) and ``LeaderWorkerSet`` (leaderworkerset.x-k8s.io)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from fairlead.manifest.core.owners.batch import INDEX_LABEL, job_role
from fairlead.manifest.core.owners.objects import (
    Gang,
    OwnerObject,
    PodCounts,
    PodNames,
    Role,
    Startup,
)
from fairlead.manifest.core.owners.read_owner import (
    having,
    owner_of,
    passed_over,
    read_count,
    read_template,
    true_conditions,
)
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.text.cursor import Cursor

JOB_SET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB_NAME: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
_ENDS: Final = frozenset({"Completed", "Failed"})
_IN_ORDER: Final = "InOrder"
_ORDERS: Final[Mapping[str, Startup]] = {_IN_ORDER: "in-order", "AnyOrder": "any-order"}

LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
LWS_GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
LWS_WORKER_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"
LEADER: Final = "leader"
WORKERS: Final = "workers"


@reads_named
def read_job_set(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a JobSet: each of its roles is a Job so many times."""
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    order = passed_over(spec, "startupPolicy").text("startupPolicyOrder", "")
    roles = list(_replicated_jobs(spec, metadata))
    active = 0
    for each in status.items("replicatedJobsStatus"):
        each.ignore(*each.keys())
        active += read_count(each, "active", 0)
    return owner_of(
        top,
        metadata,
        roles=tuple(_first_only(roles) if order == _IN_ORDER else roles),
        gang=Gang(startup=_ORDERS.get(order, "together")),
        pods=PodCounts(active=active),
        selector=having({JOB_SET_NAME: metadata.name}),
        suspended=bool(spec.boolean("suspend", False)),
        finished=not _ENDS.isdisjoint(true_conditions(status)),
    )


def _first_only(roles: Sequence[Role]) -> Iterator[Role]:
    """Yield *roles*, of which only the first has pods now: the next waits until it is ready."""
    is_first = True
    for role in roles:
        yield role if is_first else replace(role, left_each=0)
        is_first = is_first and role.count == 0


def _replicated_jobs(spec: Cursor, metadata: Metadata) -> Iterator[Role]:
    for item in spec.items("replicatedJobs"):
        item.ignore(*item.keys())
        name = item.text("name")
        job = passed_over(passed_over(item, "template"), "spec")
        labels = {JOB_SET_NAME: metadata.name, REPLICATED_JOB_NAME: name}
        template = read_template(job, metadata.namespace, labels=labels)
        role = job_role(job, template, stem=f"{metadata.name}-{name}", labels=labels)
        if role is not None:
            yield replace(
                role,
                name=name,
                replicas=read_count(item, "replicas", 1),
                names=PodNames.REPLICA_INDEXED_RANDOM,
                index_label=INDEX_LABEL,
                replica_label=JOB_INDEX,
            )


@reads_named
def read_leader_worker_set(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a LeaderWorkerSet: groups of one leader and workers."""
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    both = passed_over(spec, "leaderWorkerTemplate")
    size, groups = read_count(both, "size", 1), read_count(spec, "replicas", 1)
    waits = spec.text("startupPolicy", "") == "LeaderReady"
    roles = list(_leader_and_workers(both, metadata, size=size, groups=groups))
    return owner_of(
        top,
        metadata,
        roles=tuple(_first_only(roles) if waits else roles),
        gang=Gang(min_available=size, startup="leader-ready" if waits else "together"),
        pods=PodCounts(
            active=size * read_count(status, "replicas", 0),
            ready=size * read_count(status, "readyReplicas", 0),
        ),
        selector=having({LWS_NAME: metadata.name}),
    )


def _leader_and_workers(
    both: Cursor, metadata: Metadata, *, size: int, groups: int
) -> Iterator[Role]:
    """Yield the leader and the workers; without a template of its own it is as a worker is."""
    labels, namespace = {LWS_NAME: metadata.name}, metadata.namespace
    worker = read_template(both, namespace, key="workerTemplate", labels=labels)
    leader = read_template(both, namespace, key="leaderTemplate", labels=labels) or worker
    if leader is None or worker is None:
        return
    leads = Role(
        name=LEADER,
        template=leader,
        replicas=groups,
        stem=metadata.name,
        names=PodNames.REPLICA,
        labels=labels,
        index_label=LWS_WORKER_INDEX,
        replica_label=LWS_GROUP_INDEX,
    )
    yield leads
    if size > 1:
        yield replace(
            leads,
            name=WORKERS,
            template=worker,
            pods_each=size - 1,
            first_index=1,
            names=PodNames.REPLICA_INDEXED,
        )
