"""Jobs under ElasticQuotas explained: rules, nodes, who may be asked, what may be taken back.

Amounts are of one resource, ``gpu``, in thousandths: 1000 is told as 1.
"""

import pytest

from fairlead.explain.elastic_quota.job import explain_elastic_job
from fairlead.explain.text.explanation import Explanation
from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.policy.elastic_quota.plan_world import NOW_MS, OURS, cluster

RULES = "What its quota allows, for 1 pod"
TRIES = "Nodes if pods are preempted for"
HOLDS = "What it uses, and whether other namespaces may reclaim it"


def explained(
    state: ClusterState, job: str, settings: ElasticQuotaSettings = OURS, now_ms: int = NOW_MS
) -> Explanation:
    return explain_elastic_job(state, settings, WorkloadName(job), now_ms)


def section(explanation: Explanation, title: str) -> list[str]:
    """Return the lines of a section whose title begins so: rows of its table, then remarks."""
    (found,) = [each for each in explanation.sections if each.title.startswith(title)]
    return [*(" | ".join(row) for row in found.table[1:]), *found.remarks]


def titles(explanation: Explanation) -> list[str]:
    return [each.title for each in explanation.sections]


# a uses 3 of its min of 2, b 1 of its min of 2: all 4 that are guaranteed are in use.
LENT = """
    of  min   max
    a   2000  4000
    b   2000  -
"""
TWO_NODES = """
    name  has
    n1    2000
    n2    2000
"""
RUNS = """
    name  of  asks  on  priority  since  created  nominated
    a1    a   1000  n1  5         1      0        -
    a2    a   1000  n1  5         2      0        -
    a3    a   1000  n2  5         3      0        -
    b1    b   1000  n2  5         1      0        -
"""


def lent(*rows: str) -> ClusterState:
    """Return that cluster with more rows of pods."""
    return cluster(LENT, TWO_NODES, RUNS + "\n".join(rows))


def test_one_that_takes_back_is_told_of_every_rule_and_node() -> None:
    found = explained(lent("b2 b 1000 - 0 - 7 -"), "b2")
    assert found.answer == (
        "b2 has capacity reserved for its pod: "
        "reclaims, within the min of b: gpu: used 1 + request 1 <= min 2."
    )
    assert section(found, RULES) == [
        "max of b | gpu | within | 1 | 0 | 1 | -",
        "all mins | gpu | over | 4 | 0 | 1 | 4",
        "min of b | gpu | within | 1 | 0 | 1 | 2",
        "all mins: what all namespaces use, against the sum of their mins.",
        "Within its min, pods of namespaces over theirs may be preempted: a.",
    ]
    # On n1 the younger of two would leave, a2; on n2 a3 is younger still.
    assert section(found, TRIES) == [
        "n2 | has room without a/a3-0; taken",
        "n1 | has room without a/a2-0",
    ]
    assert "Victims that make room for it" in titles(found)


def test_one_that_waits_is_told_who_was_before_it_and_why() -> None:
    found = explained(
        lent("late a 1000 - 5 - 9 -", "early a 1000 - 5 - 8 -", "high a 1000 - 6 - 9 -"), "late"
    )
    assert section(found, "Its turn was number 3 of 3") == [
        "1 | high | a | higher priority: 6 against 5",
        "2 | early | a | waits longer: since 1970-01-01T00:00:00Z, not 1970-01-01T00:00:00Z",
    ]


def test_beyond_its_min_only_its_own_less_important_pods_are_asked() -> None:
    found = explained(lent("a4 a 1000 - 5 - 7 -"), "a4")
    assert section(found, RULES)[-1] == (
        "Over its min, only pods of lower priority in a may be preempted."
    )
    assert section(found, TRIES) == ["n1, n2 | have no candidates"]
    assert "Why no victims make room for it" in titles(found)


