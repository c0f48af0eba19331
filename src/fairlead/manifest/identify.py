"""Finds out of what kind an object is, before anything else of it is read."""

import msgspec

from fairlead.manifest.bundle import Kind
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import (
    KINDS,
    UNTYPED,
    groups_with,
    kind_title,
    kinds_in,
)
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.fields import FieldError, text_of
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.manifest.text.values import REFUSED, Mapping

NO_KIND = "without kind"

_TYPE_KEYS = ("apiVersion", "kind")


class Identified(msgspec.Struct, frozen=True, kw_only=True):
    """An object, what to call its kind, and how to read it: None if it is to be left alone."""

    document: Document
    title: str
    kind: Kind | None


def identify(document: Document, findings: Findings) -> Identified:
    """Find out of what kind *document* is, and warn where that looks like a typing mistake."""
    value = document.value
    api_version, name = value.get("apiVersion"), value.get("kind")
    if isinstance(api_version, str) and isinstance(name, str):
        group, _, version = api_version.rpartition("/")
        kind = KINDS.get((group, name))
        if kind is None:
            _suspect_kind(document, group, name, findings)
        elif version not in kind.versions:
            _report_version(document, version, kind, findings)
        return Identified(document=document, title=kind_title(group, name), kind=kind)
    for untyped in UNTYPED:
        if untyped.matches(value):
            return Identified(document=document, title=untyped.title, kind=untyped.kind)
    _report_no_kind(document, findings)
    return Identified(document=document, title=NO_KIND, kind=None)


def _suspect_kind(document: Document, group: str, name: str, findings: Findings) -> None:
    guess = did_you_mean(name, kinds_in(group))
    elsewhere = groups_with(name)
    if not guess and group == "" and elsewhere:
        guess = f"write apiVersion: {elsewhere[0]}/{KINDS[elsewhere[0], name].versions[0]}"
    if guess:
        message = f"found the unknown kind {quote(kind_title(group, name))}; it is left alone"
        document.source.report(findings, "warning", "unknown-kind", ("kind",), message, guess)


def _report_version(document: Document, version: str, kind: Kind, findings: Findings) -> None:
    message = f"found the unknown version {quote(version)}; read as {kind.versions[0]}"
    fix = f"write one of: {', '.join(kind.versions)}"
    document.source.report(findings, "warning", "unknown-version", ("apiVersion",), message, fix)


def _report_no_kind(document: Document, findings: Findings) -> None:
    """Refuse what was meant as an object; only warn about some other file in the same folder."""
    value = document.value
    if REFUSED in map(value.get, _TYPE_KEYS):
        return  # reported already
    _report_types(document, findings)
    missing = [key for key in _TYPE_KEYS if value.get(key) is None]
    if not missing:
        return
    document.source.report(
        findings,
        "error" if _looks_like_object(value) else "warning",
        "unknown-kind",
        (missing[0],) if missing[0] in value else (),
        f"found a mapping without {missing[0]}, expected an object with apiVersion and kind",
        f"add {missing[0]}, or leave the file out",
    )


def _report_types(document: Document, findings: Findings) -> None:
    for key in _TYPE_KEYS:
        value = document.value.get(key)
        try:
            if value is not None:
                text_of(value)
        except FieldError as wrong:
            document.source.report(findings, "error", wrong.code, (key,), wrong.message, wrong.fix)


def _looks_like_object(value: Mapping) -> bool:
    return any(key in value for key in (*_TYPE_KEYS, "metadata", "spec"))
