"""Fields are read by type; what is wrong is told with its place, and reading goes on."""

import gc
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import Finding
from fairlead.manifest.finding import CODES, Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document, Source, read_bytes
from fairlead.manifest.text.fields import parse_timestamp
from fairlead.manifest.text.piece import YamlPiece
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.manifest.text.values import REFUSED, Value
from fairlead.model.collector import paused_collector


def stand_in(text: str) -> tuple[Cursor, Findings]:
    """Stand at the top of the first object in *text*."""
    findings = Findings()
    documents = read_bytes(dedent(text).encode(), "queue.yaml", findings)
    return Cursor.of(documents[0], findings), findings


def shown(findings: Findings) -> list[str]:
    """Show findings as ``line severity code path``."""
    return [f"{each.line} {each.severity} {each.code} {each.path}" for each in findings]


QUEUE = """\
    apiVersion: scheduling.run.ai/v2
    kind: Queue
    metadata:
      name: team-a
      creationTimestamp: "2026-11-15T09:30:00Z"
      labels: {department: research, empty: }
    spec:
      parentQueue: department
      priority: 100
      weight: 2.5
      preemptible: true
      strategy: StrictFIFO
      share: 500m
      quota: {cpu: 1500m, memory: 16Gi, nvidia.com/gpu: 0.5}
      minRuntime: 1d12h
      covered: [cpu, memory]
      flavors:
      - name: on-demand
        nominalQuota: 4
      - name: spot
        nominalQuota: 250m
      nothing: null
    status: {allocated: 7}
"""


def test_an_object_is_read_like_a_table_of_its_fields() -> None:
    top, findings = stand_in(QUEUE)
    top.ignore("apiVersion", "kind", "status")
    metadata, spec = top.mapping("metadata", required=True), top.mapping("spec")
    assert metadata.text("name") == "team-a"
    assert metadata.timestamp("creationTimestamp", None) == 1_794_735_000_000
    assert metadata.text_map("labels") == {"department": "research", "empty": ""}
    assert spec.text("parentQueue", "") == "department"
    assert spec.integer("priority", 100) == 100
    assert spec.decimal("weight", Decimal(1)) == Decimal("2.5")
    assert spec.boolean("preemptible", False) is True
    assert spec.choice("strategy", {"BestEffortFIFO": 1, "StrictFIFO": 2}, 1) == 2
    assert spec.fraction("share", Fraction(1)) == Fraction(1, 2)
    gibibytes = 2**30
    assert spec.quantities("quota") == {
        "cpu": 1500,
        "memory": 16 * gibibytes,
        "nvidia.com/gpu": 500,
    }
    assert spec.duration("minRuntime") == 36 * 3_600_000
    assert spec.texts("covered") == ("cpu", "memory")
    flavors = [
        (each.text("name"), each.quantity("nominalQuota", "cpu")) for each in spec.items("flavors")
    ]
    assert flavors == [("on-demand", 4000), ("spot", 250)]
    assert spec.text("nothing", "default") == "default"
    assert spec.has("covered")
    assert not spec.has("nothing")
    assert not spec.has("missing")
    top.finish()
    assert shown(findings) == []


