"""Of two objects that are the same thing in two API groups one counts, whatever became of them."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.manifest.translate.cluster_objects import Value, again, elastic_group, elastic_quota, pod
from tests.manifest.translate.watched_world import World
from tests.scale_examples import scale_examples

APIS: Final = ("scheduling.x-k8s.io/v1alpha1", "scheduling.sigs.k8s.io/v1alpha1")
MEMBERS: Final = [pod(name, scheduler="default-scheduler", group="g") for name in "pq"]


def quota(api: str, cpu: str) -> Value:
    value = {**elastic_quota(cpu=cpu), "apiVersion": api}
    value["metadata"]["uid"] = api
    return value


def group(api: str, least: object) -> Value:
    value = {**elastic_group("g"), "apiVersion": api, "spec": {"minMember": least}}
    value["metadata"]["uid"] = api
    return value


def least(world: World) -> list[int | None]:
    return [each.guaranteed[0] for each in world.translator.state.queues.values()]


def without_quota(*values: Value) -> World:
    world = World("elastic-quota")
    world.relist("scheduling.x-k8s.io", "ElasticQuota", [])
    world.see(*values)
    return world


@pytest.mark.parametrize("api", APIS)
def test_a_quota_that_was_never_valid_is_in_no_place(api: str) -> None:
    """The quota of 7 CPUs counts beside it, and is gone when it is removed."""
    (other,) = set(APIS) - {api}
    world, valid, broken = without_quota(), quota(other, "7"), quota(api, "many")
    world.see(valid, broken)
    assert (least(world), world.told()) == ([7000], ["bad-quantity"])
    world.lose(valid)
    assert (least(world), world.told()) == ([], ["bad-quantity"])
    world.lose(broken)
    assert (least(world), world.told()) == ([], [])


def test_a_group_that_is_invalid_is_so_when_the_other_is_gone() -> None:
    current, old = (group(api, 2) for api in APIS)
    world = without_quota(*MEMBERS)
    world.see(current, old, again(old, spec={"minMember": "two"}))
    assert world.waits() == {}
    world.lose(current)
    assert world.waits() == {"lab/podgroup/g": "InvalidObject"}
    world.see(again(old))
    assert (world.waits(), world.told()) == ({}, [])


Act = tuple[int, str]
ACTS: Final = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.sampled_from(["1", "2", "broken", "gone"])), max_size=10
)


@pytest.mark.parametrize("make", [quota, group])
@settings(max_examples=scale_examples(60), deadline=None)
@given(acts=ACTS, is_turned=st.booleans())
def test_what_counts_depends_on_the_objects_alone(
    make: Callable[[str, Any], Value], acts: list[Act], is_turned: bool
) -> None:
    """Of each object its last valid version and its latest one, and either object first."""
    world, known = without_quota(*MEMBERS), dict[int, list[Value]]()
    for number, (which, what) in enumerate(acts):
        if what == "gone":
            for value in known.pop(which, [])[-1:]:
                world.lose(value)
            continue
        uid = known[which][0]["metadata"]["uid"] if which in known else f"{which}-{number}"
        amount: object = int(what) if make is group and what != "broken" else what
        value = again(make(APIS[which], amount), metadata={"uid": uid})
        valid = [each for each in known.get(which, []) if _is_valid(each)][-1:]
        known[which] = [*valid, value] if what == "broken" else [value]
        world.see(value)
    fresh = without_quota(*MEMBERS)
    for which in sorted(known, reverse=is_turned):
        fresh.see(*known[which])
    assert _shown(world) == _shown(fresh)


def _is_valid(value: Value) -> bool:
    return "broken" not in str(value["spec"])


def _shown(world: World) -> object:
    return least(world), world.pods(), world.waits(), sorted(world.told())
