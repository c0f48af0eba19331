"""A term of a pod affinity is read complete: whose pods, in which namespaces, near in what."""

import pytest

from fairlead.manifest.core.read_pod_spec import read_pod_terms
from fairlead.model.selector import LabelRequirement, LabelSelector, Operator, PodTerm
from tests.manifest.yaml_text import cursor_of, remarks

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OWN_LABELS = {"app": "web", "version": "7"}


def read(term: str) -> tuple[PodTerm, list[str]]:
    """Read one term of a pod in the namespace ns, and what is said about it."""
    cursor, findings = cursor_of(f"podAffinity: {{{REQUIRED}: [{term}]}}")
    (found,) = read_pod_terms(cursor, "podAffinity", namespace="ns", labels=OWN_LABELS)
    cursor.finish()
    return found, [each.replace(f"$.podAffinity.{REQUIRED}[0]", "$") for each in remarks(findings)]


def sound(term: str) -> PodTerm:
    found, said = read(term)
    assert said == []
    return found


OPERATORS: dict[str, Operator] = {"In": "In", "NotIn": "NotIn", "Exists": "Exists"}


def condition(text: str) -> LabelRequirement:
    """Read ``app In db``."""
    key, operator, *values = text.split()
    return LabelRequirement(key=key, operator=OPERATORS[operator], values=tuple(values))


def selector(*conditions: str) -> LabelSelector:
    return LabelSelector(requirements=tuple(map(condition, conditions)))


SELECTORS = {
    "labels to match": ("labelSelector: {matchLabels: {app: db}}", selector("app In db")),
    "conditions, sorted": (
        "labelSelector: {matchLabels: {b: x}, matchExpressions: [{key: a, operator: Exists}]}",
        selector("a Exists", "b In x"),
    ),
    "an empty selector selects everything": ("labelSelector: {}", selector()),
    "no selector selects nothing": ("", None),
    "a null is no selector": ("labelSelector: null", None),
    "like the pod's own label": (
        "labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [version]",
        selector("app In web", "version In 7"),
    ),
    "unlike the pod's own label": (
        "labelSelector: {matchLabels: {app: web}}, mismatchLabelKeys: [version]",
        selector("app In web", "version NotIn 7"),
    ),
    "a label that the pod does not have asks for nothing": (
        "labelSelector: {}, matchLabelKeys: [tenant], mismatchLabelKeys: [zone]",
        selector(),
    ),
    "what the server has added already is there once": (
        "labelSelector: {matchLabels: {version: '7'}}, matchLabelKeys: [version]",
        selector("version In 7"),
    ),
}


@pytest.mark.parametrize(("text", "expected"), SELECTORS.values(), ids=SELECTORS.keys())
def test_which_pods_a_term_means(text: str, expected: LabelSelector | None) -> None:
    assert sound(f"{{topologyKey: zone, {text}}}").selector == expected


NAMESPACES = {
    "none named: the pod's own": ("", ("ns",), None),
    "an empty list: the pod's own": ("namespaces: []", ("ns",), None),
    "those that are listed, and not the pod's own": ("namespaces: [b, a, b]", ("a", "b"), None),
    "those with a label": (
        "namespaceSelector: {matchLabels: {team: x}}",
        (),
        selector("team In x"),
    ),
    "an empty selector: all": ("namespaceSelector: {}", (), selector()),
    "both": ("namespaces: [a], namespaceSelector: {}", ("a",), selector()),
}


@pytest.mark.parametrize(("text", "names", "by_labels"), NAMESPACES.values(), ids=NAMESPACES.keys())
def test_in_which_namespaces(
    text: str, names: tuple[str, ...], by_labels: LabelSelector | None
) -> None:
    found = sound(f"{{topologyKey: zone, labelSelector: {{}}, {text}}}")
    assert (found.namespaces, found.namespace_selector) == (names, by_labels)
    assert found.topology_key == "zone"


WRONG = {
    "no topology key": ("labelSelector: {}", "error missing-field $.topologyKey"),
    "an empty topology key": (
        "topologyKey: '', labelSelector: {}",
        "error missing-field $.topologyKey",
    ),
    "keys to match without a selector": (
        "topologyKey: z, matchLabelKeys: [a]",
        "error contradiction $.matchLabelKeys",
    ),
    "keys to differ in without a selector": (
        "topologyKey: z, mismatchLabelKeys: [a]",
        "error contradiction $.mismatchLabelKeys",
    ),
    "a key both ways": (
        "topologyKey: z, labelSelector: {}, matchLabelKeys: [app], mismatchLabelKeys: [app]",
        "error contradiction $.mismatchLabelKeys",
    ),
    "an order, which labels of pods do not have": (
        "topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: Gt, values: [1]}]}",
        "error bad-choice $.labelSelector.matchExpressions[0].operator",
    ),
    "an unknown field": (
        "topologyKey: z, labelSelector: {}, namespace: b",
        "warning unknown-field $.namespace",
    ),
}


@pytest.mark.parametrize(("text", "remark"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told(text: str, remark: str) -> None:
    assert remark in read(f"{{{text}}}")[1]


def test_wishes_are_passed_over_and_terms_keep_their_order() -> None:
    cursor, findings = cursor_of(f"""
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, podAffinityTerm: {{}}}}]
          {REQUIRED}: [{{topologyKey: b}}, {{topologyKey: a}}]
    """)
    found = read_pod_terms(cursor, "podAntiAffinity", namespace="ns", labels={})
    assert [term.topology_key for term in found] == ["b", "a"]
    assert read_pod_terms(cursor, "podAffinity", namespace="ns", labels={}) == ()
    assert remarks(findings) == []
