"""Pods with affinities in short, on nodes that are in a zone.

A term is written ``key/selector`` or ``key/selector@namespaces``. The selector is ``app=web``,
``app=web|db``, ``app!=web``, ``*`` (everything) or ``none``; namespaces are ``a+b``, ``*`` for all,
or ``team=x`` by label.

A constraint on the spread is written ``key/skew/selector``, with options after ``@``: ``min=3`` for
minDomains, ``taints`` (nodeTaintsPolicy Honor) and ``all`` (nodeAffinityPolicy Ignore), joined by
``+``. A node with the label ``taint`` has a taint of that key.
"""

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.events import (
    CatalogueChanged,
    ForeignPodChanged,
    NodeAdded,
    Placement,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.node import ForeignPod, Node
from fairlead.model.selector import LabelRequirement, LabelSelector, PodSpread, PodTerm, Taint
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodId, PodSet, PodSets, Workload, numbered_pod
from tests.model.worlds import AXES, RESOURCES
from tests.text_table import rows

NAMESPACES = {"ns": {"team": "x"}, "other": {"team": "y"}}


def pairs(text: str) -> dict[str, str]:
    """Read ``a=b,c=d``; ``-`` is nothing."""
    return dict(each.split("=") for each in text.split(",") if each != "-")


def selector(text: str) -> LabelSelector | None:
    if text == "none":
        return None
    found = {} if text == "*" else pairs(text)
    return LabelSelector(
        requirements=tuple(
            LabelRequirement(
                key=key.removesuffix("!"),
                operator="NotIn" if key.endswith("!") else "In",
                values=tuple(value.split("|")),
            )
            for key, value in found.items()
        )
    )


def term(text: str) -> PodTerm:
    about, _, where = text.partition("@")
    key, _, wanted = about.partition("/")
    is_list = where != "*" and "=" not in where
    return PodTerm(
        topology_key=key,
        selector=selector(wanted),
        namespaces=tuple((where or "ns").split("+")) if is_list else (),
        namespace_selector=None if is_list else selector(where),
    )


def terms(text: str) -> tuple[PodTerm, ...]:
    """Read terms with a ``;`` between them; ``-`` is none."""
    return tuple(term(each) for each in text.split(";") if each != "-")


def spread(text: str) -> PodSpread:
    about, _, options = text.partition("@")
    key, skew, wanted = about.split("/")
    chosen = {each.partition("=")[0]: each.partition("=")[2] for each in options.split("+")}
    return PodSpread(
        topology_key=key,
        max_skew=int(skew),
        selector=selector(wanted),
        min_domains=int(chosen.get("min", "1")),
        honors_affinity="all" not in chosen,
        honors_taints="taints" in chosen,
    )


def spreads(text: str) -> tuple[PodSpread, ...]:
    """Read constraints with a ``;`` between them; ``-`` is none."""
    return tuple(spread(each) for each in text.split(";") if each != "-")


def workload(name: str, row: dict[str, str], *, count: int = 1) -> Workload:
    """Return pods with what *row* says of labels, near, apart, spread, where and namespace."""
    pod_set = PodSet(
        name="main",
        count=count,
        min_count=count,
        requests=(0, 0),
        labels=tuple(sorted(pairs(row.get("labels", "-")).items())),
        constraints=PodConstraints(
            pod_affinity=terms(row.get("near", "-")),
            pod_anti_affinity=terms(row.get("apart", "-")),
            spread=spreads(row.get("spread", "-")),
            node_selector=tuple(sorted(pairs(row.get("where", "-")).items())),
        ),
    )
    return Workload(
        name=WorkloadName(name),
        namespace=row.get("namespace", "ns"),
        queue=QueueName("q"),
        pod_sets=PodSets((pod_set,)),
        min_count=count,
    )


def foreign(row: dict[str, str], node: str, name: str = "stranger") -> ForeignPod:
    """Return a pod that is not ours with what *row* says of labels, apart and namespace."""
    return ForeignPod(
        id=PodId(name),
        name=name,
        node=node,
        requests=(0, 0),
        asked_about=True,
        namespace=row.get("namespace", "ns"),
        labels=tuple(sorted(pairs(row.get("labels", "-")).items())),
        pod_anti_affinity=terms(row.get("apart", "-")),
    )


def node(name: str, labels: dict[str, str]) -> Node:
    taints = (Taint(key=labels["taint"], effect="NoSchedule"),) if "taint" in labels else ()
    return Node(name=name, allocatable=(0, 0), labels=labels, taints=taints)


def start(name: str, on: str, ordinal: int = 0) -> WorkloadStarted:
    place = Placement(numbered_pod("main", ordinal), on)
    return WorkloadStarted(workload=WorkloadName(name), placements=(place,), at_ms=0)


def state_of(nodes: str, pods: str = "pod", others: str = "node") -> ClusterState:
    """Return nodes by table (node, labels), and pods by table (pod, node and what else they have).

    A pod on the node ``-`` waits. *others* are pods that are not ours, by node.
    """
    state = ClusterState(RESOURCES, AXES)
    state.apply(CatalogueChanged(Catalogue(namespaces=NAMESPACES)))
    for row in rows(nodes):
        state.apply(NodeAdded(node(row["node"], pairs(row["labels"]))))
    for at, row in enumerate(rows(others)):
        state.apply(ForeignPodChanged(foreign(row, row["node"], f"stranger-{at}")))
    for row in rows(pods):
        state.apply(WorkloadAdded(workload(row["pod"], row)))
        if row["node"] != "-":
            state.apply(start(row["pod"], row["node"]))
    return state
