"""The pods of a workload by id: those with ids of their own, and those that are only counted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.errors import StateError
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.workload import PodId, PodSet, PodSets, Workload
from tests.model.worlds import state_with
from tests.scale_examples import scale_examples

HUGE = 2**31 - 1


def pod_set(name: str, count: int, *ids: str) -> PodSet:
    pods = tuple(map(PodId, ids))
    return PodSet(name=name, count=count, min_count=0, requests=(1, 1), pod_ids=pods)


names = st.sampled_from(["a", "a-1", "a-1-0", "b", ""])
own_ids = st.lists(st.sampled_from(["a-0", "a-1", "a-1-0", "b-2", "-1", "x"]), max_size=3)
named_sets = st.builds(lambda name, ids: pod_set(name, len(ids), *ids), names, own_ids)
counted_sets = st.builds(pod_set, names, st.integers(0, 12))
ODD_IDS = ["a", "a-", "a-01", "a-٣", "a-²", "a-+1", "a- 1", "a--1", "a-13", "a-" + "9" * 5000, ""]


@settings(max_examples=scale_examples(300))
@given(st.lists(named_sets | counted_sets, max_size=3).map(PodSets))
def test_every_pod_is_found_and_no_other(sets: PodSets) -> None:
    """The plain way is to list all of them."""
    ids = [pod for each in sets for pod in each.ids()]
    assert sets.ids == tuple(ids)
    assert sets.has_distinct_ids == (len(set(ids)) == len(ids))
    for odd in map(PodId, ODD_IDS):
        assert odd not in sets.set_index
        assert odd not in sets.position
        with pytest.raises(KeyError):
            sets.set_index[odd]
    if sets.has_distinct_ids:
        expected = [at for at, each in enumerate(sets) for _ in each.ids()]
        assert all(pod in sets.set_index for pod in ids)
        assert [sets.set_index[pod] for pod in ids] == expected
        assert [sets.position[pod] for pod in ids] == list(range(len(ids)))
        assert sets.in_order(reversed(ids)) == ids


def test_of_very_many_pods_each_is_found() -> None:
    sets = PodSets((pod_set("a", HUGE), pod_set("n", 1, "u1"), pod_set("b", HUGE)))
    last = PodId(f"b-{HUGE - 1}")
    assert [sets.set_index[pod] for pod in (PodId("a-0"), PodId("u1"), last)] == [0, 1, 2]
    assert sets.in_order([last, PodId("u1"), PodId("a-7")]) == ["a-7", "u1", last]
    assert sets.position[last] == HUGE + 1 + HUGE - 1
    assert PodId(f"b-{HUGE}") not in sets.set_index
    assert sets[0].first_ids(2) == ("a-0", "a-1")


@pytest.mark.parametrize(
    "sets",
    [
        [pod_set("a", HUGE), pod_set("a", 1)],
        [pod_set("a", HUGE), pod_set("b", 1, "a-7")],
        [pod_set("a", 1, "u1"), pod_set("b", 1, "u1")],
        [pod_set("a", 2, "u1")],
    ],
)
def test_a_state_refuses_pods_that_it_could_not_tell_apart(sets: list[PodSet]) -> None:
    job = Workload(
        name=WorkloadName("job"), queue=QueueName("q"), pod_sets=PodSets(sets), min_count=1
    )
    with pytest.raises(StateError, match="two pods with one id"):
        state_with(job)
    fine = PodSets((pod_set("a", HUGE), pod_set("b", 1, f"a-{HUGE}")))
    state_with(Workload(name=job.name, queue=job.queue, pod_sets=fine, min_count=1))


def test_a_pod_without_a_name_is_called_by_its_id() -> None:
    """Counted pods may have names, too, as pods of a suite that gives no ids."""
    named = replace(pod_set("n", 1, "u1"), pod_names=("first",))
    counted = replace(pod_set("c", 1), pod_names=("second",))
    sets = PodSets((named, counted, pod_set("a", HUGE), pod_set("m", 1, "u2")))
    job = Workload(name=WorkloadName("job"), queue=QueueName("q"), pod_sets=sets, min_count=1)
    pods = [PodId(each) for each in ("u1", "c-0", "a-5", "u2")]
    assert [job.pod_name(pod) for pod in pods] == ["first", "second", "a-5", "u2"]
