"""Reads one object by itself, and finds out whether it can be used.

What is wrong with an object is a finding on that object alone. A command that reads files refuses
the whole input then; a live layer keeps the last good version of that object, and goes on. What
concerns several objects, such as a queue without its parent, is not looked at here.
"""

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.identify import Identified, identify
from fairlead.manifest.text.documents import Document


class ReadObject(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one document. Most kinds give one object, or none if it has no usable name.

    Of an object that is not usable, what was wrong is as by default: it serves to find out what
    else is wrong, and nothing more.
    """

    objects: tuple[Object, ...]  # none either of a kind that is left alone
    findings: tuple[Finding, ...]  # those that are kept: see `Findings`
    is_usable: bool  # no finding, kept or not, is an error


def read_object(document: Document, *, strict: bool = False) -> ReadObject:
    """Read *document*, of whatever kind it is. Never raises for what it holds."""
    findings = Findings(strict=strict)
    kind = identify(document, findings).kind
    objects = tuple(kind.read(document, findings)) if kind else ()
    return ReadObject(
        objects=objects, findings=findings.kept_since(0), is_usable=not findings.has_errors
    )


def read_identified(identified: Identified, findings: Findings) -> ReadObject:
    """Read an object of a known kind; its findings go to *findings* too, after those of others."""
    found_before, errors_before = findings.kept_count, findings.error_count
    kind = identified.kind
    objects = tuple(kind.read(identified.document, findings)) if kind else ()
    return ReadObject(
        objects=objects,
        findings=findings.kept_since(found_before),
        is_usable=findings.error_count == errors_before,
    )
