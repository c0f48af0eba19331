"""What is remembered about pod affinities equals looking at every pod, whatever happens."""

from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.events import (
    CatalogueChanged,
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
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.node import ForeignPod
from fairlead.model.workload import numbered_pod
from fairlead.placement import pod_affinity
from fairlead.placement.pod_affinity import PodAffinity
from tests.placement.affinity_world import foreign, node, state_of, workload
from tests.placement.reference_pod_affinity import is_allowed
from tests.scale_examples import scale_examples

NAMES = ["n1", "n2", "n3"]
PODS = ["p", "q", "r", "s"]

node_labels = st.fixed_dictionaries(
    {},
    optional={
        "zone": st.sampled_from("ab"),
        "host": st.sampled_from("xyz"),
        "taint": st.just("gpu"),
    },
)
terms = st.builds(
    "{}/{}@{}".format,
    st.sampled_from(["zone", "host"]),
    st.sampled_from(
        ["app=a", "app=b", "tier=a", "app=b|a", "app!=a", "app!=b,tier=a", "*", "none"]
    ),
    st.sampled_from(["ns", "other", "ns+other", "*", "team=x"]),
)
some_terms = st.lists(terms, max_size=2).map(lambda found: ";".join(found) or "-")
spreads = st.builds(
    "{}/{}/{}{}".format,
    st.sampled_from(["zone", "host"]),
    st.integers(1, 2),
    st.sampled_from(["app=a", "app=b|a", "app!=b", "*", "none"]),
    st.sampled_from(["", "", "@min=2", "@min=3", "@taints", "@all"]),
)
some_spreads = st.just("-") | st.lists(spreads, min_size=1, max_size=2).map(";".join)
facts = st.fixed_dictionaries(
    {
        "labels": st.sampled_from(["-", "app=a", "app=b", "app=a,tier=a"]),
        "near": some_terms,
        "apart": some_terms,
        "spread": some_spreads,
        "where": st.sampled_from(["-", "-", "zone=a"]),
        "namespace": st.sampled_from(["ns", "other"]),
    }
)
strangers = st.builds(
    lambda row, on, name, is_leaving: replace(foreign(row, on, name), leaving=is_leaving),
    facts,
    st.sampled_from([*NAMES, "unknown"]),
    st.sampled_from(["f", "g", "h"]),
    st.booleans(),
)


class AffinityMachine(RuleBasedStateMachine):
    """Random events and trials; one judge follows them, another is made anew for each question."""

    @initialize(
        nodes=st.lists(node_labels, min_size=3, max_size=3),
        pods=st.lists(facts),
        foreign=st.lists(strangers, max_size=4),
    )
    def begin(
        self,
        nodes: list[dict[str, str]],
        pods: list[dict[str, str]],
        foreign: list[ForeignPod],
    ) -> None:
        self.state = state_of("node labels")
        self.judge = PodAffinity(self.state)
        self.marks: list[Mark] = []
        for name, labels in zip(NAMES, nodes, strict=True):
            self.state.apply(NodeAdded(node(name, labels)))
        for each in foreign:
            self.state.apply(ForeignPodChanged(each))
        for name, row in zip(PODS, pods, strict=False):
            self.state.apply(WorkloadAdded(workload(name, row, count=2)))

    @rule(
        pod=st.sampled_from(PODS),
        ordinal=st.integers(0, 1),
        on=st.sampled_from(NAMES),
        is_reserved=st.booleans(),
    )
    def place_or_stop(self, pod: str, ordinal: int, on: str, is_reserved: bool) -> None:
        name, which = WorkloadName(pod), numbered_pod("main", ordinal)
        if name not in self.state.workloads:
            return
        run = self.state.runs.get(name)
        if run is None or which not in run.pods:
            place = (Placement(which, on),)
            kind = WorkloadReserved if is_reserved else WorkloadStarted
            self.state.apply(kind(workload=name, placements=place, at_ms=0))
        elif run.pods[which].phase == "running" and on == "n1":
            self.state.apply(WorkloadLeaving(workload=name, pods=(which,)))
        elif run.pods[which].phase == "running" and on == "n2":
            self.state.apply(WorkloadDisplaced(workload=name, pods=(which,)))
        else:
            self.state.apply(WorkloadStopped(workload=name, pods=(which,)))

    @rule(pod=st.sampled_from(PODS), ordinal=st.integers(0, 1))
    def depart(self, pod: str, ordinal: int) -> None:
        name, which = WorkloadName(pod), numbered_pod("main", ordinal)
        if self.state.books.is_departing((name, which)):
            self.state.apply(WorkloadDeparted(workload=name, pods=(which,)))

    @rule(pod=st.sampled_from(PODS), row=facts)
    def change_a_workload(self, pod: str, row: dict[str, str]) -> None:
        new = workload(pod, row, count=2)
        is_known = new.name in self.state.workloads
        self.state.apply(WorkloadChanged(new) if is_known else WorkloadAdded(new))

    @rule(name=st.sampled_from(NAMES), labels=st.none() | node_labels)
    def change_a_node(self, name: str, labels: dict[str, str] | None) -> None:
        is_known = name in self.state.nodes
        if labels is None:
            if is_known:
                self.state.apply(NodeRemoved(name))
            return
        new = node(name, labels)
        self.state.apply(NodeChanged(new) if is_known else NodeAdded(new))

    @rule(pod=strangers, is_going=st.booleans())
    def change_a_foreign_pod(self, pod: ForeignPod, is_going: bool) -> None:
        if is_going and pod.id in self.state.books.foreign:
            self.state.apply(ForeignPodRemoved(pod.id))
        else:
            self.state.apply(ForeignPodChanged(pod))

    @rule(team=st.sampled_from("xy"))
    def change_the_namespaces(self, team: str) -> None:
        catalogue = Catalogue(namespaces={"ns": {"team": team}, "other": {"team": "x"}})
        self.state.apply(CatalogueChanged(catalogue))

    @rule()
    def begin_a_trial(self) -> None:
        self.marks.append(self.state.mark())

    @rule(keep=st.booleans())
    def end_a_trial(self, keep: bool) -> None:
        if self.marks:
            mark = self.marks.pop()
            if keep:
                self.state.keep(mark)
            else:
                self.state.roll_back(mark)

    @invariant()
    def equals_looking_at_every_pod(self) -> None:
        fresh = PodAffinity(self.state)
        for asked in self.state.workloads.values():
            around, anew = self.judge.around(asked, 0), fresh.around(asked, 0)
            for each in self.state.nodes.values():
                told = around.defect(each)
                assert told == anew.defect(each)
                later = is_allowed(self.state, asked, 0, each, "later")
                now = is_allowed(self.state, asked, 0, each, "now")
                assert (told is None, around.holds_now(each)) == (later, now)
                assert anew.holds_now(each) == now
                assert not around.allow_all or (now and later)


class ForgetfulMachine(AffinityMachine):
    """The same where hardly anything may be remembered."""

    def __init__(self) -> None:
        super().__init__()
        self._forgetting = mock.patch.object(pod_affinity, "_SPARE", 1)
        self._forgetting.start()

    def teardown(self) -> None:
        self._forgetting.stop()


TestAffinity = AffinityMachine.TestCase
TestAffinity.settings = settings(
    max_examples=scale_examples(60), stateful_step_count=25, deadline=None
)
TestForgetting = ForgetfulMachine.TestCase
TestForgetting.settings = settings(
    max_examples=scale_examples(30), stateful_step_count=20, deadline=None
)
