"""Which kinds are read, and how to take objects where some may not be."""

from collections.abc import Set

import pytest

from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.reading.kinds import kinds_to_read, rules_without
from fairlead.manifest.registry import BUNDLES
from fairlead.policy.contract import POLICY_NAMES, PolicyName


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_the_kinds_of_one_rule_set_and_none_of_another_are_read(policy: PolicyName) -> None:
    found = kinds_to_read(policy).keys()
    assert found >= BUNDLES[policy].kinds.keys()
    others = [each.kinds.keys() for name, each in BUNDLES.items() if name != policy]
    assert not any(found & each for each in others)


def test_without_a_rule_set_the_kinds_of_all_are_read() -> None:
    for each in BUNDLES.values():
        assert kinds_to_read(None).keys() >= each.kinds.keys()


def test_owners_of_pods_are_read() -> None:
    assert ("batch", "Job") in kinds_to_read("kai")


READ: dict[str, tuple[Set[GroupKind], str, str, bool]] = {
    # what may not be read: a missing group, a missing claim, totals of queues count
    "everything may be read": (frozenset(), "waits", "wait", False),
    "no groups": ({("scheduling.run.ai", "PodGroup")}, "alone", "wait", False),
    "no claims": ({("", "PersistentVolumeClaim")}, "waits", "fit", False),
    "no volumes": ({("", "PersistentVolume")}, "waits", "fit", False),
    "no pods": ({("", "Pod")}, "waits", "wait", True),
    "no nodes": ({("", "Node")}, "waits", "wait", False),
}


@pytest.mark.parametrize(("unread", "group", "claims", "totals"), READ.values(), ids=READ.keys())
def test_what_may_not_be_read_is_taken_as_left_out_of_a_file(
    unread: Set[GroupKind], group: str, claims: str, totals: bool
) -> None:
    rules = rules_without(unread)
    assert (rules.missing_group, rules.missing_claims, rules.queue_totals) == (
        group,
        claims,
        totals,
    )
    assert rules.makes_pods