Read = Callable[[Cursor], object]
READS: dict[str, tuple[Read, object]] = {
    "text": (lambda at: at.text("x", "default"), "default"),
    "choice": (lambda at: at.choice("x", {"a": 1}, 7), 7),
    "boolean": (lambda at: at.boolean("x", True), True),
    "integer": (lambda at: at.integer("x", 7), 7),
    "decimal": (lambda at: at.decimal("x", None), None),
    "factor": (lambda at: at.factor("x", None), None),
    "fraction": (lambda at: at.fraction("x", None), None),
    "quantity": (lambda at: at.quantity("x", "cpu", 7), 7),
    "duration": (lambda at: at.duration("x", None), None),
    "timestamp": (lambda at: at.timestamp("x", None), None),
    "mapping": (lambda at: at.mapping("x").has("y"), False),
    "items": (lambda at: at.items("x"), []),
    "texts": (lambda at: at.texts("x"), ()),
    "text_map": (lambda at: at.text_map("x"), {}),
    "quantities": (lambda at: at.quantities("x"), {}),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("text", ["y: 1", "x: null\ny: 1", "x:\ny: 1", "x: ~\ny: 1"])
def test_null_is_the_same_as_absent(name: str, text: str) -> None:
    read, default = READS[name]
    top, findings = stand_in(text)
    assert read(top) == default
    assert shown(findings) == []


# Each row: how the field is read, what is there, the code, and a word of the message or the fix.
WRONG = """
    text             5              wrong-type     quotes
    text             1.20           wrong-type     quotes
    text             on             wrong-type     "yes, no, on, off"
    text             [a]            wrong-type     "a list, expected a text"
    text             {a: b}         wrong-type     "a mapping, expected a text"
    choice           b              bad-choice     "one of: a"
    choice           A              bad-choice     "did you mean"
    choice           5              bad-choice     "the number 5"
    boolean          "'true'"       wrong-type     "without quotes"
    boolean          1              wrong-type     "true or false"
    integer          "'5'"          wrong-type     "remove the quotes"
    integer          five           wrong-type     "write a number"
    integer          1.5            wrong-type     "whole number"
    integer          true           wrong-type     "the boolean true"
    decimal          "'1e3'"        wrong-type     "remove the quotes"
    decimal          many           wrong-type     "expected a number"
    decimal          true           wrong-type     "the boolean true"
    fraction         1/2            bad-quantity   "such as 500m"
    fraction         [1]            wrong-type     "a quantity"
    quantity         5Gib           bad-quantity   "did you mean 5Gi?"
    quantity         lots           bad-quantity   "such as 500m"
    quantity         true           wrong-type     "a quantity"
    quantity         -1             out-of-range   "at least 0"
    quantity         -1m            out-of-range   "at least 0"
    quantity         8Ei            out-of-range   "at most 9223372036854775807"
    quantity         9223372036854775808  out-of-range  "at most 9223372036854775807"
    quantity         -8Ei           out-of-range   "at most 9223372036854775807"
    integer          1e19           out-of-range   "between -1e18 and 1e18"
    decimal          -1e19          out-of-range   "between -1e18 and 1e18"
    factor           -1             out-of-range   "at least 0"
    factor           1e19           out-of-range   "between 0 and 1e18"
    factor           1e-19          out-of-range   "at most 18 decimals"
    fraction         1e19           out-of-range   "between -1e18 and 1e18"
    fraction         "'1e-19'"        out-of-range   "at most 18 decimals"
    duration         5              wrong-type     "with its unit"
    duration         5 minutes      bad-duration   "1h30m"
    timestamp        yesterday      bad-timestamp  "2026-11-15T09:30:00Z"
    timestamp        2026-11-15T09:30:00  bad-timestamp  "expected its time zone, too"
    timestamp        2026-11-15T09:30:00  bad-timestamp  "write 2026-11-15T09:30:00Z for UTC"
    timestamp        5              wrong-type     "2026-11-15T09:30:00Z"
    mapping          text           wrong-type     "expected a mapping"
    mapping          [1]            wrong-type     "a list, expected a mapping"
    items            text           wrong-type     "expected a list"
    items            {a: b}         wrong-type     "a mapping, expected a list"
    texts            text           wrong-type     "expected a list"
    text_map         [1]            wrong-type     "expected a mapping"
    quantities       5              wrong-type     "expected a mapping"
"""


@pytest.mark.parametrize("row", WRONG.strip().splitlines())
def test_what_is_wrong_is_told_and_the_default_returned(row: str) -> None:
    name, rest = row.strip().split(maxsplit=1)
    written, code, words = (part.strip() for part in split_row(rest))
    read, default = READS[name]
    top, findings = stand_in(f"y: 1\nx: {written}\n")
    assert read(top) == default
    assert shown(findings) == [f"2 error {code} $.x"]
    (finding,) = findings
    assert words.strip('"') in finding.message + " " + finding.fix
    assert finding.message.startswith("found ")
    assert "expected" in finding.message
    assert finding.fix


def test_numbers_are_taken_up_to_their_bounds() -> None:
    top, findings = stand_in(
        """\
        cores: 9223372036854775807
        bytes: "9223372036854775807"
        number: -1e18
        large: 1000000000000000000.000000000000000001
        small: 0.000000000000000001
        """
    )
    assert top.quantity("cores", "cpu") == 1000 * (2**63 - 1)  # millicores
    assert top.quantity("bytes", "memory") == 2**63 - 1
    assert top.decimal("number") == -(10**18)
    assert top.factor("small") == top.fraction("small") == Fraction(1, 10**18)
    assert shown(findings) == []
    top.factor("large")
    assert shown(findings) == ["4 error out-of-range $.large"]


def split_row(rest: str) -> tuple[str, str, str]:
    """Take a row apart at its code, since values and words may hold spaces."""
    code = next(word for word in rest.split() if word in CODES)
    written, words = rest.split(f" {code} ", maxsplit=1)
    written = written.strip()
    return (written.strip('"') if written.startswith("\"'") else written), code, words


REQUIRED: dict[str, tuple[Read, object]] = {
    "text": (lambda at: at.text("x"), ""),
    "choice": (lambda at: at.choice("x", {"a": 1, "b": 2}), 1),
    "boolean": (lambda at: at.boolean("x"), False),
    "integer": (lambda at: at.integer("x"), 0),
    "decimal": (lambda at: at.decimal("x"), Decimal(0)),
    "factor": (lambda at: at.factor("x"), Decimal(0)),
    "fraction": (lambda at: at.fraction("x"), Fraction(0)),
    "quantity": (lambda at: at.quantity("x", "cpu"), 0),
    "duration": (lambda at: at.duration("x"), 0),
    "timestamp": (lambda at: at.timestamp("x"), 0),
    "mapping": (lambda at: at.mapping("x", required=True).has("y"), False),
}


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_field_that_is_missing_is_told_once_at_its_mapping(name: str) -> None:
    read, zero = REQUIRED[name]
    top, findings = stand_in("y: 1\nspec:\n  x:\n")
    assert read(top) == zero
    assert read(top.mapping("spec")) == zero
    assert shown(findings) == ["1 error missing-field $.x", "3 error missing-field $.spec.x"]


@pytest.mark.parametrize("name", REQUIRED)
def test_a_value_that_was_refused_already_is_not_told_again(name: str) -> None:
    read, zero = REQUIRED[name]
    top, findings = stand_in("x: .nan\n")
    assert read(top) == zero
    assert READS[name][0](top) == READS[name][1]
    assert shown(findings) == ["1 error bad-number $.x"]


def test_a_required_text_must_not_be_empty() -> None:
    top, findings = stand_in("name: ''\nother: ''\n")
    assert top.text("name") == ""
    assert top.text("other", "default") == ""
    assert shown(findings) == ["1 error missing-field $.name"]


def test_below_what_is_wrong_or_missing_nothing_more_is_missed() -> None:
    top, findings = stand_in("spec: text\n")
    top.mapping("spec").mapping("deeper").text("name")
    top.mapping("metadata", required=True).text("name")
    assert shown(findings) == ["1 error wrong-type $.spec", "1 error missing-field $.metadata"]


def test_each_wrong_item_is_told_and_the_others_are_read() -> None:
    text = """\
        items:
        - {name: a}
        - 5
        -
        texts: [a, 5, b, null]
        map: {a: b, c: 5, d: }
        amounts: {cpu: 1, memory: 1Gib, pods: 2, gpu: }
    """
    top, findings = stand_in(text)
    assert [each.text("name", "-") for each in top.items("items")] == ["a", "-", "-"]
    assert top.texts("texts") == ("a", "b")
    assert top.text_map("map") == {"a": "b", "d": ""}
    assert top.quantities("amounts") == {"cpu": 1000, "pods": 2}
    assert shown(findings) == [
        "3 error wrong-type $.items[1]",
        "4 error wrong-type $.items[2]",
        "5 error wrong-type $.texts[1]",
        "5 error wrong-type $.texts[3]",
        "6 error wrong-type $.map.c",
        "7 error bad-quantity $.amounts.memory",
    ]


def test_numbers_may_be_bounded() -> None:
    top, findings = stand_in("low: -2\nhigh: 8\nfine: 3.0\n")
    assert top.integer("low", 0, minimum=-1) == 0
    assert top.integer("high", None, maximum=7) is None
    assert top.integer("fine", 0, minimum=3, maximum=3) == 3
    assert shown(findings) == ["1 error out-of-range $.low", "2 error out-of-range $.high"]
    assert [each.message for each in findings] == [
        "found the number -2, expected at least -1",
        "found the number 8, expected at most 7",
    ]


def test_what_is_finer_than_we_count_is_rounded_with_a_warning() -> None:
    top, findings = stand_in("cpu: 1.0001\nwait: 1500us\nall:\n  memory: 100m\n")
    assert top.quantity("cpu", "cpu") == 1001
    assert top.duration("wait") == 1
    assert top.quantities("all") == {"memory": 1}
    assert shown(findings) == [
        "1 warning rounded $.cpu",
        "2 warning rounded $.wait",
        "4 warning rounded $.all.memory",
    ]
    assert [each.fix for each in findings] == ["write 1001m", "write 1ms", "write 1"]
    assert not findings.has_errors


def test_a_duration_that_is_cut_to_nothing_is_not_told_to_write_nothing() -> None:
    top, findings = stand_in("wait: 1ns\nlength: 1ns\n")
    assert top.duration("wait") == 0
    assert top.duration("length", is_zero_refused=True) == 0  # left for the caller to tell
    assert shown(findings) == ["1 warning rounded $.wait"]
    assert [each.fix for each in findings] == ["write 0s, or 1ms or more"]


def test_unknown_fields_are_warned_about_with_a_guess() -> None:
    text = """\
        kind: Queue
        spec:
          resources:
            gpu: {qouta: 1}
          parentqueue: a
          zzz: 1
        status: {x: 1}
    """
    top, findings = stand_in(text)
    top.ignore("kind", "status")
    spec = top.mapping("spec")
    spec.text("parentQueue", "")
    spec.mapping("resources").mapping("gpu").decimal("quota", None)
    top.finish()
    assert [(each.line, each.path, each.fix) for each in findings] == [
        (5, "$.spec.parentqueue", 'did you mean "parentQueue"?'),
        (6, "$.spec.zzz", "remove it, or check its place"),
        (4, "$.spec.resources.gpu.qouta", 'did you mean "quota"?'),
    ]
    assert {(each.severity, each.code) for each in findings} == {("warning", "unknown-field")}


def test_asking_whether_a_field_is_there_does_not_count_as_reading_it() -> None:
    top, findings = stand_in("spec: {}\n")
    assert top.has("spec")
    top.finish()
    assert shown(findings) == ["1 warning unknown-field $.spec"]


def test_a_reader_can_ask_what_was_refused_so_that_it_adds_nothing() -> None:
    top, findings = stand_in("{sound: [a], wrong: 5, mixed: [a, 5], number: .nan, spec: 5}")
    for key in ("sound", "wrong", "mixed", "absent"):
        top.texts(key)
    top.integer("number")
    spec = top.mapping("spec")
    assert [key for key in (*top.keys(), "absent") if top.is_refused(key)] == [
        "wrong",
        "mixed",
        "number",
        "spec",
    ]
    assert spec.is_refused("anything")
    assert not top.mapping("absent").is_refused("anything")
    assert len(findings) == 4


def test_a_reader_can_report_at_a_key_or_a_path_of_its_own() -> None:
    top, findings = stand_in("kind: List\nitems:\n- spec:\n    min: 5\n    max: 3\n")
    spec = top.mapping("spec")
    spec.error("max", "out-of-range", "found min above max", "raise max")
    spec.warn(("min",), "rounded", "m")
    spec.advise((), "rounded", "m")
    assert shown(findings) == [
        "5 error out-of-range $.items[0].spec.max",
        "4 warning rounded $.items[0].spec.min",
        "3 advice rounded $.items[0].spec",
    ]


def test_a_finding_is_plain_data() -> None:
    top, findings = stand_in("a: 1\nname: 5\n")
    top.text("name")
    assert list(findings) == [
        Finding(
            severity="error",
            code="wrong-type",
            file="queue.yaml",
            line=2,
            path="$.name",
            message="found the number 5, expected a text",
            fix="put it in quotes",
        )
    ]


def test_a_hostile_text_is_shown_short_and_without_control_characters() -> None:
    top, findings = stand_in('"\\e[31m": 1\nname: "' + "\\e" * 500 + '"\n')
    top.integer("name")
    top.finish()
    assert all(len(str(each)) < 600 and "\x1b" not in str(each) for each in findings)
    assert [each.path for each in findings] == ["$.name", '$["\\u001b[31m"]']


TIMES = """
    1970-01-01T00:00:00Z            0
    1970-01-01T00:00:00.5Z          500
    1970-01-01T00:00:00.123456789Z  123
    1970-01-01t00:00:01z            1000
    1970-01-01T01:00:00+01:00       0
    1970-01-01T00:00:00-01:30       5400000
    1969-12-31T23:59:59.999Z        -1
    2024-02-29T12:00:00Z            1709208000000
    0001-01-01T00:00:00Z            -62135596800000
"""

NO_TIMES = [
    *("", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-13-01T00:00:00Z"),
    *(
        "2023-02-29T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:60Z",
        "0000-01-01T00:00:00Z",
    ),
    *("2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00Z\n", "now"),
]


@pytest.mark.parametrize("row", TIMES.strip().splitlines())
def test_times_are_milliseconds_since_1970(row: str) -> None:
    text, expected_ms = row.split()
    assert parse_timestamp(text) == int(expected_ms)


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_is_refused(text: str) -> None:
    top, findings = stand_in(f"a: {text!r}\n")
    assert top.timestamp("a", None) is None
    assert [each.code for each in findings] == ["bad-timestamp"]


def test_a_guess_is_made_only_for_what_is_near_and_short() -> None:
    known = ["nominalQuota", "borrowingLimit"]
    assert did_you_mean("NOMINALQUOTA", known) == 'did you mean "nominalQuota"?'
    assert did_you_mean("lendingPolicy", known) == ""
    assert did_you_mean("nominalQuota" * 100, known) == ""


values: st.SearchStrategy[Value] = st.recursive(
    st.sampled_from([None, True, 0, -1, 10**300, Decimal("0.5"), Decimal("1e-300"), REFUSED])
    | st.sampled_from(["", "a", "1", "1Gi", "1e99", "-1m", "1w", "5 m", "2024-02-30T00:00:00Z"])
    | st.text(max_size=5),
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "y", "cpu", "\0"]), each, max_size=3)
    ),
    max_leaves=6,
)


@given(value=st.dictionaries(st.sampled_from(["x", "y", "x y"]), values))
def test_no_value_lets_anything_but_findings_escape(value: dict[str, Value]) -> None:
    piece = YamlPiece("x.yaml", 1, "{}")
    findings = Findings()
    document = Document(source=Source(piece=piece, path=()), value=value)
    for reads in (READS, REQUIRED):
        for read, _ in reads.values():
            top = Cursor.of(document, findings)
            read(top)
            for child in [*top.items("x"), top.mapping("x")]:
                read(child)
            top.finish()
    assert all(each.code in CODES for each in findings)


def test_what_was_read_is_freed_without_the_collector() -> None:
    """It is paused while manifests are read, so that cycles of references would pile up."""
    gc.collect()
    with paused_collector():
        top, _ = stand_in("spec: {resources: {gpu: {quota: 1}}}")
        spec = top.mapping("spec")
        spec.mapping("resources").mapping("gpu").integer("quota")
        top.finish()
        del top, spec
        left = [each for each in gc.get_objects() if isinstance(each, Cursor)]
    assert left == []
