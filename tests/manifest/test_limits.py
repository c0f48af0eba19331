"""Every bound on an input holds, alike in YAML and JSON, and nothing explodes on the way."""

import io

import pytest

from fairlead.errors import Severity
from fairlead.manifest import finding as finding_module
from fairlead.manifest.finding import Findings
from fairlead.manifest.load import load
from fairlead.manifest.text import build, json_documents, yaml_nodes
from fairlead.manifest.text import documents as documents_module
from fairlead.manifest.text import yaml_documents as yaml_list
from fairlead.manifest.text.limits import MAX_ALIASED_NODES, MAX_DEPTH, MAX_FINDINGS
from fairlead.manifest.text.values import Value, height
from tests.manifest.reading import read, remarks, sole


def test_aliases_share_what_they_name_and_merges_give_way_to_keys() -> None:
    text = """\
        base: &base {quota: 1, limit: 2}
        more: &more {limit: 3, weight: 4}
        same: *base
        one: {limit: 9, <<: *base}
        both: {<<: [*base, *more]}
        text: {"<<": 1}
        """
    value = sole(text)
    assert value["same"] is value["base"]
    assert value["one"] == {"quota": 1, "limit": 9}
    assert value["both"] == {"quota": 1, "limit": 2, "weight": 4}
    assert value["text"] == {"<<": 1}


def test_aliases_that_explode_are_refused_once() -> None:
    """Nine levels of ten would be ten thousand million values."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    found, findings = read("\n".join(levels))
    # Repeated by a1 to a4: 110 + 1110 + 11110 + 111110 = 123440; the fourth 111111 is too much.
    assert remarks(findings) == ["6 bad-alias $.a5[3]"]
    assert "an alias of the value on line 5, " in next(iter(findings)).message
    assert size(found[0].value) < 20 * MAX_ALIASED_NODES


def test_what_aliases_repeat_is_bounded_for_all_documents_and_items_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred thousand small documents that each stay below would take twenty minutes."""
    monkeypatch.setattr(build, "MAX_ALIASED_NODES", 8)
    item = "- {a: &a [1, 2], b: *a}\n"  # repeats a list of two: 3
    list_of_two = "kind: List\nitems:\n" + item + item
    found, findings = read("a: &a {b: 1}\nb: *a\n---\n" + list_of_two + "---\n" + item[2:])
    # Repeated: 2 in the first document, 3 + 3 in the items; then it is enough.
    assert remarks(findings) == ["9 bad-alias $.b"]
    assert len(found) == 4


def size(value: Value) -> int:
    children = value.values() if isinstance(value, dict) else value
    return 1 + sum(map(size, children)) if isinstance(children, (list, type({}.values()))) else 1


def test_aliases_that_nest_too_deep_are_refused() -> None:
    levels = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 200)]
    found, findings = read("\n".join(levels))
    assert {finding.code for finding in findings} == {"bad-alias"}
    assert height(found[0].value) == MAX_DEPTH


def nested(depth: int, file: str) -> str:
    """Write a document of that depth, counting the mapping around it."""
    lists = "[" * (depth - 1) + "]" * (depth - 1)
    return f'{{"a": {lists}}}' if file.endswith("json") else f"a: {lists}\n"


@pytest.mark.parametrize("file", ["x.yaml", "x.json"])
def test_depth_is_bounded_alike_in_yaml_and_json(file: str) -> None:
    assert height(sole(nested(MAX_DEPTH, file), file)) == MAX_DEPTH
    for depth in (MAX_DEPTH + 1, MAX_DEPTH + 2):
        _, findings = read(nested(depth, file), file)
        assert [(finding.line, finding.code) for finding in findings] == [(1, "too-deep")]


@pytest.mark.parametrize("text", ["[" * 10**6, "- " * 10**6, "? " * 10**6, "{a: " * 10**6])
def test_no_depth_of_yaml_crashes_the_parser(text: str) -> None:
    _, findings = read(text)
    assert remarks(findings) == ["1 too-deep $"]


def bound(monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    """Lower a bound for all who keep it."""
    for module in (documents_module, json_documents, yaml_list, yaml_nodes):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, most)


# Each holds ten keys and values, beside the mapping itself.
ELEVEN_NODES = {
    "a list": "b: [1, 2, 3,\n4, 5, 6, 7, 8]\n",
    "a mapping": "{a: 1, b: 2,\nc: 3, d: 4, e: }\n",
    "empty mappings": "b: [{}, {}, {},\n[], [], [], [], []]\n",
    "JSON": '{"b": [1, 2, {}, "a,:[{\\"",\n5, 6, 7.5, null]}',
    "short JSON": '{"a": 1, "b": 2,\n"c": 3, "d": {"e": 4}}',
}


@pytest.mark.parametrize("text", ELEVEN_NODES.values(), ids=ELEVEN_NODES.keys())
def test_the_keys_and_values_of_a_file_are_bounded(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, "MAX_FILE_NODES", 11)
    assert len(sole(text)) > 0
    bound(monkeypatch, "MAX_FILE_NODES", 10)
    found, findings = read(text)
    assert found == []
    assert [(each.line, each.code) for each in findings] == [(1, "too-large")]
    assert "10 keys and values in one file" in next(iter(findings)).message


