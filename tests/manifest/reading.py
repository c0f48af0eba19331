"""Read a text as a file would be read, and show what was found."""

from collections.abc import Sequence
from textwrap import dedent
from typing import BinaryIO, NamedTuple

from fairlead.errors import Finding, ManifestError
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import identify
from fairlead.manifest.load import load
from fairlead.manifest.text.documents import Document, read_bytes
from fairlead.manifest.text.values import Mapping
from fairlead.policy.contract import PolicyName


def read(text: str | bytes, file: str = "queues.yaml") -> tuple[list[Document], Findings]:
    findings = Findings()
    data = text if isinstance(text, bytes) else dedent(text).encode()
    return read_bytes(data, file, findings), findings


def sole(text: str, file: str = "queues.yaml") -> Mapping:
    found, findings = read(text, file)
    assert [str(finding) for finding in findings] == []
    assert len(found) == 1
    return found[0].value


def remarks(findings: Findings) -> list[str]:
    """Show findings as ``line code path``."""
    return [f"{finding.line} {finding.code} {finding.path}" for finding in findings]


class ReadObject(NamedTuple):
    """One document read by itself: its objects, what was found, and whether none is an error."""

    objects: tuple[Object, ...]
    findings: tuple[Finding, ...]
    is_usable: bool


def read_object(document: Document, *, strict: bool = False) -> ReadObject:
    findings = Findings(strict=strict)
    objects = identify(document, findings).read(findings)
    return ReadObject(objects, tuple(findings), not findings.has_errors)


def load_or_raise(
    paths: Sequence[str],
    *,
    policy: PolicyName | None = None,
    strict: bool = False,
    stdin: BinaryIO | None = None,
) -> Assembled:
    """Load as `load` does, but raise `ManifestError` with all findings if one is an error."""
    result = load(paths, policy=policy, strict=strict, stdin=stdin)
    if result.assembled is None:
        raise ManifestError(result.findings)
    return result.assembled
