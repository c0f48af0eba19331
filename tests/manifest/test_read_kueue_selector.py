"""Selectors, terms, taints and tolerations are read as Kubernetes defines and refuses them."""

import pytest

from fairlead.manifest.core.read_selector import (
    read_label_selector,
    read_node_terms,
    read_taints,
    read_tolerations,
)
from fairlead.model.selector import LabelRequirement, LabelSelector, NodeTerm, Taint, Toleration
from tests.manifest.yaml_text import cursor_of, remarks


def test_labels_and_expressions_become_conditions_in_one_order() -> None:
    texts = [
        """
        matchLabels: {team: vision, area: lab}
        matchExpressions: [{key: size, operator: NotIn, values: [big, huge]}]
        """,
        """
        matchExpressions:
        - {key: team, operator: In, values: [vision]}
        - {key: size, operator: NotIn, values: [big, huge]}
        matchLabels: {area: lab}
        """,
    ]
    for text in texts:
        cursor, findings = cursor_of(text)
        assert read_label_selector(cursor) == LabelSelector(
            requirements=(
                LabelRequirement(key="area", operator="In", values=("lab",)),
                LabelRequirement(key="size", operator="NotIn", values=("big", "huge")),
                LabelRequirement(key="team", operator="In", values=("vision",)),
            )
        )
        cursor.finish()
        assert remarks(findings) == []


def test_node_terms_ask_for_labels_and_for_the_name() -> None:
    cursor, findings = cursor_of("""
        nodeSelectorTerms:
        - matchExpressions: [{key: gpus, operator: Gt, values: ["3"]}]
          matchFields: [{key: metadata.name, operator: In, values: [n1]}]
        - matchExpressions: [{key: spot, operator: Exists}]
        """)
    assert read_node_terms(cursor) == (
        NodeTerm(
            labels=(LabelRequirement(key="gpus", operator="Gt", values=("3",)),),
            names=(LabelRequirement(key="metadata.name", operator="In", values=("n1",)),),
        ),
        NodeTerm(labels=(LabelRequirement(key="spot", operator="Exists"),)),
    )
    cursor.finish()
    assert remarks(findings) == []


def test_taints_and_tolerations_have_their_defaults() -> None:
    cursor, findings = cursor_of("""
        taints:
        - {key: gpu, effect: NoSchedule, timeAdded: "2026-11-15T09:30:00Z"}
        - {key: old, value: "yes", effect: NoExecute}
        tolerations:
        - {key: gpu, operator: Exists, effect: NoSchedule}
        - {key: old, value: "yes", tolerationSeconds: 60}
        - {operator: Exists}
        """)
    assert read_taints(cursor, "taints") == (
        Taint(key="gpu", effect="NoSchedule"),
        Taint(key="old", value="yes", effect="NoExecute"),
    )
    assert read_tolerations(cursor, "tolerations") == (
        Toleration(key="gpu", operator="Exists", effect="NoSchedule"),
        Toleration(key="old", value="yes"),
        Toleration(operator="Exists"),
    )
    cursor.finish()
    assert remarks(findings) == []


# What is written in matchExpressions, and the one thing that is wrong with it.
WRONG_EXPRESSIONS = {
    "{key: a, operator: In}": "missing-field .values",
    "{key: a, operator: NotIn, values: []}": "missing-field .values",
    "{key: a, operator: Exists, values: [x]}": "contradiction .values",
    "{key: a, operator: DoesNotExist, values: [x]}": "contradiction .values",
    "{key: a, operator: in, values: [x]}": "bad-choice .operator",
    "{key: a, operator: Near}": "bad-choice .operator",
    "{key: a}": "missing-field .operator",
    "{operator: Exists}": "missing-field .key",
    "{key: a, operator: Gt, values: [x]}": "wrong-type .values",
    '{key: a, operator: Lt, values: ["1", "2"]}': "wrong-type .values",
    "{key: a, operator: In, values: [7]}": "wrong-type .values[0]",
    "{key: a, operator: Gt, values: 7}": "wrong-type .values",
}


@pytest.mark.parametrize(("text", "expected"), WRONG_EXPRESSIONS.items())
def test_a_wrong_expression_is_refused_at_its_place(text: str, expected: str) -> None:
    cursor, findings = cursor_of(f"nodeSelectorTerms: [{{matchExpressions: [{text}]}}]")
    read_node_terms(cursor)
    code, place = expected.split()
    told = [f"error {code} $.nodeSelectorTerms[0].matchExpressions[0]{place}"]
    assert remarks(findings) == told


def test_an_order_is_no_condition_of_a_label_selector() -> None:
    cursor, findings = cursor_of('matchExpressions: [{key: a, operator: Gt, values: ["1"]}]')
    read_label_selector(cursor)
    assert remarks(findings) == ["error bad-choice $.matchExpressions[0].operator"]


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "{key: a, operator: Exists, value: x}": "error contradiction $.tolerations[0].value",
        "{operator: Equal, value: x}": "error missing-field $.tolerations[0].key",
        "{key: a, operator: Like}": "error bad-choice $.tolerations[0].operator",
        "{key: a, effect: Never}": "error bad-choice $.tolerations[0].effect",
    }.items(),
)
def test_a_wrong_toleration_is_refused(text: str, expected: str) -> None:
    cursor, findings = cursor_of(f"tolerations: [{text}]")
    read_tolerations(cursor, "tolerations")
    assert remarks(findings) == [expected]


def test_only_the_name_of_a_node_can_be_asked_for_as_a_field() -> None:
    cursor, findings = cursor_of("""
        nodeSelectorTerms:
        - matchFields: [{key: spec.unschedulable, operator: In, values: ["false"]}]
        """)
    read_node_terms(cursor)
    assert remarks(findings) == ["error bad-choice $.nodeSelectorTerms[0].matchFields[0].key"]