def test_documents_count_together_and_the_first_one_too_many_ends_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound(monkeypatch, "MAX_FILE_NODES", 7)
    found, findings = read("a: 1\n---\nb: 2\n---\nc: 3\n---\nd: [\n")  # three each
    assert [each.value for each in found] == [{"a": 1}, {"b": 2}]
    assert remarks(findings) == ["5 too-large $"]


def test_one_document_of_yaml_is_bounded_more_tightly(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, "MAX_NODES", 10)
    found, findings = read("a: 1\n---\nb: [1, 2, 3,\n4, 5, 6, 7, 8]\n---\nc: 1\n")
    assert [each.value for each in found] == [{"a": 1}, {"c": 1}]
    assert remarks(findings) == ["3 too-large $"]


def test_items_of_a_list_count_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item has the list around it, a mapping, and two keys with values: six."""
    text = "items:\n" + "- a: 1\n  b: 2\n" * 5 + "kind: List\n"
    bound(monkeypatch, "MAX_NODES", 6)
    found, findings = read(text)
    assert (len(found), remarks(findings)) == (5, [])
    bound(monkeypatch, "MAX_NODES", 5)
    found, findings = read(text)
    assert (found, remarks(findings)) == ([], ["2 too-large $"])


def test_a_mistake_in_very_long_json_is_told_without_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound(monkeypatch, "MAX_NODES", 5)
    assert sole('{"a": [1, 2, 3, 4, 5]}')
    _, findings = read('{"a": [1, 2, 3, 4, 5], "a": 2}')
    assert [each.code for each in findings] == ["too-large"]
    assert "a mistake in JSON" in next(iter(findings)).message


def test_aliases_that_are_only_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, "MAX_NODES", 10)
    assert sole("a: &x 1\nb: [" + "*x, " * 10 + "]\n")["b"] == [1] * 10
    _, findings = read("a: &x 1\nb: [" + "*x, " * 11 + "]\n")
    assert remarks(findings) == ["1 too-large $"]
    assert len(sole("a: '" + "*" * 11 + "'\n")) == 1


MANY = {
    "documents": "---\na: 1\n",
    "JSON values": '{"a": 1}\n',
}


@pytest.mark.parametrize("text", MANY.values(), ids=MANY.keys())
def test_too_many_documents_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, "MAX_DOCUMENTS", 3)
    found, findings = read(text * 3)
    assert (len(found), remarks(findings)) == (3, [])
    found, findings = read(text * 4)
    assert (len(found), remarks(findings)) == (3, ["None too-large $"])


def test_too_many_items_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, "MAX_DOCUMENTS", 3)
    found, findings = read("kind: List\nitems:\n" + "- a: 1\n" * 3)
    assert (len(found), remarks(findings)) == (3, [])
    found, findings = read("kind: List\nitems:\n" + "- a: 1\n" * 4)
    assert (len(found), remarks(findings)) == (3, ["None too-large $"])


def test_empty_documents_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, "MAX_DOCUMENTS", 3)
    _, findings = read("---\n" * 3)
    assert remarks(findings) == ["None no-objects $"]
    _, findings = read("---\n" * 4)
    assert remarks(findings) == ["None too-large $"]
    _, findings = read("---\n[\n" * 4)
    assert [each.code for each in findings] == ["syntax"] * 4 + ["too-large"]


def test_findings_beyond_the_bound_of_their_severity_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finding_module, "MAX_FINDINGS", 2)
    findings = Findings()
    severities: tuple[Severity, ...] = ("warning", "advice", "warning", "warning", "error")
    for line, severity in enumerate(severities):
        findings.add(severity, "syntax", file="x", line=line, message="m")
    assert [finding.severity for finding in findings] == ["warning", "advice", "warning", "error"]
    assert (len(findings), findings.omitted, findings.has_errors) == (5, 1, True)
    for line in (10, 11):
        findings.add("error", "syntax", file="x", line=line, message="m")
    assert [finding.severity for finding in findings].count("error") == 2
    assert (len(findings), findings.omitted) == (7, 2)
    assert [findings.keeps(each, "syntax") for each in ("error", "warning", "advice")] == [
        *(False, False, True)
    ]


def test_the_same_is_said_once() -> None:
    findings = Findings()
    for line in (1, 2, 1, 1):
        findings.add("warning", "syntax", file="x", line=line, message="m")
    assert [each.line for each in findings] == [1, 2]
    assert (len(findings), findings.omitted) == (2, 0)


def test_no_flood_of_warnings_hides_an_error() -> None:
    odd = ", ".join(f"x{at}: 1" for at in range(MAX_FINDINGS + 5))
    queue = "{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: %s}, spec: {%s}}"
    text = "\n---\n".join(
        [
            queue % ("flood", f"{odd}, resources: {{}}"),
            queue % ("wrong", "resources: {gpu: {quota: many}}"),
        ]
    )
    result = load(["-"], stdin=io.BytesIO(text.encode()))
    errors = [finding for finding in result.findings if finding.severity == "error"]
    assert [(finding.line, finding.code) for finding in errors] == [(3, "wrong-type")]
    assert (len(result.findings), result.omitted) == (MAX_FINDINGS + 1, 5)
    strict = load(["-"], strict=True, stdin=io.BytesIO(text.encode()))
    assert (len(strict.findings), strict.omitted) == (MAX_FINDINGS, 6)
