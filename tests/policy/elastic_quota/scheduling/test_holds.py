"""What a caller holds after failures, under ElasticQuotas: pods one by one, also of one gang."""

from fairlead.model.axes import WorkloadName
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.policy.elastic_quota.plan_world import NOW_MS, OURS, cluster
from tests.policy.elastic_quota.plan_world import told as told_plan

A1, B1 = WorkloadName("a1"), WorkloadName("b1")


def told(
    state: ClusterState, held: Holds = NOTHING_HELD, settings: ElasticQuotaSettings = OURS
) -> list[str]:
    """Return a plan in a few words, by a policy that knows of other holds from before."""
    policy = ElasticQuotaPolicy(settings)
    policy.plan(state, NOW_MS, held=Holds(workloads=frozenset(state.workloads)))
    planned = policy.plan(state, NOW_MS, held=held)
    assert planned == ElasticQuotaPolicy(settings).plan(state, NOW_MS, held=held)
    check_invariants(state)
    return told_plan(planned)


def test_others_pass_one_that_is_held() -> None:
    """There is 1 for two; a1 is more important."""
    state = cluster("of min\na 1", "name has\nn1 1", "name of asks priority\na1 a 1 9\na2 a 1 0")
    assert told(state)[0] == "start a1 on n1: WithinMin"
    assert told(state, Holds(workloads=frozenset({A1}))) == [
        "wait a1: HeldAfterFailure",
        "start a2 on n1: WithinMin",
    ]


def test_nobody_leaves_for_one_that_is_held() -> None:
    """B borrows 1 of a's min of 1."""
    state = cluster("of min\na 1\nb 0", "name has\nn1 1", "name of asks on\nb1 b 1 n1\na1 a 1 -")
    assert told(state)[0] == "evict b1 0 for a1: MinTakenBack"
    held = Holds(workloads=frozenset({A1}))
    assert told(state, held) == told(state, held, FAITHFUL) == ["wait a1: HeldAfterFailure"]


def test_another_node_is_taken_than_one_that_is_held() -> None:
    """N1 has more to spare, so a1 would start there."""
    state = cluster("of min\na 1", "name has\nn1 8\nn2 2", "name of asks\na1 a 1")
    assert told(state) == ["start a1 on n1: WithinMin"]
    on_first, on_both = frozenset({(A1, "n1")}), frozenset({(A1, "n1"), (A1, "n2")})
    assert told(state, Holds(nodes=on_first)) == ["start a1 on n2: WithinMin"]
    assert told(state, Holds(nodes=on_both)) == ["wait a1: NoNodeFits"]


def test_who_was_promised_a_node_that_is_held_is_promised_another() -> None:
    """A1 waits for b1 to leave n1. Once n1 is held for it, b2 has to leave n2."""
    state = cluster(
        "of min\na 2\nb 0",
        "name has\nn1 1\nn2 1",
        "name of asks on nominated\nb1 b 1 n1! -\nb2 b 1 n2 -\na1 a 1 - n1",
    )
    assert told(state) == ["reserve n1 for a1 until b1 left"]
    moved = told(state, Holds(nodes=frozenset({(A1, "n1")})))
    assert moved[0] == "evict b2 0 for a1: MinTakenBack"
    assert moved[1] == "reserve n2 for a1 until b2 left"


def test_of_a_gang_another_pod_is_asked_than_one_that_is_held() -> None:
    """B1 has two pods that borrow a's min of 2, of which a1 wants 1 back."""
    state = cluster(
        "of min\na 2\nb 0", "name has\nn1 2", "name of asks needs on\nb1 b 2x1 1 n1,n1\na1 a 1 1 -"
    )
    first, second = ((B1, pod) for pod in state.workloads[B1].pods())
    assert told(state)[0] == "evict b1 1 for a1: MinTakenBack"
    held = Holds(victims=frozenset({second}))
    assert told(state, held)[0] == "evict b1 0 for a1: MinTakenBack"
    assert told(state, Holds(victims=frozenset({first, second})))[0].startswith("wait a1")
