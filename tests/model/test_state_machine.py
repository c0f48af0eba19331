"""Random histories of a cluster: the sums stay true after every step, and trials leave no trace."""

from collections.abc import Callable
from copy import deepcopy

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from msgspec.structs import replace

from fairlead.errors import StateError
from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.device_share import WHOLE_DEVICE_E9, DeviceShare
from fairlead.model.events import (
    CatalogueChanged,
    Event,
    ForeignPodChanged,
    ForeignPodRemoved,
    MemoryChanged,
    NodeAdded,
    NodeChanged,
    NodeRemoved,
    Placement,
    QueueChanged,
    QueueRemoved,
    UsageChanged,
    WorkloadAdded,
    WorkloadBinding,
    WorkloadChanged,
    WorkloadConfirmed,
    WorkloadDeparted,
    WorkloadDisplaced,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadRemoved,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStays,
    WorkloadStopped,
)
from fairlead.model.memory import ElasticMemory, KaiMemory, KueueMemory, Memory
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ElasticPods,
    GpuShare,
    KaiJob,
    KueueWorkload,
    PodId,
    PodSet,
    PodSets,
    Workload,
)
from tests.model.foreign import foreign_pod
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.model.worlds import RESOURCES, node, queue

FLAVORS = ("spot", "fixed")
AXES = QuotaAxes(
    [Axis("cpu"), Axis("gpu"), *(Axis("gpu", flavor) for flavor in FLAVORS)],
    counted_as={"nvidia.com/gpu": "gpu"},
)
NAMES = [f"q{i}" for i in range(6)]
queue_names = st.sampled_from(NAMES)
node_names = st.sampled_from(["n1", "n2", "n3"])
foreign_names = st.sampled_from(["f1", "f2", "f3", "f4"])
amounts = st.integers(0, 5)
EXTENSIONS = (None, KaiJob(), KueueWorkload(local_queue="q"), ElasticPods())
HALF = GpuShare(thousandths=500)
IN_MEMORY = GpuShare(memory_mib=10_000)
shares = st.none() | st.builds(
    DeviceShare,
    devices=st.lists(st.integers(0, 2), unique=True, min_size=1).map(tuple),
    part_e9=st.integers(1, WHOLE_DEVICE_E9),
)


@st.composite
def pod_sets(draw: st.DrawFn, name: str) -> PodSet:
    """Pods that are only counted, or some of a few with names and ids of their own."""
    counted = PodSet(
        name=name,
        count=draw(st.integers(0, 3)),
        min_count=0,
        requests=(draw(amounts), draw(st.sampled_from([0, 1, 5, 250, 1000, 3000]))),
        gpu_share=draw(st.sampled_from([None, HALF, IN_MEMORY])),
        gated=draw(st.booleans()) and draw(st.booleans()),
    )
    if draw(st.booleans()):
        return counted
    names = sorted(draw(st.sets(st.sampled_from("abcde"), max_size=3)))
    ids = tuple(PodId(f"{name}/{each}") for each in names)
    return replace(counted, count=len(names), pod_ids=ids, pod_names=tuple(names))


@st.composite
def workloads(draw: st.DrawFn, name: str) -> Workload:
    sets = [draw(pod_sets(f"set{at}")) for at in range(draw(st.integers(1, 2)))]
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(draw(queue_names)),
        pod_sets=PodSets(sets),
        min_count=1,
        preemptible=draw(st.booleans()),
        active=draw(st.sampled_from([True, True, False])),
        extension=draw(st.sampled_from(EXTENSIONS)),
    )


@st.composite
def memories(draw: st.DrawFn, work: Workload) -> Memory | None:
    """Return a memory that may be about *work*, or about one that was like it once."""
    kind = draw(st.sampled_from([None, KaiMemory, KueueMemory, ElasticMemory]))
    if kind is KaiMemory:
        return KaiMemory(stale_since_ms=draw(st.none() | st.integers(0, 3)))
    if kind is KueueMemory:
        return KueueMemory(
            preempting=draw(st.booleans()), preempted_ms=draw(st.none() | st.integers(0, 3))
        )
    if kind is ElasticMemory:
        own = work.pods()
        pods = draw(st.lists(st.sampled_from(own), unique=True)) if own else []
        nodes = {pod: draw(node_names) for pod in pods}
        return ElasticMemory(nominated=nodes, nominated_ms=5 if nodes else None)
    return None


