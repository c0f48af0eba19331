"""Which flavors pods could run on: labels, node selectors, affinities, taints and tolerations."""

from typing import Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.node import Node
from fairlead.model.queue import ResourceGroup
from fairlead.model.selector import LabelRequirement, NodeTerm, Operator, Taint, Toleration
from fairlead.model.workload import ANYWHERE, PodConstraints
from fairlead.placement.node_filters import node_defect
from fairlead.policy.kueue.flavors.eligibility import (
    Eligibility,
    UnknownFlavor,
    UnmetLabels,
    UntoleratedTaint,
    eligible_flavors,
)
from fairlead.policy.kueue.workloads import Demand, PendingWorkload
from tests.policy.kueue.cycle_world import demand, flavors_of, read_world
from tests.scale_examples import scale_examples

SPOT = Taint(key="spot", value="yes", effect="NoSchedule")
FLAVORS = {
    "red": ResourceFlavor(name="red", node_labels=(("zone", "r"), ("disk", "fast"))),
    "blue": ResourceFlavor(name="blue", node_labels=(("zone", "b"),)),
    "spot": ResourceFlavor(name="spot", node_labels=(("zone", "b"),), node_taints=(SPOT,)),
    "plain": ResourceFlavor(name="plain"),
}
Keys = Literal["group", "own"]


def judged(names: str, constraints: PodConstraints, keys: Keys = "group") -> Eligibility:
    group = ResourceGroup(resources=("cpu",), flavors=tuple(names.split()))
    return eligible_flavors(group, FLAVORS, constraints, counted_keys=keys)


def wants(*selector: str) -> PodConstraints:
    """A node selector, each entry like ``zone=b``."""
    return PodConstraints(node_selector=tuple((s.split("=")[0], s.split("=")[1]) for s in selector))


def wants_one_of(*terms: str) -> PodConstraints:
    """A node affinity; a term is like ``zone In b c & disk Exists``, or ``name In n1``."""
    return PodConstraints(node_terms=tuple(_term(term) for term in terms))


def _term(text: str) -> NodeTerm:
    conditions = [_condition(part) for part in text.split("&") if part.strip()]
    return NodeTerm(
        labels=tuple(one for one in conditions if one.key != "name"),
        names=tuple(one for one in conditions if one.key == "name"),
    )


def _condition(text: str) -> LabelRequirement:
    key, operator, *values = text.split()
    found: dict[str, Operator] = {
        "In": "In",
        "NotIn": "NotIn",
        "Exists": "Exists",
        "DoesNotExist": "DoesNotExist",
    }
    return LabelRequirement(key=key, operator=found[operator], values=tuple(values))


def tolerates(*tolerations: Toleration) -> PodConstraints:
    return PodConstraints(tolerations=tolerations)


class Case(NamedTuple):
    flavors: str
    constraints: PodConstraints
    eligible: str
    keys: Keys = "group"


