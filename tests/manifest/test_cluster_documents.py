"""Objects of a cluster: read as those of a file, with findings that name them without a line."""

from decimal import Decimal

import msgspec
import pytest

from fairlead.cli.input.findings import show_findings
from fairlead.errors import Finding
from fairlead.manifest.core.objects import full_name
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.core.tree_checks import refuse_duplicates
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import identify
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document, cluster_document, read_documents
from fairlead.manifest.text.values import Mapping
from tests.shared_folder import ROOT

POD: Mapping = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"namespace": "team-a", "name": "train-0"},
    "spec": {"containers": [{"resources": {"requests": {"cpu": Decimal("0.5")}}}], "priority": "9"},
}


def found_in(value: Mapping) -> list[Finding]:
    findings = Findings()
    read_pod(Cursor.of(cluster_document(value), findings))
    return list(findings)


def test_a_finding_names_the_object_in_the_place_of_a_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = 'found the text "9", expected a number'
    (found,) = found_in(POD)
    assert str(found).startswith(f"cluster: Pod team-a/train-0: error: $.spec.priority: {text}")
    show_findings([found])
    assert capsys.readouterr().err.startswith("cluster: Pod team-a/train-0: error: $.spec.priority")


def test_a_program_is_told_the_object_and_no_line() -> None:
    (found,) = msgspec.to_builtins(found_in(POD))
    assert (found["file"], found["line"]) == ("cluster: Pod team-a/train-0", None)
    assert found["path"] == "$.spec.priority"


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ({"kind": "Node", "metadata": {"name": "n1"}}, "Node n1"),
        ({"kind": "Pod", "metadata": {"namespace": "lab"}}, "Pod lab"),
        ({"kind": "Pod", "metadata": {"name": 7}}, "Pod"),
        ({"kind": "Pod", "metadata": [1]}, "Pod"),
        ({"kind": None, "metadata": {"namespace": "lab", "name": "x"}}, "object lab/x"),
        ({}, "object"),
    ],
)
def test_an_object_is_named_as_far_as_it_says_what_it_is(value: Mapping, title: str) -> None:
    source = cluster_document(value).source
    assert (source.file, source.line) == (f"cluster: {title}", None)


def test_a_finding_about_two_objects_names_both() -> None:
    sound = {**POD, "spec": {}}
    findings = Findings()
    pods = [read_pod(Cursor.of(cluster_document(sound), findings)) for _ in range(2)]
    refuse_duplicates([pod for pod in pods if pod], full_name, "Pod", findings)
    (found,) = findings
    assert found.message.endswith("the first is at cluster: Pod team-a/train-0")


def documents() -> list[Document]:
    folders = [ROOT / "examples" / name for name in ("kai", "kueue", "elastic-quota")]
    return read_documents(map(str, folders), Findings())


def meaning(document: Document) -> tuple[list[dict[str, object]], list[tuple[str, str]]]:
    """Return what is read of an object, and what is found in it, but for where it was written."""
    findings = Findings()
    kind = identify(document, findings).kind
    read = kind.read(document, findings) if kind else ()
    fields = [{name: getattr(each, name) for name in each.__struct_fields__} for each in read]
    for each in fields:
        del each["source"]
    return fields, [(each.code, each.message) for each in findings]


def test_an_object_means_the_same_in_a_file_and_in_a_cluster() -> None:
    read = documents()
    assert len(read) > 250
    for document in read:
        assert meaning(cluster_document(document.value)) == meaning(document)
