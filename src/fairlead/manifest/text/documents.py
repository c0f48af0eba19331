"""Objects out of files or a cluster: each a plain mapping that knows where its values stand.

YAML streams, JSON and lists of objects all end up as documents. The happy path keeps no lines:
a document remembers its piece of the text, and the text is looked at again only when a finding
needs a line.
"""

import codecs
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO, Final

import msgspec

from fairlead.errors import Severity
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.build import Remark, Report
from fairlead.manifest.text.files import read_inputs
from fairlead.manifest.text.json_documents import cut_json, looks_like_json
from fairlead.manifest.text.limits import MAX_DOCUMENTS
from fairlead.manifest.text.path import Path, path_text
from fairlead.manifest.text.piece import ClusterPiece, JsonPiece, Piece
from fairlead.manifest.text.values import REFUSED, Mapping, Value, describe
from fairlead.manifest.text.yaml_documents import Placed, unfold, yaml_values
from fairlead.manifest.text.yaml_nodes import TextError

_NAMES: Final = ("namespace", "name")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where an object was written, in a file or a cluster, and where in it each field stands."""

    piece: Piece
    path: Path  # where in the piece the object stands: () or that of a list item

    @property
    def file(self) -> str:
        """The name of the file, as the user gave it, or the object of a cluster."""
        return self.piece.file

    @property
    def line(self) -> int | None:
        """The line, from 1, on which the object begins; None: it has no lines."""
        return self.locate(())

    def locate(self, path: Path) -> int | None:
        """Return the line, from 1, of a path within the object, or of the nearest thing above it.

        None: it has no lines. Cost: the first question about a piece of text parses it again.
        """
        return self.piece.line_of((*self.path, *path))

    def path_text(self, path: Path = ()) -> str:
        """Write a path within the object as seen from the root of the text: ``$.items[3].spec``."""
        return path_text((*self.path, *path))

    def report(
        self,
        findings: Findings,
        severity: Severity,
        code: str,
        path: Path,
        message: str,
        fix: str = "",
    ) -> None:
        """Put a remark about a path within the object into *findings*."""
        findings.add(
            severity,
            code,
            file=self.file,
            line=self.locate(path) if findings.keeps(severity, code) else None,
            path=self.path_text(path),
            message=message,
            fix=fix,
        )

    def error(self, findings: Findings, code: str, path: Path, message: str, fix: str = "") -> None:
        """Report that something within the object is wrong."""
        self.report(findings, "error", code, path, message, fix)

    def warn(self, findings: Findings, code: str, path: Path, message: str, fix: str = "") -> None:
        """Report that something within the object is doubtful."""
        self.report(findings, "warning", code, path, message, fix)

    def advise(
        self, findings: Findings, code: str, path: Path, message: str, fix: str = ""
    ) -> None:
        """Report that something within the object could be better."""
        self.report(findings, "advice", code, path, message, fix)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One object of the input: its value, and its source."""

    source: Source
    value: Mapping


def read_documents(
    names: Iterable[str], findings: Findings, *, stdin: BinaryIO | None = None
) -> list[Document]:
    """Return every object in the files, folders and stdin (``-``) that are named, in order.

    Never raises for what an input holds: all that is wrong goes to *findings*, and everything
    else is returned. An object with an error in it is returned too, with `REFUSED` at the spot,
    so that its other mistakes are reported in the same run.
    """
    return [
        document
        for file, data in read_inputs(names, findings, stdin=stdin)
        for document in read_bytes(data, file, findings)
    ]


def cluster_document(value: Mapping) -> Document:
    """Return an object of a cluster as a document without lines.

    *value* must be decoded as `Value` says: a number is an int or a Decimal.
    """
    kind, metadata = value.get("kind"), value.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    names = [each for each in map(named.get, _NAMES) if isinstance(each, str)]
    piece = ClusterPiece(kind if isinstance(kind, str) else "object", tuple(names))
    return Document(source=Source(piece=piece, path=()), value=value)