CASES = {
    "pods that ask for nothing run on every flavor without taints": Case(
        "red blue plain", ANYWHERE, "red blue plain"
    ),
    "a node selector picks the flavor with that label": Case("red blue", wants("zone=b"), "blue"),
    "no flavor has the value": Case("red blue", wants("zone=g"), ""),
    "a label that no flavor of the group has is left to placement": Case(
        "blue", wants("disk=fast"), "blue"
    ),
    # red has the key disk, so for blue it counts too, and blue has no disk.
    "a label that another flavor of the group has counts": Case(
        "red blue plain", wants("disk=fast"), "red"
    ),
    "the same, where a flavor's own labels alone count": Case(
        "red blue plain", wants("disk=fast"), "red blue plain", "own"
    ),
    "a flavor without labels takes all pods where its own labels alone count": Case(
        "red plain", wants("zone=b"), "plain", "own"
    ),
    "all entries of a node selector must hold": Case(
        "red blue", wants("zone=r", "disk=slow"), "", "group"
    ),
    "an affinity holds if one of its terms does": Case(
        "red blue", wants_one_of("zone In g", "zone In b"), "blue"
    ),
    "all conditions of a term must hold": Case(
        "red blue", wants_one_of("zone In r b & disk In fast"), "red"
    ),
    # The first term speaks of none of the flavors' labels: it may hold on nodes of any of them.
    "a term without a label that counts leaves every flavor open": Case(
        "red blue", wants_one_of("arch In arm", "zone In b"), "red blue"
    ),
    "so does one that stands last": Case(
        "red blue", wants_one_of("zone In b", "arch In arm"), "red blue"
    ),
    "a term on names of nodes alone leaves every flavor open": Case(
        "red blue", wants_one_of("name In n1"), "red blue"
    ),
    "an affinity without terms leaves every flavor open": Case(
        "red blue", wants_one_of(), "red blue"
    ),
    "of a term only the labels that count are judged": Case(
        "red blue", wants_one_of("arch In arm & zone In b & name In n1"), "blue"
    ),
    "a label may be wanted away": Case("red blue", wants_one_of("disk DoesNotExist"), "blue"),
    "a label may be wanted with any value": Case("red blue", wants_one_of("disk Exists"), "red"),
    "a value may be unwanted": Case("red blue", wants_one_of("zone NotIn r"), "blue"),
    "the node selector must hold beside the affinity": Case(
        "red blue", replace(wants_one_of("zone In b r"), node_selector=(("zone", "r"),)), "red"
    ),
    "a taint keeps pods off": Case("blue spot", ANYWHERE, "blue"),
    "who tolerates it passes": Case(
        "blue spot", tolerates(Toleration(key="spot", value="yes")), "blue spot"
    ),
    "a toleration of another value does not help": Case(
        "blue spot", tolerates(Toleration(key="spot", value="no")), "blue"
    ),
    "a toleration of another effect does not help": Case(
        "blue spot", tolerates(Toleration(operator="Exists", effect="NoExecute")), "blue"
    ),
    "a flavor that is not there takes nobody": Case("green blue", ANYWHERE, "blue"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_which_flavors_are_open(case: Case) -> None:
    found = judged(case.flavors, case.constraints, case.keys)
    assert " ".join(found.flavors) == case.eligible
    assert len(found.flavors) + len(found.mismatches) == len(case.flavors.split())


@pytest.mark.parametrize(
    ("effect", "eligible"),
    [("NoSchedule", ()), ("NoExecute", ()), ("PreferNoSchedule", ("hot",))],
)
def test_a_taint_that_only_discourages_keeps_nobody_off(
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"], eligible: tuple[str, ...]
) -> None:
    hot = ResourceFlavor(name="hot", node_taints=(Taint(key="t", effect=effect),))
    group = ResourceGroup(resources=("cpu",), flavors=("hot",))
    assert eligible_flavors(group, {"hot": hot}, ANYWHERE).flavors == eligible


def test_a_flavor_s_own_tolerations_count_as_those_of_the_pods() -> None:
    own = (Toleration(key="spot", operator="Exists"),)
    flavor = replace(FLAVORS["spot"], tolerations=own)
    group = ResourceGroup(resources=("cpu",), flavors=("spot",))
    assert eligible_flavors(group, {"spot": flavor}, ANYWHERE).flavors == ("spot",)


def test_it_tells_what_speaks_against_each_flavor() -> None:
    found = judged("green red spot blue", wants("zone=b"))
    assert found == Eligibility(
        flavors=("blue",),
        mismatches=(
            UnknownFlavor(flavor="green"),
            UnmetLabels(
                flavor="red",
                labels=(("zone", "r"), ("disk", "fast")),
                unmet=(_condition("zone In b"),),
            ),
            UntoleratedTaint(flavor="spot", taint=SPOT),
        ),
    )


def test_of_an_affinity_it_tells_the_first_unmet_condition_of_each_term() -> None:
    found = judged("red blue", wants_one_of("zone In r & disk In slow & disk Exists", "zone In b"))
    assert found.flavors == ("blue",)
    (mismatch,) = found.mismatches
    assert isinstance(mismatch, UnmetLabels)
    assert mismatch.unmet == (_condition("disk In slow"), _condition("zone In b"))


def test_a_taint_is_told_before_a_label() -> None:
    (mismatch,) = judged("spot", wants("zone=r")).mismatches
    assert mismatch == UntoleratedTaint(flavor="spot", taint=SPOT)


def test_the_first_taint_that_is_not_tolerated_is_told() -> None:
    taints = (SPOT, Taint(key="b", effect="NoExecute"), Taint(key="c", effect="NoSchedule"))
    flavor = ResourceFlavor(name="hot", node_taints=taints)
    group = ResourceGroup(resources=("cpu",), flavors=("hot",))
    consent = tolerates(Toleration(key="spot", operator="Exists"))
    (mismatch,) = eligible_flavors(group, {"hot": flavor}, consent).mismatches
    assert mismatch == UntoleratedTaint(flavor="hot", taint=taints[1])


def test_each_resource_group_has_keys_of_its_own() -> None:
    """The key disk counts for red, which has it; not for blue, in whose group no flavor has it.

    Were they one group, blue would be closed to these pods.
    """
    groups = "red: cpu | blue: gpu"
    world = read_world(
        groups,
        """
        name within reclaim parent red/cpu blue/gpu
        q    never  never   -      4       4
        """,
        "",
        """
        name queue asks
        w    q     cpu=1,gpu=1
        """,
    )
    open_flavors = [eligible_flavors(g, FLAVORS, wants("disk=fast")).flavors for g in world.groups]
    assert open_flavors == [("red",), ("blue",)]
    asked = replace(demand("cpu=1,gpu=1"), flavors=open_flavors)
    (found,) = replace(world, heads=(_head(asked),)).nominations()
    assert flavors_of(found) == "cpu=red,gpu=blue"
    closed = replace(asked, flavors=[("red",), ()])
    (found,) = replace(world, heads=(_head(closed),)).nominations()
    assert found.assignment is None


def _head(*demands: Demand) -> PendingWorkload:
    return PendingWorkload(WorkloadName("w"), QueueName("q"), 0, 0, demands)


def test_an_open_flavor_is_taken_only_if_the_pods_could_run_there() -> None:
    """Both have room, and red stands first; the second pod set must not go there."""
    world = read_world(
        "red blue: cpu",
        """
        name within reclaim parent red/cpu blue/cpu
        q    never  never   -      4       4
        """,
        "",
        """
        name queue asks
        w    q     cpu=1
        """,
    )
    picky = [eligible_flavors(g, FLAVORS, wants("zone=b")).flavors for g in world.groups]
    sets = (demand("cpu=1"), replace(demand("cpu=1"), flavors=picky))
    (found,) = replace(world, heads=(_head(*sets),)).nominations()
    assert flavors_of(found) == "cpu=red+cpu=blue"


LABELS = st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), max_size=3)
CONDITIONS = st.builds(
    LabelRequirement,
    key=st.sampled_from("xyzw"),
    operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    values=st.sampled_from([("1",), ("2",), ("1", "2")]),
)
TERMS = st.none() | st.lists(
    st.builds(NodeTerm, labels=st.lists(CONDITIONS, min_size=1, max_size=3).map(tuple)),
    min_size=1,
    max_size=3,
).map(tuple)
TAINTS = st.lists(
    st.builds(
        Taint,
        key=st.sampled_from("tu"),
        effect=st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
    ),
    max_size=2,
).map(tuple)
CONSTRAINTS = st.builds(
    PodConstraints,
    node_selector=LABELS.map(lambda labels: tuple(labels.items())),
    node_terms=TERMS,
    tolerations=st.lists(
        st.builds(Toleration, key=st.sampled_from("tu"), operator=st.just("Exists")), max_size=2
    ).map(tuple),
)


