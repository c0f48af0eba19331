"""What differs between kinds of owners when their pods are grouped: one function for each row.

A row says which group a pod belongs to, how many pods must start together, and which priority class
counts where none is named. The names are those that KAI gives.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from fairlead.manifest.core.objects import Owner, PodObject
from fairlead.manifest.core.owners.jobset import (
    LEADER,
    LWS_GROUP_INDEX,
    LWS_WORKER_INDEX,
    REPLICATED_JOB_NAME,
    WORKERS,
)
from fairlead.manifest.core.owners.kubeflow import LAUNCHER, MASTERS, REPLICA_TYPE
from fairlead.manifest.core.owners.objects import OwnerObject, Role
from fairlead.manifest.core.owners.ray import GROUP_LABEL, HEAD_GROUP
from fairlead.model.workload import SubGroup

BATCH_MIN_MEMBER: Final = "kai.scheduler/batch-min-member"
RAY_PRIORITY_CLASS: Final = "ray.io/priority-class-name"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The group of one pod: its name, its owner, and what it needs to start."""

    name: str
    owner: Owner
    min_member: int = 1
    fallback_class: str = "train"
    wanted_class: str = ""  # that counts before all others, whether it exists or not
    sub_groups: tuple[SubGroup, ...] = ()
    sub_group: str = ""  # of the pod


RowReader = Callable[[PodObject, Sequence[OwnerObject]], Row]
"""Given a pod and its owners, from its controller to the top."""


def group_name(owner: Owner) -> str:
    """Return the usual name of a group, which its *owner* has."""
    return f"pg-{owner.name}-{owner.uid}"


def row_of(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:
    """Return the row of a pod; the owner at the top decides which one."""
    return ROWS.get(owners[-1].title, _of_owner)(pod, owners)


def _of_owner(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:  # noqa: ARG001 - a row
    owner = _loose(owners[-1].reference())
    return Row(name=group_name(owner), owner=owner)


def _of_job(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:
    row = _of_owner(pod, owners)
    text = owners[-1].annotations.get(BATCH_MIN_MEMBER, "")
    least = int(text) if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS else 1
    return msgspec.structs.replace(row, min_member=max(1, least))


def _of_cron_job(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:  # noqa: ARG001 - a row
    job = _loose(owners[-2 if len(owners) > 1 else -1].reference())
    return Row(name=group_name(job), owner=job)


def _of_deployment(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:  # noqa: ARG001 - a row
    owner = Owner(api_version="v1", kind="Pod", name=pod.name, uid=pod.identity.uid)
    return Row(name=group_name(owner), owner=owner, fallback_class="inference")


def _of_notebook(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:
    return msgspec.structs.replace(_of_owner(pod, owners), fallback_class="build")


def _of_training_job(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:
    return msgspec.structs.replace(_of_owner(pod, owners), min_member=_gang(owners[-1]))


def _of_pytorch_job(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:
    """Group master and workers apart; the minimum of the workers is what the masters leave."""
    top = owners[-1]
    least = _gang(top)
    masters = sum(role.count for role in top.roles if role.name in MASTERS)
    workers = sum(role.count for role in top.roles if role.name not in MASTERS)
    found = []
    if masters:
        found.append(SubGroup(name=_MASTER, min_member=masters))
    if workers:
        found.append(SubGroup(name=_WORKER, min_member=max(0, least - masters)))
    return msgspec.structs.replace(
        _of_owner(pod, owners),
        min_member=least,
        sub_groups=tuple(found),
        sub_group=_MASTER if pod.labels.get(REPLICA_TYPE) in MASTERS else _WORKER,
    )


def _gang(top: OwnerObject) -> int:
    """Return how many pods of a training job start together.

    A launcher that is made when the workers are ready cannot be awaited.
    """
    if top.gang.min_available is not None:
        return max(1, top.gang.min_available)
    waits = top.gang.startup == "workers-ready"
    counted = [role for role in top.roles if not (waits and role.name == LAUNCHER)]
    return max(1, sum(role.count for role in counted))


def _of_ray(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:
    """Group the head and each group of workers apart; a group without pods has no part in it."""
    top = owners[-1]
    parts = [(role.name, _least_of_ray(role)) for role in top.roles if role.count]
    return msgspec.structs.replace(
        _of_owner(pod, owners),
        min_member=max(1, sum(least for _, least in parts)),
        wanted_class=top.labels.get(RAY_PRIORITY_CLASS, ""),
        sub_groups=tuple([SubGroup(name=name, min_member=least) for name, least in parts]),
        sub_group=pod.labels.get(GROUP_LABEL, HEAD_GROUP),
    )


def _least_of_ray(role: Role) -> int:
    replicas = role.replicas if role.min_replicas is None else role.min_replicas
    return replicas * role.pods_each


def _of_job_set(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:
    """Group each replicated job apart, unless the JobSet says that any order will do."""
    top, row = owners[-1], _of_owner(pod, owners)
    if top.gang.startup == "any-order":
        return msgspec.structs.replace(row, min_member=max(1, sum(one.count for one in top.roles)))
    name = pod.labels.get(REPLICATED_JOB_NAME, "")
    least = sum(role.count for role in top.roles if role.name == name)
    return msgspec.structs.replace(row, name=f"{row.name}-{name}", min_member=max(1, least))


def _of_leader_worker_set(pod: PodObject, owners: Sequence[OwnerObject]) -> Row:
    """Group each replica: all of its pods, or the leader alone where the workers wait for it."""
    top, row = owners[-1], _of_owner(pod, owners)
    name = f"{row.name}-group-{pod.labels.get(LWS_GROUP_INDEX, '0')}"
    size = top.gang.min_available or 1
    if top.gang.startup == "leader-ready":
        return msgspec.structs.replace(row, name=name)
    parts = [SubGroup(name=LEADER, min_member=1)]
    if size > 1:
        parts.append(SubGroup(name=WORKERS, min_member=size - 1))
    leads = pod.labels.get(LWS_WORKER_INDEX, "0") == "0"
    return msgspec.structs.replace(
        row,
        name=name,
        min_member=size,
        sub_groups=tuple(parts),
        sub_group=LEADER if leads else WORKERS,
    )


def _loose(owner: Owner) -> Owner:
    """Return how a group refers to its owner, which does not control it."""
    return msgspec.structs.replace(owner, is_controller=False)


_MASTER: Final = "master"
_WORKER: Final = "worker"
_MOST_DIGITS: Final = 10

ROWS: Final[Mapping[str, RowReader]] = {
    "Job.batch": _of_job,
    "CronJob.batch": _of_cron_job,
    "Deployment.apps": _of_deployment,
    "PyTorchJob.kubeflow.org": _of_pytorch_job,
    "TFJob.kubeflow.org": _of_training_job,
    "XGBoostJob.kubeflow.org": _of_training_job,
    "JAXJob.kubeflow.org": _of_training_job,
    "MPIJob.kubeflow.org": _of_training_job,
    "Notebook.kubeflow.org": _of_notebook,
    "RayCluster.ray.io": _of_ray,
    "RayJob.ray.io": _of_ray,
    "RayService.ray.io": _of_ray,
    "JobSet.jobset.x-k8s.io": _of_job_set,
    "LeaderWorkerSet.leaderworkerset.x-k8s.io": _of_leader_worker_set,
}
"""By the kind of the owner at the top; any other one has a single group of at least one pod."""
