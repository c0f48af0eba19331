"""A node refuses a pod for what the node is; the first defect is the one that is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.node import Node
from fairlead.model.selector import Effect, LabelRequirement, NodeTerm, Taint, Toleration
from fairlead.model.workload import ANYWHERE, PodConstraints, VolumeNeeds
from fairlead.placement.node_filters import VolumeChecks, node_defect

EFFECTS: dict[str, Effect] = {
    "NoSchedule": "NoSchedule",
    "PreferNoSchedule": "PreferNoSchedule",
    "NoExecute": "NoExecute",
}
CORDON = "node.kubernetes.io/unschedulable"


def node(
    facts: str = "", *, taints: tuple[Taint, ...] = (), labels: dict[str, str] | None = None
) -> Node:
    return Node(
        name="n1",
        allocatable=(0,),
        labels=labels or {},
        taints=taints,
        ready="unready" not in facts,
        cordoned="cordoned" in facts,
    )


def taint(text: str) -> Taint:
    """Read ``key=value:Effect``."""
    name, _, effect = text.partition(":")
    key, _, value = name.partition("=")
    return Taint(key=key, value=value, effect=EFFECTS[effect])


def toleration(text: str) -> Toleration:
    """Read ``key=value:Effect``; without value any value, without effect any effect."""
    name, _, effect = text.partition(":")
    key, equals, value = name.partition("=")
    return Toleration(
        key="" if key == "*" else key,
        operator="Equal" if equals else "Exists",
        value=value,
        effect=EFFECTS[effect] if effect else None,
    )


def tolerating(*texts: str) -> PodConstraints:
    return PodConstraints(tolerations=tuple(map(toleration, texts)))


#   taints of the node                         tolerations               told about
TAINTS = """
    -                                          -                         -
    dedicated=ml:NoSchedule                    -                         dedicated=ml:NoSchedule
    dedicated=ml:NoExecute                     -                         dedicated=ml:NoExecute
    dedicated:NoSchedule                       -                         dedicated:NoSchedule
    dedicated=ml:PreferNoSchedule              -                         -
    dedicated=ml:NoSchedule                    dedicated=ml:NoSchedule   -
    dedicated=ml:NoSchedule                    dedicated=ml              -
    dedicated=ml:NoSchedule                    dedicated                 -
    dedicated=ml:NoSchedule                    *                         -
    dedicated=ml:NoSchedule                    dedicated=web             dedicated=ml:NoSchedule
    dedicated=ml:NoSchedule                    dedicated=ml:NoExecute    dedicated=ml:NoSchedule
    a:PreferNoSchedule,b:NoSchedule            a                         b:NoSchedule
    a:NoSchedule,b:NoExecute                   a                         b:NoExecute
    a:NoSchedule,b:NoExecute                   b                         a:NoSchedule
    a:NoSchedule,b:NoExecute                   a,b                       -
    a:NoSchedule,a:NoExecute                   a:NoSchedule              a:NoExecute
"""


@pytest.mark.parametrize("row", TAINTS.strip().splitlines())
def test_a_taint_keeps_off_who_does_not_tolerate_it(row: str) -> None:
    taints, tolerations, told = row.split()
    found = node_defect(
        node(taints=tuple(taint(each) for each in taints.split(",") if each != "-")),
        tolerating(*(each for each in tolerations.split(",") if each != "-")),
    )
    assert found == (None if told == "-" else f"have the taint {told}")


#   tolerations             a cordoned node takes the pod
CORDONS = f"""
    -                       no
    {CORDON}:NoSchedule     yes
    {CORDON}                yes
    {CORDON}:NoExecute      no
    *                       yes
    *:NoExecute             no
    other                   no
