"""What objects would be after ``kubectl apply`` of some manifests, without applying them.

A manifest holds what its author cares about. The rest of an object comes from the cluster: its uid,
its age, its status, and fields that others have set. So a change is merged into the object of its
name, as ``kubectl apply`` merges custom resources. It knows no lists whose items are merged by a
key, as those of some built-in kinds are: a list of the manifest takes the place of the whole list.
"""

from collections.abc import Iterable, Sequence
from typing import Final, cast

import msgspec

from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.values import Mapping, Value
from fairlead.manifest.translate.inbox import ObjectKey, key_of

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_FROM_THE_CLUSTER: Final = ("uid", "creationTimestamp", "resourceVersion", "deletionTimestamp")


def with_changes(documents: Iterable[Document], changes: Sequence[Document]) -> list[Document]:
    """Return *documents* with *changes* applied: objects of one name are merged, others added.

    Findings about a merged object point at its change. Two changes of one object both stay, so that
    the second is reported.
    """
    if not changes:
        return list(documents)
    found = list(documents)
    places: dict[ObjectKey | None, int] = {key_of(each.value): at for at, each in enumerate(found)}
    added: list[Document] = []
    for change in changes:
        key = key_of(change.value)
        at = None if key is None else places.pop(key, None)
        if at is None:
            added.append(change)
        else:
            value = applied(found[at].value, change.value)
            found[at] = msgspec.structs.replace(change, value=value)
    return [*found, *added]


def applied(live: Mapping, change: Mapping) -> Mapping:
    """Return the object *live* after *change* was applied to it.

    What was applied before and is not in the change any more is taken away, where *live* says what
    that was. A change in another version of the API has other fields: of *live* only the metadata
    and the status are kept then.
    """
    if live.get("apiVersion") != change.get("apiVersion"):
        kept: Mapping = {key: live[key] for key in ("metadata", "status") if key in live}
        return _with_own_identity(live, _merged(kept, change))
    without = _without(live, _last_applied(live), change)
    return _with_own_identity(live, _merged(without, change))


def _merged(old: Value, new: Value) -> Mapping:
    """Merge mappings key by key, at every depth; null takes a key away."""
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in cast("Mapping", new).items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _merged(result.get(key), value)
        else:
            result[key] = value
    return result


def _without(live: Value, before: Value, change: Value) -> Mapping:
    """Return a mapping without the keys that *before* has and *change* has not, at every depth."""
    result = dict(cast("Mapping", live))
    if not (isinstance(before, dict) and isinstance(change, dict)):
        return result
    for key, value in before.items():
        if key in result and key not in change:
            del result[key]
        elif isinstance(result.get(key), dict):
            result[key] = _without(result[key], value, change.get(key))
    return result


def _last_applied(live: Mapping) -> Value:
    """Return the manifest that ``kubectl apply`` noted on the object; None: it noted none."""
    annotations = _mapping(_mapping(live.get("metadata")).get("annotations"))
    text = annotations.get(_LAST_APPLIED)
    if not isinstance(text, str):
        return None
    try:
        return msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, RecursionError):
        return None


def _with_own_identity(live: Mapping, result: Mapping) -> Mapping:
    """Return *result* as the same object as *live*, whatever an old copy of it says."""
    own = _mapping(live.get("metadata"))
    identity: Mapping = {key: own[key] for key in _FROM_THE_CLUSTER if key in own}
    return {**result, "metadata": {**_mapping(result.get("metadata")), **identity}}


def _mapping(value: Value) -> Mapping:
    return value if isinstance(value, dict) else {}
