"""Holding back what a caller asks for, in a state, for the course of one plan.

What is held becomes part of the state for as long as the plan is made, and is undone with it. So
whatever follows the state through its changes learns of it as of any other change, and forgets it
in the same way: nothing that is kept from plan to plan has to know what was held before.
"""

from collections.abc import Iterator, Set
from contextlib import contextmanager

from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import HoldsChanged, WorkloadChanged
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSets, Workload


@contextmanager
def holding(state: ClusterState, holds: Holds) -> Iterator[None]:
    """Hold back *holds* in *state* inside; at the end all is undone that was done inside.

    Cost: nothing if nothing is held; else the workloads that are, twice.
    """
    if holds == NOTHING_HELD:
        yield
        return
    with state.trial():
        state.apply(HoldsChanged(holds))
        nodes: dict[WorkloadName, set[str]] = {}
        for name, node in holds.nodes:
            nodes.setdefault(name, set()).add(node)
        for name in sorted(nodes.keys() & state.workloads.keys()):
            state.apply(WorkloadChanged(kept_off(state.workloads[name], nodes[name])))
        yield


def kept_off(workload: Workload, nodes: Set[str]) -> Workload:
    """Return *workload* with pods that are to be placed on none of *nodes*, whatever was before."""
    held = frozenset(nodes)
    sets = [
        replace(each, constraints=replace(each.constraints, held_nodes=held))
        for each in workload.pod_sets
    ]
    return replace(workload, pod_sets=PodSets(sets))
