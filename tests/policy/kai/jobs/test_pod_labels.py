"""Which labels affinity terms look at, as the state changes."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import WorkloadAdded, WorkloadRemoved
from fairlead.model.selector import LabelRequirement, LabelSelector, PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import ANYWHERE, KaiJob, PodConstraints, PodSet, PodSets, Workload
from fairlead.policy.kai.jobs.alike import pod_labels_in_use
from tests.policy.kai.random_worlds import build


def term(label: str) -> PodTerm:
    asked = LabelRequirement(key=label, operator="Exists", values=())
    return PodTerm(
        topology_key="host", selector=LabelSelector(requirements=(asked,)), namespaces=("",)
    )


NEAR_APP = PodConstraints(pod_affinity=(term("app"),))
FAR_FROM_TEAM = PodConstraints(pod_anti_affinity=(term("team"),))


def job(name: str, where: PodConstraints) -> Workload:
    asked = PodSet(name=name, count=1, min_count=1, requests=(0, 0, 1000), constraints=where)
    return Workload(
        name=WorkloadName(name),
        queue=QueueName("a"),
        pod_sets=PodSets((asked,)),
        min_count=1,
        priority=50,
        created_ms=0,
        extension=KaiJob(),
    )


def seen(state: ClusterState) -> tuple[bool, frozenset[str]]:
    """Return what there is to be found, by a look at everybody."""
    wheres = [s.constraints for each in state.workloads.values() for s in each.pod_sets]
    terms = [t for where in wheres for t in (*where.pod_affinity, *where.pod_anti_affinity)]
    selectors = [each.selector for each in terms if each.selector is not None]
    keys = [each.key for selector in selectors for each in selector.requirements]
    return bool(terms), frozenset(keys)


@given(
    st.lists(st.sampled_from([ANYWHERE, ANYWHERE, NEAR_APP, FAR_FROM_TEAM]), max_size=5), st.data()
)
def test_the_labels_in_use_are_those_of_all_terms(
    wheres: list[PodConstraints], data: st.DataObject
) -> None:
    state = build([])
    for at, where in enumerate(wheres):
        state.apply(WorkloadAdded(job(f"j{at}", where)))
        if data.draw(st.booleans()):
            assert pod_labels_in_use(state) == seen(state)
    for name in list(state.workloads):
        with state.trial():
            state.apply(WorkloadRemoved(name))
            assert pod_labels_in_use(state) == seen(state)
        assert pod_labels_in_use(state) == seen(state)
