"""Random nodes, pods and events, so few and small that everything meets everything."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from hypothesis import strategies as st

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import Amounts, Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.events import (
    ForeignPodChanged,
    ForeignPodRemoved,
    NodeAdded,
    NodeChanged,
    NodeRemoved,
    Placement,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadDeparted,
    WorkloadDisplaced,
    WorkloadLeaving,
    WorkloadRemoved,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.node import ForeignPod, Node
from fairlead.model.selector import (
    LabelRequirement,
    LabelSelector,
    NodeTerm,
    PodSpread,
    PodTerm,
    PreferredNodes,
    Taint,
    Toleration,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    GpuShare,
    PodConstraints,
    PodId,
    PodSet,
    PodSets,
    Preferences,
    Workload,
    numbered_pod,
)
from fairlead.placement.find_node import Spot
from fairlead.placement.shared_devices import DeviceRule
from tests.placement.plain_search import Rules

Any = TypeVar("Any")

RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "amd.com/gpu")
AXES = QuotaAxes([Axis("cpu")])
PODS = 3  # of each workload
TAINT = Taint(key="dedicated", value="ml", effect="NoSchedule")
WISHES = Preferences(
    nodes=tuple(
        PreferredNodes(
            weight=weight,
            term=NodeTerm(labels=(LabelRequirement(key="zone", operator="In", values=(zone,)),)),
        )
        for weight, zone in ((7, "a"), (3, "b"))
    )
)
IN_ZONE_A = NodeTerm(labels=(LabelRequirement(key="zone", operator="In", values=("a",)),))


def near(app: str) -> PodTerm:
    """Return the term that means pods of *app* in the same zone."""
    wanted = LabelRequirement(key="app", operator="In", values=(app,))
    selector = LabelSelector(requirements=(wanted,))
    return PodTerm(topology_key="zone", selector=selector, namespaces=("",))


def spread_of(app: str) -> PodSpread:
    """Return the constraint that spreads pods of *app* over zones."""
    return PodSpread(topology_key="zone", max_skew=1, selector=near(app).selector)


def rarely(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([usual] * (4 * len(others)) + list(others))


def _foreign(name: str, node: str, requests: Amounts, app: str, is_leaving: bool) -> ForeignPod:
    """Return a pod that opens a port and keeps another app away, if it has an *app*."""
    return ForeignPod(
        id=PodId(name),
        name=name,
        node=node,
        requests=requests,
        leaving=is_leaving,
        asked_about=bool(app),
        labels=(("app", app),) if app else (),
        host_ports=(("TCP", 80),) if app else (),
        pod_anti_affinity=(near("b" if app == "a" else "a"),) if app else (),
    )


def foreign_pods(requests: Sequence[Amounts]) -> st.SearchStrategy[ForeignPod]:
    """Return a few pods of other schedulers, some of them on nodes that are not known."""
    return st.builds(
        _foreign,
        st.sampled_from(["f0", "f1", "f2", "f3"]),
        st.sampled_from([f"n{number}" for number in range(8)]),
        st.sampled_from(requests),
        st.sampled_from(["", "", "a", "b"]),
        st.booleans(),
    )


strangers = foreign_pods([(0, 0, 0, 0), (500, 0, 0, 0), (2000, 1, 1000, 0), (0, 1, 1000, 1000)])
nodes = st.builds(
    Node,
    name=st.sampled_from([f"n{number}" for number in range(8)]),
    allocatable=st.tuples(
        st.sampled_from([4000, 3000, 1000, 0]),
        st.sampled_from([4, 2]),
        st.sampled_from([2000, 1000, 3000, 0]),
        rarely(0, 1000),
    ),
    labels=st.sampled_from([{"zone": "a"}, {"zone": "b"}, {}]),
    taints=rarely((), (TAINT,)),
    ready=rarely(True, False),
    cordoned=rarely(False, True),
    gpu_memory_mib=st.sampled_from([3, 10, 40_000, None]),
)
shares = st.builds(
    lambda devices, part: GpuShare(devices=devices, thousandths=part[0], memory_mib=part[1]),
    st.sampled_from([1, 1, 2]),
    st.sampled_from([(500, None), (250, None), (750, None), (None, 1), (None, 5), (None, 39_990)]),
)
constraints = st.builds(
    PodConstraints,
    node_selector=rarely((), (("zone", "a"),)),
    node_terms=rarely(None, (IN_ZONE_A,)),
    tolerations=rarely((), (Toleration(operator="Exists"),)),
    host_ports=rarely((), (("TCP", 80),), (("TCP", 80), ("UDP", 53))),
    pod_affinity=st.sampled_from([(), (), (near("a"),)]),
    pod_anti_affinity=st.sampled_from([(), (), (near("b"),)]),
    spread=rarely((), (spread_of("a"),)),
    preferences=rarely(None, WISHES, Preferences(spread=(spread_of("b"),))),
)


def _pods(
    amounts: tuple[int, int],
    gpus: tuple[int, int] | GpuShare,
    app: str,
    where: PodConstraints,
) -> PodSet:
    share, whole = (gpus, (500, 0)) if isinstance(gpus, GpuShare) else (None, gpus)
    return PodSet(
        name="main",
        count=PODS,
        min_count=1,
        requests=(*amounts, *whole),
        labels=(("app", app),) if app else (),
        constraints=where,
        gpu_share=share,
    )


pod_sets = st.builds(
    _pods,
    st.tuples(st.sampled_from([0, 500, 1000, 2000]), st.sampled_from([0, 0, 1, 2])),
    st.sampled_from([(0, 0), (1000, 0), (2000, 0), (0, 1000)]) | shares | shares,
    st.sampled_from(["", "", "a", "b"]),
    st.just(PodConstraints()) | constraints,
)
rules = st.builds(
    Rules, st.booleans(), st.booleans(), st.builds(DeviceRule, st.booleans(), st.booleans())
)

Verb: TypeAlias = Literal[
    "place",
    "force",
    "leave",
    "stop",
    "displace",
    "depart",
    "rewrite",
    "node",
    "foreign",
    "trial",
    "end",
]


class Step(NamedTuple):
    """One thing that happens; what it does not fit is turned into something that it fits."""

    verb: Verb
    workload: int
    ordinal: int
    odd: bool
    pods: PodSet
    node: Node
    foreign: ForeignPod


VERBS: list[Verb] = ["place", "place", "force", "leave", "leave", "stop", "rewrite", "node"]
VERBS += ["place", "place", "trial", "end", "trial", "end", "displace", "displace", "depart"]
VERBS += ["foreign", "foreign", "foreign"]
steps = st.builds(
    Step,
    st.sampled_from(VERBS),
    st.integers(0, 9),
    st.integers(0, PODS - 1),
    st.booleans(),
    pod_sets,
    nodes,
    strangers,
)


class SearchWorld:
    """A state to which steps happen."""

    def __init__(
        self,
        start_nodes: list[Node],
        start_pods: list[PodSet],
        start_foreign: Sequence[ForeignPod] = (),
    ) -> None:
        self.state = ClusterState(RESOURCES, AXES)
        self.marks: list[Mark] = []
        for node in start_nodes:
            self.state.apply(NodeAdded(node))
        for at, pods in enumerate(start_pods):
            self.state.apply(WorkloadAdded(_workload(f"w{at}", pods)))
        for foreign in start_foreign:
            self.state.apply(ForeignPodChanged(foreign))

    def happen(self, step: Step) -> None:
        """Let a step happen, other than the placing of pods that are searched a place for."""
        match step.verb:
            case "force":
                self.force(step)
            case "leave" | "stop" | "displace":
                self.give_up(step)
            case "depart":
                self.depart(step)
            case "rewrite":
                self.rewrite(step)
            case "node":
                self.change_node(step)
            case "foreign":
                self.change_foreign(step)
            case "trial":
                self.marks.append(self.state.mark())
            case "end" if self.marks:
                (self.state.keep if step.odd else self.state.roll_back)(self.marks.pop())

    def asked(self, step: Step) -> Workload:
        known = self.state.workloads
        return known[sorted(known)[step.workload % len(known)]]

    def waiting(self, workload: Workload) -> PodId | None:
        """Return a pod without a place."""
        run = self.state.runs.get(workload.name)
        placed = run.pods if run else {}
        return next((pod for pod in workload.pods() if pod not in placed), None)

    def take(self, workload: Workload, pod: PodId, spot: Spot) -> None:
        kind = WorkloadStarted if spot.now else WorkloadReserved
        places = (Placement(pod, spot.node, spot.share),)
        self.state.apply(kind(workload=workload.name, placements=places, at_ms=0))

    def force(self, step: Step) -> None:
        """Place a pod whether or not there is room: facts are facts."""
        workload = self.asked(step)
        pod = self.waiting(workload)
        if pod is not None:
            devices = (step.ordinal,) if step.odd else (0, 1)
            is_share = workload.pod_sets[0].gpu_share is not None
            share = DeviceShare(devices=devices, part_e9=600_000_000) if is_share else None
            self.take(workload, pod, Spot(step.node.name, share, step.odd))

    def give_up(self, step: Step) -> None:
        workload = self.asked(step)
        pod = numbered_pod("main", step.ordinal)
        run = self.state.runs.get(workload.name)
        if run is None or pod not in run.pods:
            return
        if step.verb == "stop":
            self.state.apply(WorkloadStopped(workload=workload.name, pods=(pod,)))
        elif step.verb == "displace" and run.pods[pod].phase != "leaving":
            self.state.apply(WorkloadDisplaced(workload=workload.name, pods=(pod,)))
        elif run.pods[pod].phase == "running":
            self.state.apply(WorkloadLeaving(workload=workload.name, pods=(pod,)))

    def depart(self, step: Step) -> None:
        name, pod = self.asked(step).name, numbered_pod("main", step.ordinal)
        if self.state.books.is_departing((name, pod)):
            self.state.apply(WorkloadDeparted(workload=name, pods=(pod,)))

    def rewrite(self, step: Step) -> None:
        """Change what a workload asks for while it runs, or put another in its place."""
        old = self.asked(step)
        new = _workload(old.name, step.pods)
        if step.odd:
            self.state.apply(WorkloadChanged(new))
        else:
            self.state.apply(WorkloadRemoved(old.name))
            self.state.apply(WorkloadAdded(new))

    def change_node(self, step: Step) -> None:
        if step.node.name not in self.state.nodes:
            self.state.apply(NodeAdded(step.node))
        elif step.odd:
            self.state.apply(NodeChanged(step.node))
        else:
            self.state.apply(NodeRemoved(step.node.name))

    def change_foreign(self, step: Step) -> None:
        """Let a pod of another scheduler come, change, be elsewhere, or go."""
        if step.odd and step.foreign.id in self.state.books.foreign:
            self.state.apply(ForeignPodRemoved(step.foreign.id))
        else:
            self.state.apply(ForeignPodChanged(step.foreign))


def _workload(name: str, pods: PodSet) -> Workload:
    return Workload(
        name=WorkloadName(name), queue=QueueName("q"), pod_sets=PodSets((pods,)), min_count=1
    )