def read_bytes(data: bytes, file: str, findings: Findings) -> list[Document]:
    """Return every object in one file's content. Law and cost as for `read_documents`."""
    before = len(findings)
    text = decode_text(data, file, findings)
    if text is None:
        return []
    values = _at_most_documents(_values(text, file, findings), file, findings)
    documents = list(islice(_objects(values, findings), MAX_DOCUMENTS + 1))
    if len(documents) > MAX_DOCUMENTS:
        _refuse_number(file, findings)
    elif not documents and len(findings) == before:
        message = "found no object"
        findings.add("warning", "no-objects", file=file, message=message)
    return documents[:MAX_DOCUMENTS]


def _values(text: str, file: str, findings: Findings) -> Iterator[Placed]:
    report = _reporter(file, findings)
    must_be_json = file.lower().endswith(".json")
    if must_be_json or looks_like_json(text):
        pieces: list[Placed] = []
        remarks: list[Remark] = []
        try:
            values = cut_json(text, lambda *remark: remarks.append(remark))
            for line, piece, value in islice(values, MAX_DOCUMENTS + 1):
                pieces.append((JsonPiece(file, line, piece), (), value))
            is_json = True
        except TextError as wrong:
            is_json = must_be_json
            remarks.append((wrong.code, (), wrong.line, wrong.message, wrong.fix))
        if is_json:  # else it may still be YAML that begins with a bracket
            for remark in remarks:
                report(*remark)
            yield from pieces
            return
    yield from yaml_values(text, file, report)


def _at_most_documents(values: Iterable[Placed], file: str, findings: Findings) -> Iterator[Placed]:
    """Pass on as many as there may be: a hostile file may hold millions of empty ones."""
    for count, value in enumerate(values):
        if count == MAX_DOCUMENTS:
            _refuse_number(file, findings)
            return
        yield value


def _refuse_number(file: str, findings: Findings) -> None:
    message = f"found more than {MAX_DOCUMENTS:,} objects or empty documents"
    findings.add("error", "too-large", file=file, message=message, fix="split the file")


def _objects(values: Iterable[Placed], findings: Findings) -> Iterator[Document]:
    def refuse(path: Path, found: Value, expected: str, fix: str) -> None:
        message = f"found {describe(found)}, expected {expected}"
        source = Source(piece=piece, path=path)
        source.error(findings, "not-an-object", (), message, fix)

    def refuse_items(path: Path, found: Value) -> None:
        refuse(path, found, "a list of objects", 'write a list: each item begins with "- "')

    for piece, start, value in values:
        for path, item in unfold(value, refuse_items, start):
            if isinstance(item, dict):
                yield Document(source=Source(piece=piece, path=path), value=item)
            elif item is not REFUSED and (item is not None or path):
                refuse(
                    path,
                    item,
                    "a mapping with apiVersion and kind",
                    "write one object, separate objects with ---, or use kind: List",
                )


def _reporter(file: str, findings: Findings) -> Report:
    def report(code: str, path: Path, line: int, message: str, fix: str) -> None:
        findings.add(
            "error", code, file=file, line=line, path=path_text(path), message=message, fix=fix
        )

    return report


_FIX = "save the file as UTF-8, without a byte order mark"
_OTHER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def decode_text(data: bytes, file: str, findings: Findings) -> str | None:
    """Return the text with plain line ends, or None with an error when it is not UTF-8.

    A leading byte order mark is taken off with an advice, because other tools stumble over it.
    Neither YAML nor JSON distinguishes the kinds of line ends.
    """
    for mark, name in _OTHER_MARKS.items():
        if data.startswith(mark):
            message = f"found {name} text, expected UTF-8"
            findings.add("error", "not-utf8", file=file, line=1, message=message, fix=_FIX)
            return None
    if data.startswith(codecs.BOM_UTF8):
        message = "found a byte order mark at the beginning"
        findings.add("advice", "byte-order-mark", file=file, line=1, message=message, fix=_FIX)
        data = data[len(codecs.BOM_UTF8) :]
    try:
        return _with_plain_ends(data.decode())
    except UnicodeDecodeError as error:
        line = 1 + _with_plain_ends(data[: error.start].decode()).count("\n")
        message = f"found the byte 0x{data[error.start]:02X}, which is not UTF-8 text"
        findings.add("error", "not-utf8", file=file, line=line, message=message, fix=_FIX)
        return None


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