"""


@pytest.mark.parametrize("row", CORDONS.strip().splitlines())
def test_a_cordon_is_a_taint_that_can_be_tolerated(row: str) -> None:
    text, takes = row.split()
    constraints = ANYWHERE if text == "-" else tolerating(text)
    assert node_defect(node("cordoned"), constraints) == (
        None if takes == "yes" else "are cordoned"
    )


def test_no_toleration_makes_a_node_ready() -> None:
    assert node_defect(node("unready"), tolerating("*")) == "are not ready"


def test_every_label_of_the_node_selector_must_be_there() -> None:
    constraints = PodConstraints(node_selector=(("disk", "ssd"), ("zone", "a")))
    refusal = "do not match the node selector"
    assert node_defect(node(labels={"disk": "ssd", "zone": "a", "x": "y"}), constraints) is None
    assert node_defect(node(labels={"disk": "ssd", "zone": "b"}), constraints) == refusal
    assert node_defect(node(labels={"disk": "ssd"}), constraints) == refusal


def test_one_term_of_the_node_affinity_is_enough_but_none_at_all_matches_no_node() -> None:
    in_a = NodeTerm(labels=(LabelRequirement(key="zone", operator="In", values=("a",)),))
    named = NodeTerm(names=(LabelRequirement(key="metadata.name", operator="In", values=("n1",)),))
    refusal = "do not match the node affinity"
    in_b = node(labels={"zone": "b"})
    assert node_defect(in_b, PodConstraints(node_terms=(in_a,))) == refusal
    assert node_defect(in_b, PodConstraints(node_terms=(in_a, named))) is None
    assert node_defect(in_b, PodConstraints(node_terms=())) == refusal
    assert node_defect(in_b, PodConstraints(node_terms=None)) is None


def test_the_first_defect_is_told() -> None:
    """From a node with every defect, mend one after the other."""
    bad = NodeTerm(labels=(LabelRequirement(key="zone", operator="In", values=("b",)),))
    constraints = PodConstraints(node_selector=(("disk", "ssd"),), node_terms=(bad,))
    taints = (taint("dedicated=ml:NoSchedule"),)
    steps = [
        node("unready cordoned", taints=taints),
        node("cordoned", taints=taints),
        node(taints=taints),
        node(taints=taints, labels={"disk": "ssd"}),
        node(taints=taints, labels={"disk": "ssd", "zone": "b"}),
        node(labels={"disk": "ssd", "zone": "b"}),
    ]
    assert [node_defect(each, constraints) for each in steps] == [
        "are not ready",
        "are cordoned",
        "do not match the node selector",
        "do not match the node affinity",
        "have the taint dedicated=ml:NoSchedule",
        None,
    ]


taints = st.builds(
    Taint,
    key=st.sampled_from(["a", "b", CORDON]),
    value=st.sampled_from(["", "x"]),
    effect=st.sampled_from(list(EFFECTS.values())),
)
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(["", "a", "b", CORDON]),
    operator=st.sampled_from(["Equal", "Exists"]),
    value=st.sampled_from(["", "x"]),
    effect=st.sampled_from([None, *EFFECTS.values()]),
)


@given(
    given_taints=st.lists(taints, max_size=3),
    given_tolerations=st.lists(tolerations, max_size=3),
    cordoned=st.booleans(),
)
def test_a_cordon_refuses_exactly_whom_its_taint_would(
    given_taints: list[Taint], given_tolerations: list[Toleration], cordoned: bool
) -> None:
    """Kubernetes marks a cordoned node twice, with a field and with a taint: either is enough."""
    constraints = PodConstraints(tolerations=tuple(given_tolerations))
    by_field = node("cordoned" if cordoned else "", taints=tuple(given_taints))
    added = [Taint(key=CORDON, effect="NoSchedule")] if cordoned else []
    by_taint = node(taints=(*added, *given_taints))
    refusals = [node_defect(each, constraints) for each in (by_field, by_taint)]
    assert (refusals[0] is None) == (refusals[1] is None)


@given(given_taints=st.lists(taints, max_size=3), given_tolerations=st.lists(tolerations))
def test_another_toleration_closes_no_node(
    given_taints: list[Taint], given_tolerations: list[Toleration]
) -> None:
    opened = node(taints=tuple(given_taints))
    fewer = PodConstraints(tolerations=tuple(given_tolerations[1:]))
    more = PodConstraints(tolerations=tuple(given_tolerations))
    assert node_defect(opened, fewer) is not None or node_defect(opened, more) is None


ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
FAR, OTHER_ZONE = "are out of reach of a volume", "are in another zone than a volume"


def within(key: str, *values: str) -> NodeTerm:
    return NodeTerm(labels=(LabelRequirement(key=key, operator="In", values=values),))


@pytest.mark.parametrize(
    ("reach", "labels", "told"),
    [
        ((), {}, None),
        (((within("rack", "r1"),),), {"rack": "r1"}, None),
        (((within("rack", "r1"),),), {"rack": "r2"}, FAR),
        (((within("rack", "r1"),),), {}, FAR),
        (((within("rack", "r1"), within("rack", "r2")),), {"rack": "r2"}, None),
        (((within("rack", "r1"),), (within("rack", "r2"),)), {"rack": "r2"}, FAR),  # of both
        (((within("rack", "r1"),), (within("row", "7"),)), {"rack": "r1", "row": "7"}, None),
        (((),), {"rack": "r1"}, FAR),  # an affinity without alternatives matches no node
    ],
)
def test_each_volume_has_to_be_in_reach(
    reach: tuple[tuple[NodeTerm, ...], ...], labels: dict[str, str], told: str | None
) -> None:
    needs = PodConstraints(volumes=VolumeNeeds(reach=reach))
    assert node_defect(node(labels=labels), needs) == told
    assert node_defect(node(labels=labels), needs, "reach") == told


@pytest.mark.parametrize(
    ("zones", "labels", "told"),
    [
        (((ZONE, ("a",)),), {ZONE: "a"}, None),
        (((ZONE, ("a", "b")),), {ZONE: "b"}, None),
        (((ZONE, ("a",)),), {ZONE: "b"}, OTHER_ZONE),
        (((ZONE, ("a",)), (ZONE, ("b",))), {ZONE: "b"}, OTHER_ZONE),  # of two volumes
        (((ZONE, ("a",)),), {}, None),  # a node without zones is in all of them
        (((ZONE, ("a",)),), {REGION: "north"}, None),
        (((REGION, ("north",)), (ZONE, ("a",))), {REGION: "north"}, OTHER_ZONE),
        (((REGION, ("north",)), (ZONE, ("a",))), {REGION: "north", ZONE: "a"}, None),
    ],
)
def test_a_node_with_a_zone_has_to_be_in_those_of_the_volumes(
    zones: tuple[tuple[str, tuple[str, ...]], ...], labels: dict[str, str], told: str | None
) -> None:
    needs = PodConstraints(volumes=VolumeNeeds(zones=zones))
    checks: VolumeChecks = "reach"
    assert node_defect(node(labels=labels), needs) == told
    assert node_defect(node(labels=labels), needs, checks) is None
