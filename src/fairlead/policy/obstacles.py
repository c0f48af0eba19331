"""Why some workloads have no turn under any rules: something else than room or quota is missing.

Readers give a workload its obstacle; policies let it wait with that reason. What of it runs is
charged, and may give way, as for every other workload.
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
