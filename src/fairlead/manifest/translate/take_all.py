"""Hands a translator all objects of one input at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from fairlead.manifest.collection import Collection
from fairlead.manifest.core.tree_checks import only_one, place, refuse_duplicates
from fairlead.manifest.finding import Findings
from fairlead.manifest.object_names import kind_of, name_of, pod_id
from fairlead.manifest.objects import (
    KaiConfigObject,
    KueueSettingsObject,
    Object,
    OwnSettingsObject,
    PodObject,
)
from fairlead.manifest.text.path import quote
from fairlead.manifest.translate.translator import Translator
from fairlead.model.workload import PodId

Unique: TypeAlias = Callable[[Any, Findings], Iterable[Object]]
"""Returns which objects of one type count; every other one is an error."""

_SINGLE_TYPES: Final = (KaiConfigObject, KueueSettingsObject, OwnSettingsObject)
_NO_RULES: Final[Mapping[type, Unique]] = MappingProxyType({})


def take_all(
    translator: Translator,
    objects: Collection,
    findings: Findings,
    unique: Mapping[type, Unique] = _NO_RULES,
) -> None:
    """Let *translator* know every object. A name, or the uid of a pod, twice is an error.

    *unique* are other rules for what there may be once, by type. Objects are taken by name, so that
    no order of files matters.
    """
    for kind, found in objects.by_type().items():
        for each in sorted(unique.get(kind, _each_name_once)(found, findings), key=name_of):
            translator.take(each)
    _refuse_shared_ids(translator.mirror.of(PodObject).values(), findings)


def _each_name_once(found: Sequence[Object], findings: Findings) -> Iterable[Object]:
    if isinstance(found[0], _SINGLE_TYPES):
        single = only_one(found, kind_of(found[0]), findings)
        return () if single is None else (single,)
    return refuse_duplicates(found, name_of, kind_of(found[0]), findings)


def _refuse_shared_ids(pods: Iterable[PodObject], findings: Findings) -> None:
    firsts: dict[PodId, PodObject] = {}
    for pod in pods:
        first = firsts.setdefault(pod_id(pod), pod)
        if first is not pod:
            pod.source.report(
                findings,
                "error",
                "duplicate-object",
                ("metadata", "uid"),
                f"found the uid {quote(pod_id(pod))} a second time, expected another for each pod; "
                f"the first is at {place(first.source, ('metadata', 'uid'))}",
                "remove the uid of a pod that was copied",
            )
