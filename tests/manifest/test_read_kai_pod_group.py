"""KAI's PodGroup: minimums, sub-groups and what may stand in labels and annotations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.kai.objects import KaiPodGroupObject
from fairlead.manifest.kai.reading.pod_group import least_pods, read_kai_pod_group
from fairlead.model.workload import SubGroup
from tests.manifest.yaml_text import cursor_of

GROUP = """
    apiVersion: scheduling.run.ai/v2alpha2
    kind: PodGroup
    metadata:
      name: bert
      namespace: nlp
      creationTimestamp: "1970-01-01T00:00:05Z"
      annotations:
        kai.scheduler/last-start-timestamp: "1970-01-01T00:01:00Z"
        kai.scheduler/stale-podgroup-timestamp: "1970-01-01T00:02:00+00:01"
    spec:
      minMember: 4
      queue: nlp-team
      priorityClassName: train
      preemptibility: non-preemptible
      markUnschedulable: true
      schedulingBackoff: 1
      preemptionDelay: 30s
      stalenessGracePeriod: -1s
      topologyConstraint: {topology: racks, requiredTopologyLevel: rack}
      subGroups:
      - {name: leaders, minSubGroup: 1}
      - {name: workers, minMember: 4, parent: leaders, topologyConstraint: {topology: racks}}
    status: {phase: Running}
