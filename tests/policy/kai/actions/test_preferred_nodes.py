"""A pod starts on a node that it prefers, where KAI would look at packing alone."""

import pytest
from msgspec.structs import replace

from fairlead.model.plan import Reserve, Start
from fairlead.model.selector import LabelRequirement, NodeTerm, PreferredNodes
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodSets, Preferences
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.model.worlds import node, queue, started, state_with, workload
from tests.text_table import rows

# Two nodes of 8 GPUs; so many of n1 and of n2 are held. The job of 2 GPUs prefers n2; packing
# prefers the node with less left.
CASES = """
    n1  n2  node  faithful
    4   0   n2    n1       # packing alone: 8 - 4 = 4 left on n1, 8 on n2
    4   7   n1    n1       # only 1 is left on n2
    0   4   n2    n2
"""


def planned(state: ClusterState, *, faithful: bool) -> str | None:
    decisions = KaiPolicy(KaiSettings(faithful=faithful)).plan(state, 0).decisions
    (found,) = [each for each in decisions if each.workload == "job"]
    assert isinstance(found, Start | Reserve)
    return found.placements[0].node


@pytest.mark.parametrize(
    "row",
    rows("\n".join(line.partition("#")[0] for line in CASES.splitlines())),
    ids=lambda row: " ".join(row.values()),
)
def test_the_preferred_node_comes_before_packing(row: dict[str, str]) -> None:
    n2 = LabelRequirement(key="metadata.name", operator="In", values=("n2",))
    prefers = Preferences(nodes=(PreferredNodes(weight=1, term=NodeTerm(names=(n2,))),))
    job = workload("job", "team", gpu=2000)
    where = PodConstraints(preferences=prefers)
    job = replace(job, pod_sets=PodSets([replace(job.pod_sets[0], constraints=where)]))
    held = {on: 1000 * int(row[on]) for on in ("n1", "n2") if int(row[on])}
    others = [workload(f"on-{on}", "team", gpu=gpus) for on, gpus in held.items()]
    state = state_with(queue("team"), node("n1"), node("n2"), *others, job)
    for on in held:
        state.apply(started(f"on-{on}", on))
    assert planned(state, faithful=False) == row["node"]
    assert planned(state, faithful=True) == row["faithful"]
