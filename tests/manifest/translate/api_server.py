"""The other side: an API server in memory, with a log of watch events for each kind.

It does what a real one does as far as a scheduler can notice: one counter of versions for all
objects, another uid for an object that is made anew under an old name, deletion in two steps for a
pod that has a node, a bind that is refused when the pod is gone, bound or being deleted. It has
neither admission nor validation, so that malformed objects get in as they do by a lenient CRD.

An object is never changed in place: what a watcher was given stays as it was.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

Object: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Object], None]

FINISHED = ("Succeeded", "Failed")


class KindKey(NamedTuple):
    """A kind by its API group."""

    group: str
    kind: str


class Key(NamedTuple):
    """One object by its kind and name; the namespace is "" where the kind has none."""

    of: KindKey
    namespace: str
    name: str


class WatchEvent(NamedTuple):
    """What a watch tells: an object is there in this version, or was there in it last."""

    is_deleted: bool
    value: Object


POD = KindKey("", "Pod")
NODE = KindKey("", "Node")
NAMESPACE = KindKey("", "Namespace")
PRIORITY_CLASS = KindKey("scheduling.k8s.io", "PriorityClass")
BUDGET = KindKey("policy", "PodDisruptionBudget")
CLAIM = KindKey("", "PersistentVolumeClaim")
VOLUME = KindKey("", "PersistentVolume")
ATTACH_LIMITS = KindKey("storage.k8s.io", "CSINode")
STORAGE_CLASS = KindKey("storage.k8s.io", "StorageClass")


class ApiServer:
    """Objects by key, and what happened to those of each kind."""

    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000
        self.objects: dict[Key, Object] = {}
        self.log: dict[KindKey, list[WatchEvent]] = {}
        self._versions = 0
        self._uids = 0

    def keys(self, *kinds: KindKey) -> list[Key]:
        """Return the keys of all objects of *kinds*, or of all kinds, sorted."""
        return sorted(key for key in self.objects if not kinds or key.of in kinds)

    def every(self, kind: KindKey) -> list[Object]:
        """Return the objects of a kind, as a list request does."""
        return [self.objects[key] for key in self.keys(kind)]

    def by_uid(self, kind: KindKey, uid: str) -> Key | None:
        """Return the key of an object that is still there."""
        found = (key for key in self.keys(kind) if self.objects[key]["metadata"]["uid"] == uid)
        return next(found, None)

    def create(self, value: Object) -> Key | None:
        """Store a new object; None if the name is taken."""
        key = key_of(value)
        if key in self.objects:
            return None
        self._uids += 1
        stored = copied(value)
        stored["metadata"] |= {
            "uid": f"uid-{self._uids}",
            "creationTimestamp": timestamp(self.now_ms),
            "generation": 1,
        }
        self._store(key, stored)
        return key

    def update(self, key: Key, change: Change) -> Object:
        """Store what *change* makes of a copy of the object, and return it."""
        before = self.objects[key]
        stored: Object = copied(before)
        change(stored)
        if stored == before:
            return before
        if stored.get("spec") != before.get("spec"):
            stored["metadata"]["generation"] += 1
        self._store(key, stored)
        return stored

    def delete(self, key: Key) -> None:
        """Delete an object: a pod that has a node and has not finished only begins to leave."""
        value = self.objects[key]
        if key.of == POD and is_bound(value) and value["status"].get("phase") not in FINISHED:
            if not is_terminating(value):
                self.update(key, self._mark_deleted)
            return
        self.remove(key)

    def remove(self, key: Key) -> None:
        """Let an object be gone at once."""
        gone = copied(self.objects.pop(key))
        self._tell(key, gone, is_deleted=True)

    def bind(self, uid: str, node: str, change: Change) -> Object | None:
        """Give a pod its node, and what else *change* sets with it; None: that is refused."""
        key = self.by_uid(POD, uid)
        if key is None or is_bound(self.objects[key]) or is_terminating(self.objects[key]):
            return None

        def bound(pod: Object) -> None:
            change(pod)
            pod["spec"]["nodeName"] = node
            condition = {"type": "PodScheduled", "status": "True"}
            pod["status"]["conditions"] = [
                {**condition, "lastTransitionTime": timestamp(self.now_ms)}
            ]

        return self.update(key, bound)

    def evict(self, uid: str) -> Object | None:
        """Delete a pod with this uid; None if there is none. To do so again is no mistake."""
        key = self.by_uid(POD, uid)
        if key is None:
            return None
        self.delete(key)
        return self.objects.get(key)

    def _mark_deleted(self, value: Object) -> None:
        value["metadata"]["deletionTimestamp"] = timestamp(self.now_ms)

    def _store(self, key: Key, value: Object) -> None:
        self.objects[key] = value
        self._tell(key, value, is_deleted=False)

    def _tell(self, key: Key, value: Object, *, is_deleted: bool) -> None:
        self._versions += 1
        value["metadata"]["resourceVersion"] = str(self._versions)
        self.log.setdefault(key.of, []).append(WatchEvent(is_deleted, value))


def key_of(value: Object) -> Key:
    """Return where an object belongs."""
    group = value["apiVersion"].rpartition("/")[0]
    metadata = value["metadata"]
    return Key(KindKey(group, value["kind"]), metadata.get("namespace", ""), metadata["name"])


def is_bound(pod: Object) -> bool:
    """Return whether a pod has a node."""
    return bool(pod["spec"].get("nodeName"))


def is_terminating(value: Object) -> bool:
    """Return whether the deletion of an object has begun."""
    return "deletionTimestamp" in value["metadata"]


def timestamp(at_ms: int) -> str:
    """Write a time as Kubernetes does, in whole seconds."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def copied(value: Any) -> Any:
    """Return a copy that shares no mapping and no list with *value*."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [copied(each) for each in value]
    return value


def condition(value: Object, kind: str, status: str, at_ms: int, reason: str = "") -> None:
    """Set a condition in the status of an object; its time is that of the change of status."""
    conditions = value["status"].setdefault("conditions", [])
    before = next((each for each in conditions if each["type"] == kind), None)
    if before is not None:
        conditions.remove(before)
    is_same = before is not None and before["status"] == status
    since = before["lastTransitionTime"] if before is not None and is_same else timestamp(at_ms)
    conditions.append(
        {"type": kind, "status": status, "reason": reason, "lastTransitionTime": since}
    )
