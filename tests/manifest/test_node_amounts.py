"""Amounts by name become vectors, and what other pods hold is kept apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.core.node_amounts import amounts_on, held_by_node, model_node, resource_names
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import NodeObject, PodObject
from fairlead.manifest.text.documents import Source, read_bytes
from fairlead.model.foreign_pod import ForeignPod
from fairlead.model.workload import ANYWHERE


def source() -> Source:
    return read_bytes(b"{kind: Pod}", "pod.yaml", Findings())[0].source


def pod(
    cores: int, node: str | None, phase: str = "Running", *, leaving: bool = False
) -> PodObject:
    return PodObject(
        source=source(),
        namespace="ns",
        name="p",
        labels={},
        annotations={},
        scheduler="other",
        requests={"cpu": cores},
        constraints=ANYWHERE,
        node=node,
        phase=phase,
        terminating=leaving,
    )


amounts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9))


@given(st.lists(amounts, max_size=4))
def test_every_amount_finds_its_place_on_the_sorted_union(maps: list[dict[str, int]]) -> None:
    resources = resource_names(maps)
    assert resources == tuple(sorted(set().union(*maps)))
    for each in maps:
        vector = amounts_on(resources, each)
        assert {n: a for n, a in zip(resources, vector, strict=True) if a} == {
            n: a for n, a in each.items() if a
        }


def test_an_amount_that_has_no_place_is_a_defect() -> None:
    with pytest.raises(AssertionError):
        amounts_on(("cpu",), {"memory": 1})
    assert amounts_on(("cpu",), {"memory": 0}) == (0,)


def test_pods_hold_their_node_until_they_are_finished() -> None:
    pods = [
        pod(1, "a"),
        pod(2, "a", leaving=True),
        pod(4, "a", "Succeeded"),
        pod(8, "a", "Failed"),
        pod(16, None),
        pod(32, "b", "Pending"),
    ]
    assert held_by_node(pods, ("cpu", "gpu")) == {"a": (3, 0), "b": (32, 0)}  # 1 + 2; 32


def test_a_node_offers_what_others_leave() -> None:
    daemon = ForeignPod(namespace="kube-system", labels=(("app", "dns"),))
    node = NodeObject(
        source=source(), name="a", allocatable={"cpu": 8}, labels={"zone": "x"}, gpu_memory_mib=7
    )
    found = model_node(node, ("cpu", "gpu"), occupied={"a": (3, 0)}, foreign={"a": (daemon,)})
    assert (found.allocatable, found.occupied, found.offered()) == ((8, 0), (3, 0), (5, 0))
    assert (found.labels["zone"], found.gpu_memory_mib, found.ready) == ("x", 7, True)
    assert found.foreign == (daemon,)
    alone = model_node(node, ("cpu",), occupied={}, foreign={"b": (daemon,)})
    assert (alone.occupied, alone.foreign) == ((0,), ())


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, {"kubernetes.io/hostname": "a"}),
        ({"zone": "x"}, {"kubernetes.io/hostname": "a", "zone": "x"}),
        ({"kubernetes.io/hostname": "host-7"}, {"kubernetes.io/hostname": "host-7"}),
    ],
)
def test_a_node_is_labelled_with_its_name_unless_it_says_another_host(
    written: dict[str, str], expected: dict[str, str]
) -> None:
    node = NodeObject(source=source(), name="a", allocatable={}, labels=written)
    assert model_node(node, ("cpu",), occupied={}, foreign={}).labels == expected
