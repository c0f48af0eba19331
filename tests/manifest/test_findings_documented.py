"""Every code of a finding is explained in the reference, and every example there gives it."""

import io
import re
from typing import get_args

import msgspec
import pytest

from fairlead.cli.cluster.validate import with_unjudged
from fairlead.errors import Severity
from fairlead.manifest.finding import CODES
from fairlead.manifest.load import load
from tests.shared_folder import ROOT

PAGE = ROOT / "docs" / "reference" / "findings.md"

SECTION = re.compile(r"^### `(?P<code>[^`]*)`\n(?P<body>.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
SEVERITIES = re.compile(r"\bSeverity: (?P<words>[^.;]+)[.;]")
EXAMPLE = re.compile(r"^```yaml\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What the page says about one code."""

    code: str
    severities: frozenset[str]
    has_fix: bool
    example: str | None


def _section(match: re.Match[str]) -> Section:
    body = match["body"]
    words = SEVERITIES.search(body)
    example = EXAMPLE.search(body)
    return Section(
        code=match["code"],
        severities=frozenset(re.findall(r"\w+", words["words"]) if words else ()) - {"or"},
        has_fix="\nFix: " in body,
        example=example["text"] if example else None,
    )


SECTIONS = [_section(match) for match in SECTION.finditer(PAGE.read_text(encoding="utf-8"))]
EXAMPLES = [section for section in SECTIONS if section.example is not None]

# These need other bytes, or more of them, than a page can show.
WITHOUT_EXAMPLE = {
    "unreadable",
    "too-large",
    "too-deep",
    "not-utf8",
    "byte-order-mark",
    "control-character",
    "tab-indentation",
    "broken-row",  # of traces, which only a scenario names
    "dropped-rows",
    "forbidden",  # of a cluster, which no page reads
    "bad-certificate",  # of kubeconfigs, which no page shows to `validate`
    "unsupported-login",
    "unverified-server",
}


def test_the_page_has_every_code_once_in_its_order_and_nothing_else() -> None:
    assert [section.code for section in SECTIONS] == list(CODES)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)
def test_a_section_names_severities_and_a_fix(section: Section) -> None:
    assert section.severities
    assert section.severities <= set(get_args(Severity))
    assert section.has_fix


def test_every_code_that_a_page_can_show_has_an_example() -> None:
    assert set(CODES) - {section.code for section in EXAMPLES} == WITHOUT_EXAMPLE


@pytest.mark.parametrize("section", EXAMPLES, ids=lambda section: section.code)
def test_the_example_gives_the_finding_with_a_severity_that_the_page_names(
    section: Section,
) -> None:
    result = with_unjudged(load(["-"], stdin=io.BytesIO((section.example or "").encode())))
    found = {finding.severity for finding in result.findings if finding.code == section.code}
    assert found
    assert found <= section.severities
