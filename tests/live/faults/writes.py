"""The writes of a scheduler, named by what they mean.

The order of writes differs from run to run, and so do the names of namespaces and nodes, which
belong to one run, and which of several equal pods is a victim. "The 2nd eviction in the group
a/low" means the same in each of them: the pods low-1, low-2 and so on are alike.
"""

import json
import re
from collections import Counter
from typing import Any, Final

import msgspec

METHODS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})

_OBJECT: Final = re.compile(
    r"/apis?/(?:[^/]+/)?v[^/]+"
    r"(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>[^/]+))?"
)
_RUN: Final = re.compile(r"-run\d+\b")
_OF_GROUP: Final = re.compile(r"-\d+$")


class Write(msgspec.Struct, frozen=True, order=True):
    """One write of a run."""

    verb: str  # such as bind, evict, status, event
    subject: str  # such as "pods a/low", without what differs from run to run
    number: int  # 1: the first of this verb for this subject

    def __str__(self) -> str:
        return f"{self.verb} {self.subject} #{self.number}"


class Journal:
    """The writes of one run, in the order in which they came."""

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self._seen: Counter[tuple[str, str]] = Counter()

    def note(self, method: str, path: str, body: bytes) -> Write:
        """Add a write to the journal and return its name."""
        meaning = describe(method, path, body)
        self._seen[meaning] += 1
        write = Write(*meaning, self._seen[meaning])
        self.writes.append(write)
        return write


def named_for_run(name: str, run: int) -> str:
    """Return *name* of a namespace or node as it is in one run."""
    return f"{name}-run{run}"


def without_run(text: str) -> str:
    """Return *text* without what `named_for_run` has added to the names in it."""
    return _RUN.sub("", text)


def _group(name: str) -> str:
    """Return the name of a pod without its number in its group."""
    return _OF_GROUP.sub("", without_run(name))


def describe(method: str, path: str, body: bytes) -> tuple[str, str]:
    """Return the verb and the subject of a write."""
    found = _OBJECT.fullmatch(path)
    if found is None:
        return method.lower(), path
    plural, name, part = found["plural"], found["name"], found["part"]
    if plural == "events":
        return _event(method, body, name)
    whole_name = "/".join(each for each in (found["namespace"], _group(name or "")) if each)
    subject = without_run(f"{plural} {whole_name}".rstrip())
    match method, part:
        case "POST", "binding":
            return "bind", subject
        case "POST", "eviction":
            return "evict", subject
        case _, None:
            return method.lower(), subject
        case _:
            return str(part), subject


def _event(method: str, body: bytes, name: str | None) -> tuple[str, str]:
    """An Event is about another object, and its own name means nothing."""
    value = _json(body)
    about = value.get("regarding") or value.get("involvedObject") or {}
    if not about:  # a change of an earlier one
        return "event", f"{method} {_group((name or '').rpartition('.')[0])}"
    kind, namespace = about.get("kind"), without_run(about.get("namespace", ""))
    return "event", f"{value.get('reason')} {kind} {namespace}/{_group(about.get('name', ''))}"


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