@settings(max_examples=scale_examples(300))
@given(st.lists(st.tuples(LABELS, TAINTS), min_size=1, max_size=3), CONSTRAINTS)
def test_where_all_keys_count_a_flavor_is_judged_as_a_node_would_be(
    made: list[tuple[dict[str, str], tuple[Taint, ...]]], constraints: PodConstraints
) -> None:
    """A flavor with every key is added, so that no condition is left to placement."""
    all_keys = ResourceFlavor(name="all", node_labels=tuple((key, "1") for key in "xyzw"))
    flavors = {
        f"f{at}": ResourceFlavor(
            name=f"f{at}", node_labels=tuple(labels.items()), node_taints=taints
        )
        for at, (labels, taints) in enumerate(made)
    }
    group = ResourceGroup(resources=("cpu",), flavors=(*flavors, "all"))
    found = eligible_flavors(group, flavors | {"all": all_keys}, constraints)
    for name, (labels, taints) in zip(flavors, made, strict=True):
        node = Node(name=name, allocatable=(), labels=labels, taints=taints)
        assert (name in found.flavors) == (node_defect(node, constraints) is None)


@given(LABELS, CONSTRAINTS, st.sampled_from(["group", "own"]))
def test_what_no_flavor_says_anything_about_closes_none(
    labels: dict[str, str], constraints: PodConstraints, keys: Keys
) -> None:
    """No condition is on a key like those of this flavor."""
    strange = tuple((f"other-{key}", value) for key, value in labels.items())
    group = ResourceGroup(resources=("cpu",), flavors=("f",))
    flavors = {"f": ResourceFlavor(name="f", node_labels=strange)}
    found = eligible_flavors(group, flavors, constraints, counted_keys=keys)
    assert found.flavors == ("f",)
