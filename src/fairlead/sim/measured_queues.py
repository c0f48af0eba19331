"""Which queues are measured, and how they hang together.

Where a scenario lists its queues, it is these, under every rule set alike, so that results can be
compared: objects that only stand for what is guaranteed to nobody are left out, and the inner
queues are there also where the rules know leaves only.
"""

from fairlead.model.state import ClusterState
from fairlead.sim.scenario.scenario import Scenario


def measured_queues(scenario: Scenario, state: ClusterState) -> dict[str, str | None]:
    """Return the parent of each queue, in the order of names; None: it is at the top."""
    if scenario.spec.queues:
        parents = {queue.name: queue.parent for queue in scenario.spec.queues}
    else:
        parents = {str(name): queue.parent for name, queue in state.queues.items()}
    return {name: parent if parent in parents else None for name, parent in sorted(parents.items())}
