"""How facts reach the translator: in order within a kind, in any order across kinds.

Each kind has a watch of its own, which lags behind the server. What it told may come again later.
A watch that broke is replaced by a complete list, which is made at one moment and arrives at
another. The answer to a write of ours is told past the watch, which is late then.

A watch never tells what is older than the list that it began with, unless it told it before.
"""

from random import Random
from typing import NamedTuple, Protocol

from fairlead.manifest.text.documents import Document, cluster_document
from tests.manifest.reading import read_object
from tests.manifest.translate.api_server import (
    ApiServer,
    Key,
    KindKey,
    Object,
    WatchEvent,
    key_of,
)


class Listener(Protocol):
    """What takes facts in: a translator."""

    def changed(self, document: Document) -> None:
        """An object is there, in this version."""

    def removed(self, document: Document) -> None:
        """An object is gone; this was its last version."""

    def listed(self, group: str, kind: str, documents: list[Document]) -> None:
        """These are all objects of a kind."""


class _List(NamedTuple):
    """A complete list that was made and has not arrived yet."""

    values: list[Object]
    position: int  # in the log, from where the watch goes on


class Watches:
    """What the translator has been told, and what it has still to be told."""

    def __init__(self, server: ApiServer, listener: Listener) -> None:
        self.seen: dict[Key, Object] = {}  # the newest version that was told of each object
        self.valid: dict[Key, Object] = {}  # the newest that a reader accepts
        self._server = server
        self._listener = listener
        self._position: dict[KindKey, int] = {}
        self._told: dict[KindKey, list[WatchEvent]] = {}
        self._lists: dict[KindKey, _List] = {}

    def late_kinds(self) -> list[KindKey]:
        """Return the kinds of which something is still to be told."""
        late = {
            kind for kind, log in self._server.log.items() if self._position.get(kind, 0) < len(log)
        }
        return sorted(late | self._lists.keys())

    def deliver(self, kind: KindKey, count: int) -> None:
        """Tell the next events of a kind; if a list is under way, it arrives first."""
        self.end_list(kind)
        start = self._position.get(kind, 0)
        for event in self._server.log.get(kind, [])[start : start + count]:
            self._position[kind] = self._position.get(kind, 0) + 1
            self._tell(kind, event)

    def repeat(self, random: Random) -> None:
        """Tell something again that was told before, perhaps long ago."""
        kinds = sorted(kind for kind, told in self._told.items() if told)
        if kinds:
            kind = random.choice(kinds)
            self._hand_over(random.choice(self._told[kind]))

    def begin_list(self, kind: KindKey) -> None:
        """Break the watch of a kind; the list that replaces it shows what is there now."""
        log = self._server.log.get(kind, [])
        self._lists[kind] = _List(self._server.every(kind), len(log))

    def end_list(self, kind: KindKey) -> None:
        """Let the list arrive that is under way, if one is."""
        found = self._lists.pop(kind, None)
        if found is None:
            return
        self._position[kind] = max(found.position, self._position.get(kind, 0))
        listed = {key_of(value): value for value in found.values}
        for key in [key for key in self.seen if key.of == kind and key not in listed]:
            self._forget(key)
        for key, value in listed.items():
            self._told.setdefault(kind, []).append(WatchEvent(is_deleted=False, value=value))
            self._note(key, value)
        documents = [cluster_document(value) for value in found.values]
        self._listener.listed(kind.group, kind.kind, documents)

    def answer(self, value: Object) -> None:
        """Tell what a write of ours made of an object, before the watch shows it."""
        self._tell(key_of(value).of, WatchEvent(is_deleted=False, value=value))

    def catch_up(self) -> None:
        """Tell everything that is still to be told."""
        for kind in self.late_kinds():
            self.deliver(kind, len(self._server.log.get(kind, [])))

    def _tell(self, kind: KindKey, event: WatchEvent) -> None:
        self._told.setdefault(kind, []).append(event)
        key = key_of(event.value)
        if event.is_deleted:
            self._forget(key)
        else:
            self._note(key, event.value)
        self._hand_over(event)

    def _note(self, key: Key, value: Object) -> None:
        """Note a version of an object, if it is the newest, and whether it is valid."""
        known = self.seen.get(key)
        if known is not None and _version(known) >= _version(value):
            return
        if known is not None and known["metadata"]["uid"] != value["metadata"]["uid"]:
            self._forget(key)
        self.seen[key] = value
        if read_object(cluster_document(value)).is_usable:
            self.valid[key] = value

    def _forget(self, key: Key) -> None:
        self.seen.pop(key, None)
        self.valid.pop(key, None)

    def _hand_over(self, event: WatchEvent) -> None:
        document = cluster_document(event.value)
        if event.is_deleted:
            self._listener.removed(document)
        else:
            self._listener.changed(document)


def _version(value: Object) -> int:
    return int(value["metadata"]["resourceVersion"])