def test_what_is_nominated_stands_between_use_and_request() -> None:
    """b2 waits for n1, where a2 leaves; b3 is no more important, so that b2 counts before it."""
    pods = RUNS.replace("a2    a   1000  n1 ", "a2    a   1000  n1!")
    state = cluster(LENT, TWO_NODES, pods + "b2 b 1000 - 0 - 7 n1\nb3 b 1000 - 0 - 8 -")
    found = explained(state, "b3")
    assert section(found, RULES)[:3] == [
        "max of b | gpu | within | 1 | 1 | 1 | -",
        "all mins | gpu | over | 4 | 1 | 1 | 4",
        "min of b | gpu | over | 1 | 1 | 1 | 2",  # so it may not ask others
    ]
    assert explained(state, "b2").answer == (
        "b2 has capacity reserved for its pod: has a place once terminating pods have left."
    )
    assert not any(each.startswith(TRIES) for each in titles(explained(state, "b2")))


SPREAD = """
    name  of  asks  on
    a1    a   1000  n1
    a2    a   1000  n2
    b1    b   2000  -
"""
ALL_OF_B = """
    of  min   max
    a   0     -
    b   2000  -
"""
SMALL_NODES = """
    name  has
    n1    2000
    n2    2000
"""


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (OURS, "No node alone is enough, so several were considered together."),
        (
            ElasticQuotaSettings(cross_node_preemption=False),
            "Victims on several nodes at once are not considered.",
        ),
    ],
    ids=["across nodes", "on one node"],
)
def test_where_no_node_is_enough_it_is_said_if_several_are(
    settings: ElasticQuotaSettings, told: str
) -> None:
    """The node has room without its holder, but the pool lacks 1 until both have left."""
    found = explained(cluster(ALL_OF_B, SMALL_NODES, SPREAD), "b1", settings)
    assert section(found, TRIES) == [
        "n1, n2 | give too little quota back even without all candidates",
        told,
    ]


def test_several_nodes_are_no_help_to_a_pod_that_is_too_large() -> None:
    pods = SPREAD.replace("b1    b   2000", "b1    b   3000")
    found = explained(cluster(ALL_OF_B.replace("2000", "3000"), SMALL_NODES, pods), "b1")
    assert section(found, TRIES)[-1] == "Victims on several nodes at once do not help either."


GANG = """
    name  of  asks    needs  least  on    nominated
    a1    a   1x2000  1      -      n1    -
    team  b   3x1000  3      {least}  -   -
"""


@pytest.mark.parametrize(
    ("least", "asked"), [("-", "3"), ("4000", "4")], ids=["its pods", "minResources"]
)
def test_a_gang_is_held_to_the_rules_as_a_whole(least: str, asked: str) -> None:
    quotas = ALL_OF_B.replace("2000", "3000")
    found = explained(cluster(quotas, SMALL_NODES, GANG.format(least=least)), "team")
    title = "What its quota allows, for 3 pods together"
    assert section(found, title)[1].startswith(f"all mins | gpu | over | 2 | 0 | {asked} | ")
    assert section(found, TRIES)[-1] == (
        "It is the first of 3 pods that start together or not at all."
    )


def test_of_many_nodes_those_with_the_least_harm_are_shown() -> None:
    """On each of nine nodes a pod could leave; the one on n9 started last, on n1 first."""
    nodes = "name has\n" + "".join(f"n{at} 1000\n" for at in range(1, 10))
    pods = "name of asks on since\n" + "".join(f"a{at} a 1000 n{at} {at}\n" for at in range(1, 10))
    state = cluster("of min max\na 0 -\nb 9000 -\n", nodes, pods + "b1 b 1000 - -\n")
    assert section(explained(state, "b1"), TRIES) == [
        "n9 | has room without a/a9-0; taken",
        *[f"n{at} | has room without a/a{at}-0" for at in (8, 7, 6, 5)],
        "(4 more) | with worse victims",
    ]


