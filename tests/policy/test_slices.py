"""Slices of a plan in a row are the whole plan, under all rules and in both modes."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.events import Event, MemoryChanged, NodeAdded, QueueChanged, WorkloadAdded
from fairlead.model.plan import Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodConstraints, PodSet, PodSets
from fairlead.policy.contract import Settings
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.elastic_quota import random_world as elastic
from tests.policy.elastic_quota.plan_world import cluster as elastic_cluster
from tests.policy.kai import random_worlds as kai
from tests.policy.kai.actions.test_look_ahead import world as kai_world
from tests.policy.kueue.incremental.test_state import LargerHistory
from tests.policy.kueue.plan_world import NOW_MS
from tests.policy.kueue.plan_world import cluster as kueue_cluster
from tests.policy.kueue.random_plan_world import PlanWorld, Row, plan_worlds
from tests.policy.random_holds import random_holds
from tests.policy.slices import check_slices, slices
from tests.scale_examples import scale_examples

seeds = st.integers(0, 2**40)
mosts = st.integers(1, 4)


def roomy(events: list[Event], chance: Random) -> list[Event]:
    """Return *events* mostly with much room, so that most find a place; else as they are."""
    if chance.random() < 0.2:
        return events
    odd = chance.choice((0.0, 0.0, 0.1))
    plain = [each for each in events if odd or not isinstance(each, MemoryChanged)]
    return [each if chance.random() < odd else _roomy(each) for each in plain]


def _roomy(event: Event) -> Event:
    match event:
        case NodeAdded(node):
            size = tuple(amount * 8 for amount in node.allocatable)
            return NodeAdded(replace(node, allocatable=size, taints=()))
        case QueueChanged(queue):
            least = tuple(amount and amount * 20 for amount in queue.guaranteed)
            no_limit = tuple(None for _ in queue.ceiling)
            return QueueChanged(replace(queue, ceiling=no_limit, guaranteed=least))
        case WorkloadAdded(workload):
            own = workload.extension
            if isinstance(own, ElasticPods):
                own = replace(own, min_resources=None)
            sets = PodSets(map(_plain, workload.pod_sets))
            return WorkloadAdded(replace(workload, pod_sets=sets, extension=own))
        case _:
            return event


def _plain(pods: PodSet) -> PodSet:
    where = PodConstraints(node_selector=pods.constraints.node_selector)
    return replace(pods, gpu_share=None, constraints=where)


@settings(max_examples=scale_examples(60), deadline=None)
@given(events=kai.worlds(), faithful=st.booleans(), most=mosts, seed=seeds)
def test_under_kais_rules(events: list[Event], faithful: bool, most: int, seed: int) -> None:
    chance = Random(seed)
    state = kai.build(roomy(events, chance))
    held = random_holds(chance, state)
    check_slices(state, KaiSettings(faithful=faithful), 0, most, held)


@settings(max_examples=scale_examples(60), deadline=None)
@given(events=elastic.worlds(), chosen=elastic.random_settings, most=mosts, seed=seeds)
def test_under_elastic_quotas(
    events: list[Event], chosen: ElasticQuotaSettings, most: int, seed: int
) -> None:
    chance = Random(seed)
    state = elastic.build(roomy(events, chance))
    held = random_holds(chance, state)
    check_slices(state, chosen, elastic.NOW_MS, most, held)


@settings(max_examples=scale_examples(60), deadline=None)
@given(world=plan_worlds(), most=mosts, seed=seeds)
def test_under_kueues_rules(world: PlanWorld, most: int, seed: int) -> None:
    chance = Random(seed)
    if chance.random() < 0.8:
        world = with_much_quota(world, chance)
    state = world.state()
    held = random_holds(chance, state)
    check_slices(state, world.settings, NOW_MS, most, held)


def with_much_quota(world: PlanWorld, chance: Random) -> PlanWorld:
    """Return *world* with ten times the quota in most queues, and mostly one flavor for each."""
    rows = [
        row | {"quota": ",".join(str(30 + int(each)) for each in row["quota"].split(","))}
        if chance.random() < 0.9
        else row
        for row in world.queues
    ]
    return world._replace(queues=tuple(rows))


class RoomyHistory(LargerHistory):
    """A cluster that a policy can follow, with quota for nearly all who come."""

    at_once = (9, 20, 20)

    def _node(self, name: str, parent: str) -> Row:
        row = super()._node(name, parent)
        quota = [str(100 + int(each)) for each in row["quota"].split(",")]
        return row | {"quota": ",".join(quota)}


@settings(max_examples=scale_examples(15), deadline=None)
@given(seed=seeds, faithful=st.booleans(), most=mosts)
def test_under_kueues_rules_where_the_state_is_followed(
    seed: int, faithful: bool, most: int
) -> None:
    history = RoomyHistory(seed, faithful=faithful)
    for _ in range(4):
        history.step()
        check_slices(history.state, history.settings, history.now_ms, most)
        history.plan()


def test_ten_alike_make_four_slices_of_three() -> None:
    """In our own mode and in faithful mode; 3 + 3 + 3 + 1."""
    assert _sizes(_kai_of_ten(), KaiSettings(), 0) == [3, 3, 3, 1]
    assert _sizes(_kai_of_ten(), KaiSettings(faithful=True), 0) == [3, 3, 3, 1]
    table = "name of asks\n" + "\n".join(f"p{at} a 1" for at in range(10))
    state = elastic_cluster("of min\na 10", "name has\nn1 6\nn2 6", table)
    assert _sizes(state, ElasticQuotaSettings(), elastic.NOW_MS) == [3, 3, 3, 1]
    assert _sizes(state, FAITHFUL, elastic.NOW_MS) == [3, 3, 3, 1]
    table = "name queue asks created\n" + "\n".join(f"w{at} q 1 {at}" for at in range(10))
    state = kueue_cluster("name parent quota\nq - 10", table)
    assert _sizes(state, KueueSettings(), NOW_MS) == [3, 3, 3, 1]
    assert _sizes(state, KueueSettings(faithful=True), NOW_MS) == [3, 3, 3, 1]


def _kai_of_ten() -> ClusterState:
    table = "job queue pods min gpu priority at\n"
    table += "\n".join(f"j{at} q 1 1 1 50 -" for at in range(10))
    return kai_world("n0=6 n1=6", "q=0", table)


def _sizes(state: ClusterState, chosen: Settings, now_ms: int) -> list[int]:
    assert check_slices(state, chosen, now_ms, 3) == 4
    return [
        sum(len(each.placements) for each in plan.decisions if isinstance(each, Start))
        for plan in slices(state, chosen, now_ms, 3)
    ]


def test_a_gang_is_not_split() -> None:
    """J0 starts 4 pods at once; after them 3 are enough for a slice, so it ends."""
    state = kai_world(
        "n0=8",
        "q=0",
        """
        job  queue  pods  min  gpu  priority  at
        j0   q      4     4    1    50        -
        j1   q      1     1    1    50        -
        """,
    )
    sizes = [
        [len(each.placements) for each in plan.decisions if isinstance(each, Start)]
        for plan in slices(state, KaiSettings(), 0, 3)
    ]
    assert sizes == [[4], [1]]


def test_a_plan_is_whole_where_one_who_waits_finds_no_room() -> None:
    """9 GPUs for 10: the last may claim, so that nobody knows yet who keeps its place."""
    table = "job queue pods min gpu priority at\n"
    table += "\n".join(f"j{at} q 1 1 1 50 -" for at in range(10))
    state = kai_world("n0=9", "q=0", table)
    assert check_slices(state, KaiSettings(), 0, 3) == 1
