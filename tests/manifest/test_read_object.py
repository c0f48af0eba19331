"""One object is read by itself: what is wrong with it is told of it, and of no other."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import Finding
from fairlead.manifest.core.objects import NodeObject, PodObject
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import identify
from fairlead.manifest.text.documents import Document, cluster_document, read_bytes
from tests.manifest.family_manifests import CORE, ELASTIC, KAI, KUEUE, PODS, objects
from tests.manifest.reading import read_object
from tests.manifest.test_fuzz_readers import spots, values

POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {priority: %s}}\n"


def documents(text: str) -> list[Document]:
    return read_bytes(text.encode(), "world.yaml", Findings())


def test_a_sound_object_is_read_without_a_word() -> None:
    (document,) = documents(
        "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {capacity: {cpu: 1}}}"
    )
    found = read_object(document)
    (node,) = found.objects
    assert isinstance(node, NodeObject)
    assert (found.is_usable, found.findings) == (True, ())


def test_one_with_a_warning_is_usable_unless_that_is_an_error() -> None:
    (document,) = documents("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {}, odd: 1}")
    found = read_object(document)
    assert (found.is_usable, [each.code for each in found.findings]) == (True, ["unknown-field"])
    assert not read_object(document, strict=True).is_usable


def test_one_with_an_error_is_not_usable_and_says_why() -> None:
    (document,) = documents(POD % ("p", "high"))
    found = read_object(document)
    assert not found.is_usable
    (finding,) = found.findings
    assert (finding.severity, finding.path) == ("error", "$.spec.priority")


@pytest.mark.parametrize(
    ("text", "is_usable"),
    [
        ("{apiVersion: v1, kind: Pod, metadata: {}, spec: {}}", False),  # no name, no object
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}", True),  # is left alone
        ("{apiVersion: v1, metadata: {name: c}}", False),  # of which kind?
    ],
)
def test_what_gives_no_object(text: str, is_usable: bool) -> None:
    (document,) = documents(text)
    found = read_object(document)
    assert (found.objects, found.is_usable) == ((), is_usable)


def test_an_object_between_broken_ones_is_as_if_it_were_alone() -> None:
    text = "---\n".join([POD % ("a", "high"), POD % ("b", 7), POD % ("c", "low")])
    findings = Findings()
    read = [identify(each, findings).read(findings) for each in documents(text)]
    (sound,) = read[1]
    assert isinstance(sound, PodObject)
    assert (sound.name, sound.priority) == ("b", 7)
    assert [each.line for each in findings] == [1, 5]


def broken(data: st.DataObject) -> list[Any]:
    """Draw all objects of a family, with a few values of each replaced by anything."""
    family = data.draw(st.sampled_from([KAI, KUEUE, ELASTIC]))
    found = objects(CORE, PODS, family)
    for each in data.draw(st.lists(st.sampled_from(found), max_size=3)):
        container, key = data.draw(st.sampled_from(list(spots(each))))
        container[key] = data.draw(values)
    return [json.loads(json.dumps(each), parse_float=Decimal) for each in found]


@given(data=st.data())
def test_what_is_found_in_each_alone_is_what_is_found_in_all(data: st.DataObject) -> None:
    together = Findings()
    alone: list[Finding] = []
    for value in broken(data):
        document = cluster_document(value)
        one = read_object(document)
        assert one.objects == identify(document, together).read(together)
        alone += one.findings
    assert alone == list(together)
