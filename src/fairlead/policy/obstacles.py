"""Why some workloads are attempted under no rules: something other than room or quota is missing.

Readers of manifests set the obstacle of a workload; policies let it wait with that reason. Its
running pods are charged, and may be evicted, like those of any other workload.
"""

from typing import Final

from fairlead.model.axes import QueueName
from fairlead.model.plan import Reason
from fairlead.model.workload import Workload

POD_GROUP_NOT_FOUND: Final = "PodGroupNotFound"
OTHER_SCHEDULER: Final = "OtherScheduler"
INVALID_OBJECT: Final = "InvalidObject"


def obstacle_reason(workload: Workload, queue: QueueName | None = None) -> Reason | None:
    """Return why no plan starts *workload*; None: a plan may."""
    obstacle = workload.obstacle
    if obstacle is None:
        return None
    return Reason(code=obstacle.code, queue=queue, names=obstacle.names)
