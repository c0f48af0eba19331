"""Whatever is written is read back, and no bytes let anything but findings escape."""

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.manifest.finding import CODES, Findings
from fairlead.manifest.text.build import Builder
from fairlead.manifest.text.documents import read_bytes
from fairlead.manifest.text.json_documents import compose_json
from fairlead.manifest.text.limits import MAX_DEPTH
from fairlead.manifest.text.values import Mapping, height
from fairlead.manifest.text.yaml_documents import cut_stream
from fairlead.manifest.text.yaml_nodes import Tally
from tests.manifest.reading import read, remarks
from tests.manifest.value_strategies import as_json, mappings


@given(value=mappings, is_ascii=st.booleans())
def test_json_is_read_back_as_it_was_written_fast_or_with_care(
    value: Mapping, is_ascii: bool
) -> None:
    text = as_json(value, is_ascii=is_ascii)
    found, findings = read(text.encode(), "x.json")
    assert remarks(findings) == []
    assert found[0].value == value
    # 1.0 and 1 are equal, but written apart.
    assert as_json(found[0].value, is_ascii=is_ascii) == text

    complaints: list[tuple[object, ...]] = []
    careful = Builder(lambda *remark: complaints.append(remark), 1, Tally())
    assert careful.build(compose_json(text)) == value
    assert complaints == []


@given(mappings)
def test_yaml_reads_what_json_reads(value: Mapping) -> None:
    """JSON without escaped surrogates is YAML; the comment in front leaves no choice."""
    found, findings = read(b"# YAML\n" + as_json(value, is_ascii=False).encode())
    assert remarks(findings) == []
    assert found[0].value == value


fragments = st.lists(
    st.sampled_from(
        [
            *("a", "b: ", "- ", "? ", ": ", "\n", "\n  ", "\t", "---\n", "...\n", "%YAML 1.1\n"),
            *("&x ", "*x", "<<: ", "!!str ", "!y ", "!", "{", "}", "[", "]", ",", "'", '"', "\\u"),
            *("|\n", ">-\n", "# c", "kind: List\n", "items:\n", "1e9", ".nan", "0x", "@", "\0"),
            *("\r", "\u2028", "\x85", "\ufeff", "null", "\\ud800", '"a":', "NaN", "1e999"),
        ]
    ),
    max_size=30,
).map("".join)
anything = st.binary(max_size=60) | fragments.map(str.encode)


@given(data=anything, file=st.sampled_from(["x.yaml", "x.json", "<stdin>"]))
@example(data=b"{" * 5000, file="x.yaml")
@example(data=b"%a\n" * 5000, file="x.yaml")
@example(data=b"&x " * 100, file="x.yaml")
@example(data=b"? *x : *x", file="x.yaml")
def test_no_bytes_let_anything_but_findings_escape(data: bytes, file: str) -> None:
    findings = Findings()
    found = read_bytes(data, file, findings)
    for finding in findings:
        assert finding.code in CODES
        str(finding).encode()
        lines = data.count(b"\n") + data.count(b"\r") + data.count(b"\xe2\x80\xa8")
        assert finding.line is None or 1 <= finding.line <= 2 + lines + data.count(b"\xc2\x85")
    for document in found:
        assert isinstance(document.value, dict)
        assert height(document.value) <= MAX_DEPTH
        first_line = document.source.line
        assert first_line is not None
        assert first_line >= 1
        for key in document.value:
            assert (document.source.locate((key,)) or 0) >= first_line
    assert found or len(findings) > 0, "whatever yields no object says why"


@given(
    st.lists(st.sampled_from(["---", "--- x", "----", " ---", "%a", "a: 1", "...", "", "---\t"]))
)
def test_cutting_a_stream_loses_nothing_and_counts_lines(lines: list[str]) -> None:
    text = "\n".join(lines)
    pieces = list(cut_stream(text))
    assert "".join(piece for _, piece in pieces) == text
    for line, piece in pieces:
        assert piece == "" or text.split("\n")[line - 1] == piece.split("\n")[0]
