"""A namespace explained: what it may still take, what nominated pods count before it, and where."""

import pytest
from msgspec.structs import replace

from fairlead.explain.elastic_quota.queue import explain_elastic_quota
from fairlead.explain.text.explanation import Explanation
from fairlead.model.axes import QueueName
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings, PluginQuirks
from tests.policy.elastic_quota.plan_world import OURS, cluster

QUOTAS = """
    of  min   max
    a   2000  -
    b   2000  -
    c   0     -
"""
NODES = """
    name  has
    n1    6000
"""
# c is over its min of 0, so that its nominated pod counts for nobody else.
PODS = """
    name  of  asks  on  nominated
    c1    c   1000  n1  -
    a1    a   1000  -   n1
    b1    b   1000  -   n1
    b2    b   1000  -   n1
    c2    c   1000  -   n1
"""


def explained(pods: str, settings: ElasticQuotaSettings = OURS, queue: str = "a") -> Explanation:
    return explain_elastic_quota(cluster(QUOTAS, NODES, pods), settings, QueueName(queue))


def told(explanation: Explanation, start: str) -> list[str]:
    return [text for text in explanation.sections[0].remarks if text.startswith(start)]


def test_nominated_pods_are_told_here_and_elsewhere() -> None:
    found = explained(PODS)
    assert told(found, "Nominated") == [
        "Nominated pods here come first, and request 1 of gpu.",
        "Nominated pods elsewhere come first, and request 2 of gpu.",
    ]
    assert found.data["nominated"] == {"here": {"gpu": "1"}, "elsewhere": {"gpu": "2"}}


def test_without_nominated_pods_nothing_is_said_of_them() -> None:
    found = explained("name of asks on\nc1 c 1000 n1\n")
    assert told(found, "Nominated") == []
    assert found.data["nominated"] == {"here": {}, "elsewhere": {}}


CORE = "that it asks for and in cpu, memory and ephemeral-storage"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (OURS, "A pod is admitted only within both, in every resource that it asks for."),
        (
            replace(OURS, quirks=PluginQuirks(scalar_if_asked=True)),
            f"A pod is admitted only within both, in every resource {CORE}.",
        ),
        (
            FAITHFUL,
            (
                f"A pod is admitted only within its max in every resource {CORE}, "
                "and within the pool in every resource at all."
            ),
        ),
    ],
    ids=["ours", "scalar-if-asked", "faithful"],
)
def test_it_is_said_in_which_resources_a_pod_is_checked(
    settings: ElasticQuotaSettings, text: str
) -> None:
    assert told(explained(PODS, settings), "A pod") == [text]