"""


def read(text: str) -> tuple[KaiPodGroupObject | None, list[str]]:
    cursor, findings = cursor_of(text)
    return read_kai_pod_group(cursor), [str(each) for each in findings]


def spec(text: str, metadata: str = "{name: a}") -> tuple[KaiPodGroupObject, list[str]]:
    group, found = read(f"metadata: {metadata}\nspec: {text}")
    assert group is not None
    return group, found


def test_a_group_is_read_with_all_its_fields() -> None:
    group, found = read(GROUP)
    assert found == []
    assert group is not None
    assert (group.namespace, group.name, group.queue) == ("nlp", "bert", "nlp-team")
    assert (group.min_member, group.min_sub_group) == (4, None)
    assert (group.priority_class, group.preemptibility) == ("train", "non-preemptible")
    assert (group.created_ms, group.started_ms) == (5_000, 60_000)
    assert group.stale_since_ms == 60_000  # two minutes past, in a zone one minute ahead
    assert (group.preemption_delay_ms, group.staleness_grace_ms) == (30_000, -1000)
    assert group.topology
    assert group.sub_groups == (
        SubGroup(name="leaders", min_sub_group=1),
        SubGroup(name="workers", parent="leaders", min_member=4),
    )


def test_an_empty_group_has_the_defaults() -> None:
    group, found = spec("{}")
    assert found == []
    assert (group.namespace, group.queue, group.min_member) == ("default", "", 1)
    assert (group.preemptibility, group.topology) == ("", False)
    assert (group.started_ms, group.stale_since_ms) == (None, None)
    assert (group.staleness_grace_ms, group.preemption_delay_ms) == (None, 0)


def test_the_preemption_delay_may_stand_in_an_annotation() -> None:
    annotated = '{name: a, annotations: {kai.scheduler/preemption-delay: "2m"}}'
    assert spec("{}", annotated)[0].preemption_delay_ms == 120_000
    assert spec("{preemptionDelay: 5s}", annotated)[0].preemption_delay_ms == 5000


@pytest.mark.parametrize(
    ("text", "metadata", "place"),
    [
        ("{preemptionDelay: -5s}", "{name: a}", "$.spec.preemptionDelay"),
        (
            "{}",
            '{name: a, annotations: {kai.scheduler/preemption-delay: "-5s"}}',
            '$.metadata.annotations["kai.scheduler/preemption-delay"]',
        ),
    ],
)
def test_a_negative_delay_is_told_and_counts_as_none(text: str, metadata: str, place: str) -> None:
    group, (finding,) = spec(text, metadata)
    assert group.preemption_delay_ms == 0
    assert f'warning: {place}: found "-5s", which is taken as 0s [out-of-range]' in finding


@pytest.mark.parametrize("key", ["last-start-timestamp", "stale-podgroup-timestamp"])
def test_an_unreadable_annotation_is_told_and_left_out(key: str) -> None:
    group, found = spec("{}", f"{{name: a, annotations: {{kai.scheduler/{key}: noon}}}}")
    assert (group.started_ms, group.stale_since_ms) == (None, None)
    assert len(found) == 1
    assert f'warning: $.metadata.annotations["kai.scheduler/{key}"]:' in found[0]
    assert "[bad-timestamp]" in found[0]


def test_a_preferred_topology_is_no_constraint() -> None:
    group, found = spec("{topologyConstraint: {topology: t, preferredTopologyLevel: rack}}")
    assert (group.topology, found) == (False, [])
    group, _ = spec("{subGroups: [{name: a, topologyConstraint: {requiredTopologyLevel: rack}}]}")
    assert group.topology


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        ("{minMember: 0}", "$.spec.minMember", "out-of-range"),
        ("{minMember: 2, minSubGroup: 1}", "$.spec.minSubGroup", "contradiction"),
        ("{preemptibility: maybe}", "$.spec.preemptibility", "bad-choice"),
        ("{subGroups: [{name: a}, {name: a}]}", "$.spec.subGroups[1].name", "duplicate-entry"),
        ("{subGroups: [{name: a, parent: b}]}", "$.spec.subGroups[0].parent", "missing-parent"),
        ("{subGroups: [{name: a, parent: a}]}", "$.spec.subGroups[0].parent", "cycle"),
        ("{subGroups: [{minMember: 1}]}", "$.spec.subGroups[0].name", "missing-field"),
        ("{minSubGroup: 1}", "$.spec.minSubGroup", "out-of-range"),
        ("{minSubGroup: 1, subGroups: []}", "$.spec.minSubGroup", "out-of-range"),
        ("{minSubGroup: 2, subGroups: [{name: a}]}", "$.spec.minSubGroup", "out-of-range"),
        (
            "{minSubGroup: 2, subGroups: [{name: a}, {name: b, parent: a}]}",  # b is not at the top
            "$.spec.minSubGroup",
            "out-of-range",
        ),
        (
            "{subGroups: [{name: a, minSubGroup: 1}]}",
            "$.spec.subGroups[0].minSubGroup",
            "out-of-range",
        ),
        (
            "{subGroups: [{name: b, parent: a}, {name: a, minSubGroup: 2}]}",
            "$.spec.subGroups[1].minSubGroup",
            "out-of-range",
        ),
        (
            "{subGroups: [{name: b, parent: a}, {name: a, minSubGroup: 0}]}",
            "$.spec.subGroups[1].minSubGroup",
            "out-of-range",
        ),
        (
            "{subGroups: [{name: b, parent: a}, {name: a, minSubGroup: 1, minMember: 1}]}",
            "$.spec.subGroups[1].minSubGroup",
            "contradiction",
        ),
    ],
)
def test_what_kai_would_refuse_is_refused(text: str, path: str, code: str) -> None:
    _, found = spec(text)
    assert [f"error: {path}:" in each and f"[{code}]" in each for each in found] == [True]


def test_as_many_sub_groups_as_there_are_may_be_needed() -> None:
    group, found = spec(
        "{minSubGroup: 2, subGroups: [{name: a, minSubGroup: 1}, {name: b}, {name: c, parent: a}]}"
    )
    assert (group.min_sub_group, found) == (2, [])
    _, found = spec("{minSubGroup: 5, subGroups: [{name: a}, {name: a}]}")
    assert [each[each.rindex("[") :] for each in found] == [
        "[duplicate-entry]\n    fix: rename one"
    ]


def test_a_minimum_above_other_sub_groups_has_no_effect_and_is_told() -> None:
    group, (found,) = spec(
        "{subGroups: [{name: b, parent: a, minMember: 2}, {name: a, minMember: 7}]}"
    )
    assert group.min_member == 2
    assert "warning: $.spec.subGroups[1].minMember: found minMember of the sub-group" in found
    assert "their minimums count, this one does not [no-effect]" in found


def test_a_cycle_of_sub_groups_is_told_beside_their_other_mistakes() -> None:
    group, found = spec(
        "{subGroups: [{name: a, parent: b}, {name: b, parent: a}, {name: a, parent: a}, "
        "{name: c, parent: gone}, {minMember: 1}]}"
    )
    assert group.sub_groups == ()
    assert sorted(each.split(": ")[2] + " " + each[each.rindex("[") :] for each in found) == [
        "$.spec.subGroups[0].parent [cycle]\n    fix: give it another parent, or none",
        "$.spec.subGroups[1].parent [cycle]\n    fix: give it another parent, or none",
        "$.spec.subGroups[2].name [duplicate-entry]\n    fix: rename one",
        "$.spec.subGroups[3].parent [missing-parent]\n    fix: correct or remove it",
        "$.spec.subGroups[4].name [missing-field]\n    fix: add name",
    ]


@pytest.mark.parametrize(
    ("backoff", "told"),
    [
        ("-1", ""),
        ("1", ""),
        ("0", "warning: $.spec.schedulingBackoff: found the number 0, expected -1 or 1"),
        ("5", "warning: $.spec.schedulingBackoff: found the number 5, expected -1 or 1"),
        ("often", "error: $.spec.schedulingBackoff: found the text"),
    ],
)
def test_a_backoff_that_kai_does_not_support_is_told(backoff: str, told: str) -> None:
    _, found = spec(f"{{schedulingBackoff: {backoff}}}")
    assert [told in each for each in found] == ([True] if told else [])


@pytest.mark.parametrize(
    ("sub_groups", "min_sub_group", "expected"),
    [
        ("", None, 1),
        ("a2 b3", None, 5),  # all are needed: 2 + 3
        ("a2 b3", 1, 2),  # the cheaper one is enough
        ("a b", None, 2),  # a leaf without a minimum needs one pod
        ("a b2<a c3<a", None, 5),  # a needs both below it
        ("a b2<a c3<a d4", 1, 4),  # 2 + 3 against 4
        ("a7 b2<a", None, 2),  # that of its children counts, not its own
        ("a0", None, 1),  # a group needs at least one pod
    ],
)
def test_without_a_minimum_a_group_needs_what_its_sub_groups_need(
    sub_groups: str, min_sub_group: int | None, expected: int
) -> None:
    """`b2<a` is the sub-group b, with minMember 2, below a."""
    parsed = []
    for word in sub_groups.split():
        head, _, parent = word.partition("<")
        minimum = int(head[1:]) if head[1:] else None
        parsed.append(SubGroup(name=head[0], parent=parent or None, min_member=minimum))
    assert least_pods(parsed, min_sub_group) == expected


@given(st.data())
def test_fewer_needed_sub_groups_never_need_more_pods(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=6))
    groups = [SubGroup(name=str(at), min_member=size) for at, size in enumerate(sizes)]
    counts = [least_pods(groups, needed) for needed in range(1, len(groups) + 1)]
    assert counts == sorted(counts)
    assert counts[-1] == least_pods(groups, None) == max(1, sum(sizes))


def test_a_very_deep_tree_of_sub_groups_is_no_trouble() -> None:
    chain = [SubGroup(name=str(at), parent=str(at - 1) if at else None) for at in range(5000)]
    assert least_pods(chain, None) == 1
