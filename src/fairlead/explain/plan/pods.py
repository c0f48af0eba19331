"""Where the pods of a decision are or will be: on nodes, or, before they have one, on flavors."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from fairlead.explain.text.explanation import Section
from fairlead.explain.text.names import first_few
from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement
from fairlead.model.plan import Evict, Move, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload

MOST_NAMED: Final = 100
"""Of more pods without a node there are counts alone."""


class Places(NamedTuple):
    """Pods of a workload with their nodes, and the flavors that each pod set has, if any."""

    workload: Workload
    placements: Sequence[Placement]
    flavors: Sequence[Mapping[str, str]] = ()

    def spots(self) -> list[str]:
        """Return for each pod its node, else its flavors; pods that have neither are left out."""
        spots = [place.node or self.flavors_text(place) for place in self.placements]
        return [spot for spot in spots if spot]

    def flavors_text(self, place: Placement) -> str:
        """Return the flavors that the pod of *place* has quota of; empty where it has none."""
        at = self.workload.pod_sets.set_index[place.pod]
        return "+".join(dict.fromkeys(self.flavors[at].values())) if at < len(self.flavors) else ""


def gained(state: ClusterState, decision: Start | Reserve | Move) -> Places:
    """Return the places that pods get."""
    flavors = () if isinstance(decision, Move) else decision.flavors
    return Places(state.workloads[decision.workload], decision.placements, flavors)


def lost(state: ClusterState, decision: Evict | Move) -> Places:
    """Return the places that pods leave; a pod that got its place in the same plan has none."""
    workload, run = state.workloads[decision.workload], state.runs.get(decision.workload)
    if isinstance(decision, Move):
        return Places(workload, decision.origins)
    placed = run.pods if run else {}
    nodes = [Placement(pod, placed[pod].node if pod in placed else None) for pod in decision.pods]
    return Places(workload, nodes, run.flavors if run else ())


def counted(spots: Sequence[str]) -> str:
    """Return nodes or flavors with how many pods each has, the first few by name."""
    counts = Counter(spots)
    return first_few([name if n == 1 else f"{name} x{n}" for name, n in sorted(counts.items())])


def places_section(state: ClusterState, job: WorkloadName) -> Section:
    """Say where the pods are that have a place already."""
    pods = state.runs[job].pods.values()
    counts = Counter((placed.node or "no node", placed.phase) for placed in pods)
    rows = [(node, phase, str(count)) for (node, phase), count in sorted(counts.items())]
    return Section(
        title="Pods that already have a node", table=(("NODE", "", "PODS"), *rows), words=2
    )


def pods_document(places: Places, *, with_nodes: bool) -> dict[str, object]:
    """Return the pods by name; where some have no node, their sets with counts and flavors too.

    Then more than `MOST_NAMED` are not named.
    """
    workload, pod_sets = places.workload, places.workload.pod_sets
    named = [_place(workload, each, with_node=with_nodes) for each in places.placements]
    if all(each.node is not None for each in places.placements):
        return {"pods": named}
    counts = Counter([pod_sets.set_index[each.pod] for each in places.placements])
    sets = [
        {
            "name": pod_sets[at].name,
            "count": count,
            "flavors": dict(places.flavors[at]) if at < len(places.flavors) else {},
        }
        for at, count in sorted(counts.items())
    ]
    return {"podSets": sets, "pods": named if len(named) <= MOST_NAMED else []}


def origins_document(workload: Workload, placements: Sequence[Placement]) -> list[object]:
    """Return where pods that move are now."""
    return [_place(workload, each, with_node=True) for each in placements]


def _place(workload: Workload, placement: Placement, *, with_node: bool) -> dict[str, object]:
    place: dict[str, object] = {"name": workload.pod_name(placement.pod)}
    if with_node:
        place["node"] = placement.node
    if placement.share is not None:
        place["sharedDevices"] = list(placement.share.devices)
        place["partOfEach"] = placement.share.part_e9 / 10**9
    return place
