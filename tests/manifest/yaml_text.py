"""A manifest in a test's text, as a reader sees it."""

from textwrap import dedent

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import read_bytes


def cursor_of(text: str) -> tuple[Cursor, Findings]:
    """Return a cursor at the one object in *text*, and where its findings go."""
    findings = Findings()
    (document,) = read_bytes(dedent(text).encode(), "test.yaml", findings)
    return Cursor.of(document, findings), findings


def remarks(findings: Findings) -> list[str]:
    """Return each finding as ``severity code path``, in the order of the paths."""
    return sorted(f"{each.severity} {each.code} {each.path}" for each in findings)
