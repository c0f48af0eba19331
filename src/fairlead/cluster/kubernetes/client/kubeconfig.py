"""Reads kubeconfigs: which cluster, which user and which namespace a context stands for.

Several files are read as kubectl reads them: the first file that has an entry of a name wins, and
its entry counts as a whole; a file that does not exist is passed over; a relative path is one from
the folder of the file that it stands in. Only the entries that the context names are read, so a
mistake in another one is no hindrance.

Findings never show the value of a field, because any of them may be a secret in the wrong place.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import read_bytes
from fairlead.manifest.text.files import read_inputs
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean

_SECTIONS: Final = ("clusters", "users", "contexts")
_MOST_NAMES: Final = 8  # of contexts that a message lists


class Entry(NamedTuple):
    """What a section of a kubeconfig holds under a name, and the folder of its file."""

    cursor: Cursor
    folder: Path

    def file(self, key: str) -> Path | None:
        """Read the path of a file; a relative one starts in the folder of the kubeconfig."""
        name = self.cursor.text(key, "")
        return self.folder / name if name else None


class Context(NamedTuple):
    """What a context stands for."""

    name: str
    namespace: str
    cluster: Entry  # of `Entry.cursor` the mapping ``cluster``
    user: Entry | None  # the mapping ``user``; None: requests are anonymous


class Kubeconfig(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of all files, by section and name."""

    files: tuple[Path, ...]  # that exist
    current_context: str
    sections: Mapping[str, Mapping[str, Entry]]


def named_files(given: str, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return which files are meant: the *given* one, those in KUBECONFIG, or the user's own."""
    if given:
        return (Path(given),)
    listed = [name for name in environ.get("KUBECONFIG", "").split(":") if name]
    if listed:
        return tuple(map(Path, dict.fromkeys(listed)))
    home = environ.get("HOME", "")
    return (Path(home, ".kube", "config"),) if home else ()


def read_kubeconfig(files: Sequence[Path], findings: Findings) -> Kubeconfig:
    """Read and merge *files*, of which those that do not exist are passed over."""
    found: list[Path] = []
    current_context = ""
    sections: dict[str, dict[str, Entry]] = {section: {} for section in _SECTIONS}
    for file in files:
        if not file.exists():
            continue
        found.append(file)
        top = _top(file, findings)
        if top is None:
            continue
        current_context = current_context or top.text("current-context", "")
        for section, entries in sections.items():
            for name, cursor in _named(top, section).items():
                entries.setdefault(name, Entry(cursor, file.absolute().parent))
    return Kubeconfig(files=tuple(found), current_context=current_context, sections=sections)


def select_context(config: Kubeconfig, wanted: str, findings: Findings) -> Context | None:
    """Return what the *wanted* context, else the current one, stands for; None with an error."""
    name = wanted or config.current_context
    contexts = config.sections["contexts"]
    if name not in contexts:
        _refuse_context(config, name, findings)
        return None
    cursor, _ = contexts[name]
    context = cursor.mapping("context", required=True)
    cluster = _referenced(config, context, "cluster")
    user = _referenced(config, context, "user") if context.has("user") else None
    namespace = context.text("namespace", "") or "default"
    context.ignore("extensions")
    cursor.finish()
    if cluster is None or (user is None and context.has("user")):
        return None
    return Context(name, namespace, cluster, user)


def without_values(findings: Iterable[Finding]) -> Findings:
    """Return the findings about a kubeconfig without the values that stand in it."""
    shown = Findings()
    for each in findings:
        message = each.message
        if each.code not in _SHOWS_NAMES:
            message = _VALUE.sub(lambda match: f"a {match[1]}", message)
            message = _QUOTED.sub('"..."', message)
        shown.add(
            each.severity,
            each.code,
            file=each.file,
            line=each.line,
            path=each.path,
            message=message,
            fix=each.fix,
        )
    return shown


_QUOTED: Final = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*')""")
_VALUE: Final = re.compile(rf"the (text|number|tag) (?:{_QUOTED.pattern}|[^\s,]+)")
# What these say in quotes are keys, and names of contexts, clusters and users.
_SHOWS_NAMES: Final = frozenset(
    ("duplicate-key", "duplicate-entry", "unknown-field", "missing-reference", "unsupported-login")
)


def _top(file: Path, findings: Findings) -> Cursor | None:
    if file.is_dir():
        message = "found a folder, expected a kubeconfig"
        fix = "name the file in it"
        findings.add("error", "unreadable", file=str(file), message=message, fix=fix)
        return None
    documents = [
        document
        for name, data in read_inputs([str(file)], findings)
        if data.strip()  # an empty file is an empty kubeconfig
        for document in read_bytes(data, name, findings)
    ]
    for document in documents[1:]:
        message = "found a second document, expected one kubeconfig"
        fix = "put each kubeconfig into a file of its own and name both in KUBECONFIG"
        document.source.error(findings, "syntax", (), message, fix)
    return Cursor.of(documents[0], findings) if documents else None


def _named(top: Cursor, section: str) -> dict[str, Cursor]:
    entries: dict[str, Cursor] = {}
    for cursor in top.items(section):
        name = cursor.text("name")
        if name in entries:
            message = f"found {quote(name)} a second time in {section}"
            cursor.error("name", "duplicate-entry", message, "remove or rename one of them")
        elif name:
            entries[name] = cursor
    return entries


def _referenced(config: Kubeconfig, context: Cursor, key: str) -> Entry | None:
    """Return the cluster or user that *context* names, as the mapping that holds its fields."""
    name = context.text(key)
    entry = config.sections[f"{key}s"].get(name)
    if entry is None:
        if name:
            message = f"found no {key} named {quote(name)} in any of the kubeconfigs"
            known = did_you_mean(name, config.sections[f"{key}s"])
            context.error(key, "missing-reference", message, known or f"add it to {key}s")
        return None
    return Entry(entry.cursor.mapping(key, required=True), entry.folder)


def _refuse_context(config: Kubeconfig, name: str, findings: Findings) -> None:
    known = sorted(config.sections["contexts"])
    listed = ", ".join(map(quote, known[:_MOST_NAMES])) + (", ..." * (len(known) > _MOST_NAMES))
    message = "found no current-context, and no other context is asked for"
    if name:
        message = f"found no context named {quote(name)}"
    fix = f"choose one of {listed} with --context" if known else "add a context"
    findings.add(
        "error",
        "missing-reference",
        file=":".join(map(str, config.files)),
        path="$.contexts" if name else "$.current-context",
        message=message,
        fix=did_you_mean(name, known) or fix,
    )