def test_what_nominated_pods_wait_for_is_not_free() -> None:
    """The holder of n1 is leaving, and first waits for its place: 0 is free, now and later."""
    pods = "name of asks on nominated created\nx1 x 1000 n1! - 0\nfirst x 1000 - n1 1\n"
    state = cluster("", "name has\nn1 1000\n", pods + "second x 1000 - - 2\n")
    assert section(explained(state, "second"), "Nodes considered for pod") == [
        "n1 | has too little free gpu | 0",
        "1 of 1 node has too little free gpu.",
    ]


def test_one_without_a_quota_is_told_that_no_rule_binds_it() -> None:
    pods = "name of asks on priority\nlow x 2000 n1 0\nhigh y 2000 - 9\n"
    found = explained(cluster("", "name has\nn1 2000\n", pods), "high")
    assert section(found, RULES) == [
        "Its namespace has no quota: no bound applies, and nothing is guaranteed.",
        "Only pods of lower priority without a quota may be preempted.",
    ]
    low = explained(cluster("", "name has\nn1 2000\n", pods), "low")
    assert section(low, HOLDS) == [
        "Its namespace has no quota: only a pod of higher priority without a quota may preempt it."
    ]
    assert section(low, "Its preemptors") == [
        (
            "high | y | has a higher priority than running pods without a quota: "
            "priority 9 > priority 0"
        )
    ]


def test_what_is_borrowed_can_be_taken_back_by_who_is_below_its_min() -> None:
    assert section(explained(lent(), "a1"), HOLDS) == [
        "gpu | 1 | 3 | 2 | 1",
        "a is over its min: namespaces below their min may reclaim: b (1 of gpu below).",
    ]


def test_what_is_within_the_min_cannot_be_taken_back() -> None:
    assert section(explained(lent(), "b1"), HOLDS) == [
        "gpu | 1 | 1 | 2 | 0",
        (
            "b is within its min: no other namespace may reclaim this, "
            "only a pod of higher priority in b may preempt it."
        ),
    ]


@pytest.mark.parametrize(
    ("settings", "then"),
    [
        (OURS, "so other pods are preempted first"),
        (ElasticQuotaSettings(protect_min=True), "so it may not be preempted"),
        (FAITHFUL, None),
    ],
    ids=["ours", "protectMin", "faithful"],
)
def test_a_pod_larger_than_what_is_borrowed_is_spared(
    settings: ElasticQuotaSettings, then: str | None
) -> None:
    """With both a uses 3 of its min of 2; without the pod of 2 it has 1."""
    state = cluster(LENT, TWO_NODES, "name of asks on\nbig a 2000 n1\nsmall a 1000 n2\n")
    told = section(explained(state, "big", settings), HOLDS)[2:]
    assert told == ([f"Without it a would fall below its min, {then}."] if then else [])
    assert len(section(explained(state, "small", settings), HOLDS)) == 2


def test_where_nobody_is_below_its_min_nobody_takes_back() -> None:
    quotas = "of min max\na 0 -\n"
    state = cluster(quotas, "name has\nn1 2000\n", "name of asks on\na1 a 1000 n1\n")
    assert section(explained(state, "a1"), HOLDS)[-1] == (
        "a is over its min, but no other namespace is below its min."
    )


def test_one_that_is_evicted_is_told_by_what_right_the_other_gains() -> None:
    found = explained(lent("b2 b 1000 - 0 - 7 -"), "a3")
    assert found.answer == "a3 loses its pod, for b2: a is over its min: gpu: used 3 > min 2."
    assert section(found, "Its preemptors") == [
        "b2 | b | reclaims, within the min of b: gpu: used 1 + request 1 <= min 2"
    ]
    gainers = found.data["gainers"]
    assert isinstance(gainers, list)
    assert [each["workload"] for each in gainers] == ["b2"]


def test_one_without_a_turn_has_only_its_reason() -> None:
    state = cluster(LENT, TWO_NODES, "name of asks gated\nheld a 1000 yes\n")
    found = explained(state, "held")
    assert found.answer == "held waits: held back: 1 of 1 pod has a scheduling gate."
    assert (found.sections, found.data["turn"], found.data["before"]) == ((), None, [])
