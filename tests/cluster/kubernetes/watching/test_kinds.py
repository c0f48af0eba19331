"""Which kinds are followed, and without which nothing is planned."""

import pytest

from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.watching.kinds import kinds_to_watch, missing_kinds

QUOTAS: list[GroupKind] = [
    ("scheduling.x-k8s.io", "ElasticQuota"),
    ("scheduling.sigs.k8s.io", "ElasticQuota"),
]


@pytest.mark.parametrize("kind", [("", "Pod"), ("", "Node"), *QUOTAS])
def test_what_decisions_rest_on_is_followed(kind: GroupKind) -> None:
    assert kinds_to_watch("elastic-quota")[kind]


def test_kinds_of_other_rule_sets_are_not_followed() -> None:
    assert ("kueue.x-k8s.io", "ClusterQueue") not in kinds_to_watch("elastic-quota")
    assert ("kueue.x-k8s.io", "ClusterQueue") in kinds_to_watch("kueue")


@pytest.mark.parametrize(
    ("not_served", "missing"),
    [
        ([], set()),
        ([QUOTAS[0]], set()),
        ([QUOTAS[1]], set()),
        (QUOTAS, {"ElasticQuota"}),
        ([("scheduling.x-k8s.io", "PodGroup"), ("scheduling.sigs.k8s.io", "PodGroup")], set()),
        ([("resource.k8s.io", "ResourceClaim")], set()),
        ([("", "Node"), ("policy", "PodDisruptionBudget")], {"Node", "PodDisruptionBudget"}),
    ],
)
def test_nothing_is_planned_without_quotas_or_what_every_server_has(
    not_served: list[GroupKind], missing: set[str]
) -> None:
    served = frozenset(kinds_to_watch("elastic-quota")) - set(not_served)
    assert missing_kinds("elastic-quota", served) == missing
