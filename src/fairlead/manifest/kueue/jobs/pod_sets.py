"""The pod sets of the Workloads that Kueue makes of an owner, by the kind of owner."""

from typing import Final

import msgspec

from fairlead.manifest.core.owners.jobset import LEADER, WORKERS
from fairlead.manifest.core.owners.objects import MAIN_ROLE, OwnerObject, Role
from fairlead.manifest.core.owners.ray import HEAD_GROUP
from fairlead.manifest.kueue.objects import KueuePodSet

MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"
_REQUIRED_TOPOLOGY: Final = (
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
)
_TOPOLOGY: Final = "topologyRequest"
_MOST_DIGITS: Final = 10  # of a number of pods
_SHOWN_NAMES: Final = {HEAD_GROUP: "head"}


def pod_sets(owner: OwnerObject) -> tuple[KueuePodSet, ...]:
    """Return the pod sets of the one Workload of *owner*: one for each role that has pods left."""
    found = [_pod_set(role, role.left) for role in owner.roles if role.left]
    if owner.title == "Job.batch" and len(found) == 1:
        found = [_shrinkable(found[0], owner.annotations.get(MIN_PARALLELISM, ""))]
    return tuple(found)


def group_pod_sets(owner: OwnerObject) -> tuple[KueuePodSet, ...]:
    """Return the pod sets of one group of a LeaderWorkerSet.

    Leader and workers are one set if they have one template.
    """
    roles = {role.name: role for role in owner.roles}
    leader, workers = roles[LEADER], roles.get(WORKERS)
    if workers is None or workers.template is leader.template:
        size = 1 + (0 if workers is None else workers.pods_each)
        return (msgspec.structs.replace(_pod_set(leader, size), name=MAIN_ROLE),)
    return _pod_set(leader, 1), _pod_set(workers, workers.pods_each)


def single_pod_set(role: Role) -> tuple[KueuePodSet, ...]:
    """Return the pod set of one pod of *role*."""
    return (msgspec.structs.replace(_pod_set(role, 1), name=MAIN_ROLE),)


def _pod_set(role: Role, count: int) -> KueuePodSet:
    template = role.template
    constraints = template.spec.constraints
    if not template.annotations.keys().isdisjoint(_REQUIRED_TOPOLOGY):
        unsupported = tuple(sorted({*constraints.unsupported, _TOPOLOGY}))
        constraints = msgspec.structs.replace(constraints, unsupported=unsupported)
    return KueuePodSet(
        name=_SHOWN_NAMES.get(role.name, role.name).lower(),
        count=count,
        min_count=count,
        requests=template.spec.requests,
        demand=template.spec.demand,
        device_claims=template.device_claims,
        labels=template.labels,
        constraints=constraints,
    )


def _shrinkable(pod_set: KueuePodSet, least: str) -> KueuePodSet:
    """Return the set of a Job that may be admitted with *least* pods, if that makes sense."""
    fewest = int(least) if least.isdecimal() and len(least) <= _MOST_DIGITS else 0
    if not 0 < fewest < pod_set.count:
        return pod_set
    return msgspec.structs.replace(pod_set, min_count=fewest)
