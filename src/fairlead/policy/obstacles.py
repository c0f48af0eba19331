"""Why some workloads are attempted under no rules: something other than room or quota is missing.

Readers of manifests set the obstacle of a workload; policies let it wait with that reason. Its
running pods are charged, and may be evicted, like those of any other workload.
"""

from collections.abc import Sequence
from typing import Final

from fairlead.model.axes import QueueName
from fairlead.model.plan import Reason
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
