"""Amounts by name become vectors on the resources of a state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.core.node_amounts import amounts_on, model_node
from fairlead.manifest.core.objects import NodeObject
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Source, read_bytes


def source() -> Source:
    return read_bytes(b"{kind: Pod}", "pod.yaml", Findings())[0].source


amounts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9))


@given(st.lists(amounts, max_size=4))
def test_every_amount_finds_its_place_on_the_sorted_union(maps: list[dict[str, int]]) -> None:
    resources = tuple(sorted(set().union(*maps)))
    for each in maps:
        vector = amounts_on(resources, each)
        assert {n: a for n, a in zip(resources, vector, strict=True) if a} == {
            n: a for n, a in each.items() if a
        }


def test_an_amount_that_has_no_place_is_a_defect() -> None:
    with pytest.raises(AssertionError):
        amounts_on(("cpu",), {"memory": 1})
    assert amounts_on(("cpu",), {"memory": 0}) == (0,)


def test_a_node_keeps_its_size_and_what_filters_look_at() -> None:
    node = NodeObject(
        source=source(), name="a", allocatable={"cpu": 8}, labels={"zone": "x"}, gpu_memory_mib=7
    )
    found = model_node(node, ("cpu", "gpu"))
    assert found.allocatable == (8, 0)
    assert (found.labels["zone"], found.gpu_memory_mib, found.ready) == ("x", 7, True)


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
    assert model_node(node, ("cpu",)).labels == expected
