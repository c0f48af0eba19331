"""The joint search for victims against trying every set of them and all places."""

from collections import Counter
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import WorkloadName
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption import joint_placement
from fairlead.policy.elastic_quota.preemption.cross_node import CrossNodeOutcome, least_disruptive
from fairlead.policy.elastic_quota.preemption.joint_placement import JointPlacement
from fairlead.policy.elastic_quota.preemption.node_search import PodPreemption
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.elastic_quota.plain_cross_node import PlainCrossNode, Pod, World
from tests.policy.elastic_quota.plan_world import NOW_MS, cluster
from tests.scale_examples import scale_examples

MOST_CANDIDATES = 8


@st.composite
def worlds(draw: st.DrawFn, most_pods: int = MOST_CANDIDATES) -> World:
    """Two or three nodes that are mostly full of pods of three namespaces."""
    nodes = {f"n{at}": draw(st.integers(2, 5)) for at in range(draw(st.integers(2, 3)))}
    free = dict(nodes)
    pods = []
    for number in range(draw(st.integers(2, most_pods))):
        node, asks = draw(st.sampled_from(sorted(nodes))), draw(st.integers(1, 3))
        if asks > free[node]:
            continue
        free[node] -= asks
        pods.append(
            Pod(
                name=f"p{number}",
                of=draw(st.sampled_from("abbcc")),
                asks=asks,
                node=node,
                priority=draw(st.integers(0, 2)),
                since=draw(st.integers(1, 4)) * 1000,
                is_covered=draw(st.booleans()),
            )
        )
    return World(
        least={"a": draw(st.integers(0, 9)), "b": draw(st.integers(0, 3)), "c": 1},
        most=draw(st.integers(3, 12)),
        nodes=nodes,
        pods=tuple(pods),
        gang=tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))),
        priority=draw(st.integers(0, 3)),
        allowed=draw(st.integers(0, 1)),
    )


def desk_of(world: World, *, protect_min: bool) -> PlanningContext:
    nodes = "\n".join(["name has", *[f"{name} {has}" for name, has in world.nodes.items()]])
    state = cluster(world.quotas, nodes, world.table, world.budgets)
    return PlanningContext(state, ElasticQuotaSettings(protect_min=protect_min), NOW_MS)


def found_by(context: PlanningContext) -> CrossNodeOutcome | None:
    gang = context.state.workloads[WorkloadName("g")]
    pending_pods = [context.pending_pod(gang, pod) for pod in gang.pods()]
    total = sum(pending.charge[0] for pending in pending_pods)
    return least_disruptive(context, pending_pods, (total,))


@given(world=worlds(), protect_min=st.booleans())
@settings(max_examples=scale_examples(400))
def test_who_is_refused_is_so_at_any_time(world: World, protect_min: bool) -> None:
    """Lost work decides only between ways that there are."""
    context = desk_of(world, protect_min=protect_min)
    found = found_by(context)
    assert not context.time_dependent or (found is not None and found.victims)


@given(world=worlds(), protect_min=st.booleans())
@settings(max_examples=scale_examples(400))
def test_no_set_of_victims_does_less_harm(world: World, protect_min: bool) -> None:
    plain = PlainCrossNode(world)
    found = found_by(desk_of(world, protect_min=protect_min))
    if found is None:
        assert plain.best(protect_min=protect_min) is None
        return
    names = {str(each.key[0]) for each in found.victims}
    victims = [pod for pod in world.pods if pod.name in names]
    assert plain.is_enough(victims)
    assert plain.have_room(found.nodes, victims)
    assert plain.cost(victims) == plain.best(protect_min=protect_min)


@given(world=worlds(), protect_min=st.booleans())
@settings(max_examples=scale_examples(200))
def test_what_one_node_can_do_all_can_do_with_no_more_harm(world: World, protect_min: bool) -> None:
    """Where both find a way for one pod, the joint search does no more harm."""
    world = world._replace(gang=world.gang[:1])
    plain = PlainCrossNode(world)
    context = desk_of(world, protect_min=protect_min)
    gang = context.state.workloads[WorkloadName("g")]
    pending = context.pending_pod(gang, gang.pods()[0])
    violation = context.admission.violation(pending)
    single = PodPreemption(context, pending, violation).best()
    cross_node = found_by(context)
    if single is None or cross_node is None:
        return
    sets = []
    for outcome in (cross_node, single):
        names = {str(each.key[0]) for each in outcome.victims}
        sets.append([pod for pod in world.pods if pod.name in names])
    ranks = [(not plain.keeps_mins(each), plain.cost(each)) for each in sets]
    assert ranks[0] <= ranks[1]


@pytest.mark.parametrize("apart", ["-", "y"], ids=["room", "pods around"])
def test_a_gang_of_1500_finds_its_places(apart: str) -> None:
    """N1 has 1,000 free; b1 has 500 on n2. Nobody of app y is there."""
    state = cluster(
        "of min\na 1500\nb 0",
        "name has\nn1 1000\nn2 500",
        f"name of asks needs on apart\nb1 b 500 1 n2 -\ng a 1500x1 1500 - {apart}",
    )
    context = PlanningContext(state, ElasticQuotaSettings(), NOW_MS)
    found = found_by(context)
    assert found is not None
    assert Counter(found.nodes) == {"n1": 1000, "n2": 500}
    assert [str(each.key[0]) for each in found.victims] == ["b1"]


def test_no_places_are_looked_for_where_one_pod_fits_no_node() -> None:
    state = cluster("of min\na 9", "name has\nn1 4\nn2 4", "name of asks needs\ng a 3x1+1x5 4")
    context = PlanningContext(state, ElasticQuotaSettings(), NOW_MS)
    gang = context.state.workloads[WorkloadName("g")]
    places = JointPlacement(
        context, [context.pending_pod(gang, pod) for pod in gang.pods()], after_termination=True
    )
    with patch.object(joint_placement, "PlacementSearch", side_effect=AssertionError):
        assert places.can_never_fit
        assert places.find(()) is None
