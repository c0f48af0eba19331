"""Why some workloads are attempted under no rules: something other than room or quota is missing.

Readers of manifests set the obstacle of a workload; policies let it wait with that reason. Its
running pods are charged, and may be evicted, like those of any other workload.

A workload with a constraint that Fairlead does not model gets no place either, but it does not
wait: it cannot be judged. It counts as requested, and is passed over in its turn. Those behind it
go on, also in strict order: to let them wait would be a judgement, too.
"""

from collections.abc import Sequence
from typing import Final

from fairlead.model.axes import QueueName
from fairlead.model.plan import FailedClaim, LeftPending, Reason, Unknown, Wait
from fairlead.model.workload import PodId, Workload

POD_GROUP_NOT_FOUND: Final = "PodGroupNotFound"
OTHER_SCHEDULER: Final = "OtherScheduler"
INVALID_OBJECT: Final = "InvalidObject"
CLAIM_NOT_FOUND: Final = "VolumeClaimNotFound"
CLAIM_NOT_BOUND: Final = "VolumeClaimNotBound"
CLAIM_IS_DELETED: Final = "VolumeClaimIsDeleted"
CLAIM_LOST: Final = "VolumeClaimLost"
VOLUME_NOT_FOUND: Final = "VolumeNotFound"
NO_FREE_VOLUME: Final = "NoFreeVolume"
STORAGE_CLASS_NOT_FOUND: Final = "StorageClassNotFound"
UNSUPPORTED_CONSTRAINT: Final = "UnsupportedConstraint"


def obstacle_reason(workload: Workload, queue: QueueName | None = None) -> Reason | None:
    """Return why no plan starts *workload*; None: a plan may."""
    obstacle = workload.obstacle
    if obstacle is None:
        return None
    return Reason(code=obstacle.code, queue=queue, names=obstacle.names)


def volume_reason(
    workload: Workload, pods: Sequence[PodId], queue: QueueName | None = None
) -> Reason | None:
    """Return for which volume the first of *pods* waits that waits for one; None: none of them."""
    sets = workload.pod_sets
    for at in dict.fromkeys([sets.set_index[pod] for pod in pods]):
        volumes = sets[at].constraints.volumes
        if volumes is not None and volumes.obstacle is not None:
            obstacle = volumes.obstacle
            return Reason(code=obstacle.code, queue=queue, names=obstacle.names)
    return None


def unsupported_constraint(
    workload: Workload, pods: Sequence[PodId], queue: QueueName | None
) -> Reason | None:
    """Return that some of *pods* have a constraint that Fairlead does not model; None: none has."""
    if not any(each.constraints.unsupported for each in workload.pod_sets):
        return None
    set_index = workload.pod_sets.set_index
    sets = [workload.pod_sets[at] for at in {set_index[pod] for pod in pods}]
    names = {name for each in sets for name in each.constraints.unsupported}
    if not names:
        return None
    return Reason(code=UNSUPPORTED_CONSTRAINT, queue=queue, names=tuple(sorted(names)))


def constraint_reason(
    workload: Workload, pods: Sequence[PodId], queue: QueueName | None
) -> Reason | None:
    """Return why *pods* get no place on any node: a volume, or what cannot be judged; else None."""
    waits = volume_reason(workload, pods, queue)
    return waits or unsupported_constraint(workload, pods, queue)


def left_pending(
    workload: Workload, reason: Reason, claims: tuple[FailedClaim, ...] = ()
) -> LeftPending:
    """Return the decision about a *workload* that gets no place: it waits, or cannot be judged.

    It waits only if each way to a place was judged: room for the *reason*, and every one of the
    *claims* by which it could take a place from others.
    """
    for each in (reason, *(claim.reason for claim in claims)):
        if each.code == UNSUPPORTED_CONSTRAINT:
            return Unknown(workload=workload.name, reason=each)
    return Wait(workload=workload.name, reason=reason, claims=claims)