class ClusterHistory(RuleBasedStateMachine):
    submitted: Bundle[Workload] = Bundle("submitted")

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState(RESOURCES, AXES)
        self.marks: list[tuple[Mark, dict[str, object]]] = []
        self.added = 0
        self.index: dict[str, object] = {}  # what is on each node, as the change log tells it
        self.read_at = 0

    def apply(self, event: Event) -> None:
        """Apply; a refusal must change nothing."""
        before = facts(self.state)
        try:
            self.state.apply(event)
        except StateError:
            assert facts(self.state) == before

    @rule(name=queue_names, parent=st.none() | queue_names)
    def change_queue(self, name: str, parent: str | None) -> None:
        self.apply(QueueChanged(queue(name, parent, axes=len(AXES))))

    @rule(name=queue_names)
    def remove_queue(self, name: str) -> None:
        self.apply(QueueRemoved(QueueName(name)))

    @rule(name=node_names, gpu=amounts, ready=st.booleans(), change=st.booleans())
    def change_node(self, name: str, gpu: int, ready: bool, change: bool) -> None:
        made = node(name, gpu=gpu, ready=ready)
        self.apply(NodeChanged(made) if change else NodeAdded(made))

    @rule(name=node_names)
    def remove_node(self, name: str) -> None:
        self.apply(NodeRemoved(name))

    @rule(
        name=foreign_names,
        on=node_names,
        requests=st.tuples(amounts, amounts) | st.just((1,)),
        leaving=st.booleans(),
        asked_about=st.booleans(),
    )
    def change_foreign_pod(
        self, name: str, on: str, requests: tuple[int, ...], leaving: bool, asked_about: bool
    ) -> None:
        """One comes, changes or is elsewhere; nodes come and go, so that some are not known."""
        pod = foreign_pod(name, on, requests, leaving=leaving, asked_about=asked_about)
        self.apply(ForeignPodChanged(pod))

    @rule(name=foreign_names)
    def remove_foreign_pod(self, name: str) -> None:
        self.apply(ForeignPodRemoved(PodId(name)))

    @rule(target=submitted, data=st.data())
    def submit(self, data: st.DataObject) -> Workload:
        self.added += 1
        made = data.draw(workloads(f"w{self.added}"))
        self.apply(WorkloadAdded(made))
        return made

    @rule(work=submitted, data=st.data())
    def start(self, work: Workload, data: st.DataObject) -> None:
        own = work.pods()
        pods = data.draw(st.lists(st.sampled_from(own), unique=True)) if own else []
        places = tuple(
            Placement(pod, data.draw(st.none() | node_names), data.draw(shares)) for pod in pods
        )
        flavors: tuple[dict[str, str], ...] = ()
        if data.draw(st.booleans()):
            flavor = data.draw(st.sampled_from(FLAVORS))
            flavors = ({"nvidia.com/gpu": flavor},) * len(work.pod_sets)
        kind = data.draw(st.sampled_from([WorkloadStarted, WorkloadBinding, WorkloadReserved]))
        self.apply(kind(workload=work.name, placements=places, flavors=flavors, at_ms=0))

    @rule(work=submitted, data=st.data())
    def confirm(self, work: Workload, data: st.DataObject) -> None:
        run = self.state.runs.get(work.name)
        if run is not None:
            pods = data.draw(st.lists(st.sampled_from(sorted(run.pods)), unique=True, min_size=1))
            self.apply(WorkloadConfirmed(workload=work.name, pods=tuple(pods), at_ms=1))

    @rule(work=submitted, data=st.data())
    def depart(self, work: Workload, data: st.DataObject) -> None:
        own = work.pods()
        if own:
            pods = tuple(data.draw(st.lists(st.sampled_from(own), unique=True, min_size=1)))
            self.apply(WorkloadDeparted(workload=work.name, pods=pods))

    @rule(
        work=submitted,
        data=st.data(),
        kind=st.sampled_from([WorkloadStopped, WorkloadLeaving, WorkloadStays, WorkloadDisplaced]),
    )
    def take_places(self, work: Workload, data: st.DataObject, kind: Callable[..., Event]) -> None:
        run = self.state.runs.get(work.name)
        if run is None:
            return
        pods: tuple[PodId, ...] = tuple(
            data.draw(st.lists(st.sampled_from(sorted(run.pods)), unique=True, min_size=1))
        )
        self.apply(kind(workload=work.name, pods=pods))

    @rule(work=submitted, data=st.data())
    def change(self, work: Workload, data: st.DataObject) -> None:
        self.apply(WorkloadChanged(data.draw(workloads(work.name))))

    @rule(work=submitted, data=st.data())
    def change_memory(self, work: Workload, data: st.DataObject) -> None:
        self.apply(MemoryChanged(work.name, data.draw(memories(work))))

    @rule(usage=st.dictionaries(queue_names, st.tuples(*[amounts] * len(AXES))))
    def change_usage(self, usage: dict[str, tuple[int, ...]]) -> None:
        self.apply(UsageChanged({QueueName(name): used for name, used in usage.items()}))

    @rule(name=st.sampled_from(["a", "b"]))
    def change_catalogue(self, name: str) -> None:
        self.apply(CatalogueChanged(Catalogue(namespaces={name: {}})))

    @rule(work=consumes(submitted))
    def remove(self, work: Workload) -> None:
        self.apply(WorkloadRemoved(work.name))

    @rule(work=consumes(submitted))
    def finish(self, work: Workload) -> None:
        self.apply(WorkloadFinished(work.name))

    @rule()
    def mark(self) -> None:
        if len(self.marks) < 3:
            self.marks.append((self.state.mark(), facts(self.state)))

    @rule(keep=st.booleans(), data=st.data())
    def end_trial(self, keep: bool, data: st.DataObject) -> None:
        if not self.marks:
            return
        place = data.draw(st.integers(0, len(self.marks) - 1))
        mark, known = self.marks[place]
        del self.marks[place:]
        if keep:
            self.state.keep(mark)
        else:
            self.state.roll_back(mark)
            assert facts(self.state) == known

    @rule()
    def read_changes(self) -> None:
        books = self.state.books
        for name in books.changes.since(self.read_at):
            self.index[name] = deepcopy(_known_of(name, self.state))
        self.read_at = books.changes.moment
        with_foreign = [pod.node for pod in books.foreign.values()]
        for name in {*books.nodes, *books.booked(), *with_foreign, *self.index}:
            unknown = _known_of(name, ClusterState(RESOURCES, AXES))
            assert self.index.get(name, unknown) == _known_of(name, self.state)

    @invariant()
    def sums_are_true(self) -> None:
        check_invariants(self.state)


def _known_of(name: str, state: ClusterState) -> object:
    """Return all that the books have of a node."""
    books = state.books
    foreign = sorted(pod.name for pod in books.asked_about(name))
    return books.nodes.get(name), books.use(name), books.occupied(name), foreign


TestClusterHistory = ClusterHistory.TestCase
