"""A list of objects that is cut into its items means what it means as a whole."""

from textwrap import dedent

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.finding import Findings
from fairlead.manifest.text import yaml_documents
from fairlead.manifest.text.documents import Document, read_bytes
from fairlead.manifest.text.path import Path
from fairlead.manifest.text.piece import YamlItemPiece
from fairlead.manifest.text.values import Value
from fairlead.manifest.text.yaml_documents import cut_list
from tests.manifest.reading import read, remarks


def whole(text: str) -> tuple[list[Document], Findings]:
    """Read a text without cutting lists."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_documents, "cut_list", lambda _: None)
        return read(text)


def paths_in(value: Value, path: Path = ()) -> list[Path]:
    """List the paths of a value and of all below it, and one beside each that leads nowhere."""
    children: list[tuple[str | int, Value]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    below = [each for step, child in children for each in paths_in(child, (*path, step))]
    return [path, (*path, "nowhere"), *below]


def assert_alike(text: str) -> None:
    cut_documents, cut_findings = read(text)
    documents, findings = whole(text)
    assert sorted(remarks(cut_findings)) == sorted(remarks(findings))
    assert [each.value for each in cut_documents] == [each.value for each in documents]
    for one, other in zip(cut_documents, documents, strict=True):
        for path in paths_in(one.value):
            assert one.source.locate(path) == other.source.locate(path)
            assert one.source.path_text(path) == other.source.path_text(path)


LISTS = {
    "as kubectl prints it": """\
        apiVersion: v1
        items:
        - apiVersion: v1
          kind: Pod
          spec:
            containers:
            - name: a
        - apiVersion: v1
          kind: Node
        kind: List
        metadata:
          resourceVersion: ""
        """,
    "indented, with comments": """\
        kind: List
        items:  # all of them
          # the first

          - a: 1
          # the second
          - b: |
              - text
            c: 1
            c: 2
          -
          - - nested
          - 5
        """,
    "a typed list": "kind: QueueList\napiVersion: x/v1\nitems:\n- a: 1\n- {kind: b}\n",
    "a list in a list": "kind: List\nitems:\n- kind: List\n  items:\n  - a: 1\n  - b: 2\n",
    "keys twice, in the frame and in an item": (
        "kind: List\nitems:\n- a: 1\n  a: 2\nkind: List\nitems: [c]\n"
    ),
    "an anchor that is used in another item": ("kind: List\nitems:\n- a: &x {b: 1}\n- c: *x\n"),
    "a text in quotes that looks like an item": (
        'kind: List\nitems:\n- a: "b\n- c"\n- d: "e\n- f"\n'
    ),
    "brackets that look like items": "kind: List\nitems:\n- a: [1,\n- 2]\n- b: 1\n",
    "a text in quotes that looks like a list": (
        'a: "\nitems:\n- y\nb"\nkind: List\nitems: [{c: 1}]\n'
    ),
    "a list that another object follows at once": (
        "apiVersion: v1\nitems:\n- a: 1\n- b: 1\nkind: List\napiVersion: v1\nkind: Pod\n"
    ),
    "items twice, of which the first are those that count": (
        "kind: List\nitems: [{a: 1}]\nitems:\n- b: 1\n"
    ),
    "items at two margins": "items:\n  - a: 1\n- b: 1\nkind: List\n",
    "an anchor that another one replaces": ("a: &x PodList\nitems:\n- {b: &x Pod}\nkind: *x\n"),
    "a merge from the frame": "a: &x {b: 1}\nkind: List\nitems:\n- <<: *x\n",
    "no list": "kind: Pod\nitems:\n- a: 1\n- b: 1\n",
    "no kind": "items:\n- a: 1\n",
    "a mistake in an item": "kind: List\nitems:\n- a: 1\n- b: c: d\n- e: 1\n",
    "a mistake in the frame": "kind: List\nitems:\n- a: 1\n- b: 1\nx: [\n",
    "a dash that is no item": "kind: List\nitems:\n- a: 1\n-b: 2\n",
    "a key between the margins": "kind: List\nitems:\n  - a: 1\n b: 2\n",
    "an item that is too deep": "kind: List\nitems:\n- a: " + "[" * 64 + "]" * 64 + "\n",
    "line ends of another kind": "kind: List\nitems:\n- a: 'x\x85  y'\n- b: 1\n  b: 2\n",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS.keys())
def test_a_list_means_the_same_cut_or_whole(text: str) -> None:
    assert_alike("# head\n---\n" + dedent(text))


scalars = st.none() | st.integers() | st.text(st.sampled_from("a-#: \n\"'[]{}é\t"), max_size=8)
items = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab-", max_size=2), inner),
    max_leaves=6,
)


@given(
    items=st.lists(items, min_size=1, max_size=4),
    others=st.dictionaries(st.sampled_from(["a", "metadata", "z"]), scalars),
    width=st.sampled_from([1, 80]),
    style=st.sampled_from([None, '"', "'", "|"]),
)
def test_any_list_means_the_same_cut_or_whole(
    items: list[Value], others: dict[str, Value], width: int, style: str | None
) -> None:
    value = {"kind": "List", "items": items, **others}
    text = yaml.safe_dump(value, width=width, default_style=style, allow_unicode=True)
    assert_alike(text)


lines = st.sampled_from(
    [
        *("kind: List", "kind: QueueList", "kind: Pod", "apiVersion: v1", "metadata: {}", "..."),
        *("items:", "items: # c", "items: [{a: 1}]", '"items":', "? items", "- kind: List"),
        *("- a: 1", "  a: 2", "-", "- - b", "  - c: 1", "  -", "    d: 1", "-e: 1", "-\tf: 1"),
        *("- |", "- >+", "  - g: |", "    - text", "     text", "- 'q", "- r'", "- [1,", "- 2]"),
        *("# comment", "  # comment", "", "\t", "- <<: {h: 1}", "- !t x", "  items:", "- *x"),
    ]
)


@given(
    st.lists(lines, max_size=8),
    st.sampled_from(["kind: List\nitems:\n", "items:\n", "kind: List\n"]),
)
def test_any_lines_mean_the_same_cut_or_whole(lines: list[str], head: str) -> None:
    assert_alike(head + "\n".join(lines) + "\nkind: List\n")


def test_a_list_as_kubectl_prints_it_is_cut() -> None:
    text = dedent(LISTS["as kubectl prints it"])
    found = cut_list(text)
    assert found is not None
    assert [line for line, _ in found.items] == [2, 7]
    assert "".join(item for _, item in found.items) in text
    assert found.frame.split("\n")[9] == "kind: List"


def test_a_line_in_a_long_list_needs_a_look_at_one_item_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "items:\n" + "".join(f"- name: n{at}\n  x: 1\n" for at in range(100)) + "kind: List\n"
    found = read_bytes(text.encode(), "x.yaml", Findings())
    looked_at: list[str] = []
    piece = found[70].source.piece
    assert isinstance(piece, YamlItemPiece)
    make_locator = type(piece)._make_locator

    def noting(self: YamlItemPiece, text: str) -> object:
        looked_at.append(text)
        return make_locator(self, text)

    monkeypatch.setattr(type(piece), "_make_locator", noting)
    assert found[70].source.locate(("x",)) == 143  # after the key items and 70 items of two lines
    assert looked_at == ["- name: n70\n  x: 1\n"]
