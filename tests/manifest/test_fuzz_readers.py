"""Whatever stands in a manifest, there are findings and never an exception; order means nothing.

Random bytes hardly get past the YAML parser, so manifests that are close to real ones are broken
in random places instead.
"""

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.cli.output.document import print_document
from fairlead.errors import ManifestError
from fairlead.explain.queues.report import shares_document
from fairlead.explain.rule_set import rule_set_of
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import LoadResult, load
from fairlead.policy.contract import PolicyName
from tests.manifest.family_manifests import CORE, ELASTIC, KAI, KUEUE, OWNERS, PODS, objects
from tests.manifest.reading import load_or_raise
from tests.model.invariants import check_invariants
from tests.scale_examples import scale_examples

FAMILIES: dict[PolicyName, tuple[str, ...]] = {
    "elastic-quota": (CORE, PODS, OWNERS, ELASTIC),
    "kai": (CORE, PODS, OWNERS, KAI),
    "kueue": (CORE, PODS, OWNERS, KUEUE),
}
names = st.sampled_from(sorted(FAMILIES))

texts = st.sampled_from(
    [
        *("", "0", "-1", "1", "1e99", "-1e99", "NaN", "5Gi", "0.1u", "lots", "true", "None"),
        *("a/b", "team-a", "team-b", "top", "gang", "vision", "root", "any", "node-1", "high"),
        *("1h", "-1h", "1w", "2026-01-01T00:00:00Z", "9999-99-99T00:00:00Z", "Never", "In", "Gt"),
        *("cpu", "memory", "nvidia.com/gpu", "gpu", "pods", "Running", "Succeeded", "\u0000", "ä"),
        "x" * 300,
    ]
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2, 2**31, 2**63, 10**30, -(10**30), 0.5, -0.25, 1e300, 1e-300]),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container in *value* with each of its keys or indices."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from spots(value[key])


def break_somewhere(draw: st.DrawFn, documents: list[Any]) -> None:
    """Drop, replace, rename or repeat one thing at a random place."""
    places = list(spots(documents))
    if not places:
        return
    container, key = draw(st.sampled_from(places))
    match draw(st.sampled_from(["drop", "replace", "repeat", "borrow"])):
        case "drop":
            del container[key]
        case "replace":
            container[key] = draw(values)
        case "borrow":  # a value that is right elsewhere
            donor, at = draw(st.sampled_from(places))
            container[key] = json.loads(json.dumps(donor[at]))
        case _ if isinstance(container, list):
            container.insert(0, json.loads(json.dumps(container[key])))
        case _:
            container[draw(texts)] = json.loads(json.dumps(container[key]))


@st.composite
def broken(draw: st.DrawFn, family: PolicyName) -> list[Any]:
    """Return a family's manifests with up to four mistakes."""
    documents = objects(*FAMILIES[family])
    for _ in range(draw(st.integers(0, 4))):
        break_somewhere(draw, documents)
    return documents


def load_objects(documents: list[Any], policy: PolicyName | None, *, strict: bool) -> LoadResult:
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}).encode()
    return load(["-"], policy=policy, strict=strict, stdin=io.BytesIO(content))


def answer_everything(assembled: Assembled) -> None:
    """Ask for all that can be said about the shares, in both forms, and throw it away."""
    state, settings = assembled.state, assembled.settings
    capacity = state.total()
    with redirect_stdout(io.StringIO()):
        for form in ("json", "yaml"):
            report = rule_set_of(settings).share_report(state, settings, capacity)
            print_document(shares_document(report), form)
        for queue in state.tree_order():
            explanation = rule_set_of(settings).explain_queue(state, settings, capacity, queue)
            print_document({"answer": explanation.answer, **explanation.data}, "json")


def facts(assembled: Assembled) -> tuple[object, ...]:
    """Return all that the state holds; dictionaries are equal whatever their order."""
    state = assembled.state
    return (
        assembled.settings,
        (state.resources, state.axes.axes, state.capacity, state.tree_order()),
        (state.queues, state.workloads, state.nodes, state.catalogue, state.usage),
        (
            state.runs,
            state.sums,
            {name: state.books.held(name) for name in state.books.booked()},
        ),
    )


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_unbroken_manifests_load_without_an_error(family: PolicyName) -> None:
    result = load_objects(objects(*FAMILIES[family]), None, strict=True)
    assert [str(each) for each in result.findings if each.severity == "error"] == []
    assert result.assembled is not None
    assert result.assembled.policy == family
    assert len(result.assembled.state.queues) >= 2
    assert result.assembled.state.runs
    check_invariants(result.assembled.state)


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(150), deadline=None)
@given(data=st.data(), family=names, strict=st.booleans(), is_told=st.booleans())
def test_broken_manifests_give_findings_and_nothing_else(
    data: st.DataObject, family: PolicyName, strict: bool, is_told: bool
) -> None:
    documents = data.draw(broken(family))
    result = load_objects(documents, family if is_told else None, strict=strict)
    has_errors = any(each.severity == "error" for each in result.findings)
    assert (result.assembled is None) == has_errors
    if result.assembled is not None:
        check_invariants(result.assembled.state)
        answer_everything(result.assembled)
    for finding in result.findings:
        assert finding.message
        assert finding.line is None or finding.line >= 1


def is_number(value: Any) -> bool:
    """Tell whether a value is a number or a quantity, which are all written with a digit first."""
    if isinstance(value, str):
        return value[:1].isdigit() and ":" not in value
    return isinstance(value, (int, float)) and not isinstance(value, bool)


EXTREMES = [10**18, -(10**18), 1e-18, "1e30", "1e27", "1e-18", 10**19, "1e31", 1e-300, 10**318]


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(150), deadline=None)
@given(data=st.data(), family=names)
def test_numbers_however_large_or_small_are_refused_or_counted(
    data: st.DataObject, family: PolicyName
) -> None:
    documents = objects(*FAMILIES[family])
    places = [(within, key) for within, key in spots(documents) if is_number(within[key])]
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places))
        container[key] = data.draw(st.sampled_from(EXTREMES))
    result = load_objects(documents, family, strict=False)
    if result.assembled is not None:
        answer_everything(result.assembled)


@settings(max_examples=scale_examples(60), deadline=None)
@given(data=st.data(), family=names)
def test_the_order_of_objects_means_nothing(data: st.DataObject, family: PolicyName) -> None:
    documents = data.draw(broken(family))
    shuffled = data.draw(st.permutations(documents))
    one = load_objects(documents, family, strict=False)
    other = load_objects(shuffled, family, strict=False)
    assert (one.assembled is None) == (other.assembled is None)
    if one.assembled is not None and other.assembled is not None:
        assert facts(one.assembled) == facts(other.assembled)
        assert _kinds_of(one) == _kinds_of(other)


def _kinds_of(result: LoadResult) -> list[tuple[str, str]]:
    return sorted((each.severity, each.code) for each in result.findings)


@settings(max_examples=scale_examples(60), deadline=None)
@given(documents=st.lists(values, max_size=4), policy=st.none() | names)
def test_values_that_are_no_manifests_at_all(
    documents: list[Any], policy: PolicyName | None
) -> None:
    load_objects(documents, policy, strict=True)


@settings(max_examples=scale_examples(100), deadline=None)
@given(data=st.binary(max_size=200))
def test_only_a_manifest_error_is_ever_raised(data: bytes) -> None:
    with suppress(ManifestError):
        load_or_raise(["-"], stdin=io.BytesIO(data))
