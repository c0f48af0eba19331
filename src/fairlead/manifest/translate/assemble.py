"""From all objects of one input to a cluster state, with everything that is wrong with them."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.core.objects import Object, PodObject, pod_id
from fairlead.manifest.core.tree_checks import only_one, place, refuse_duplicates
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.path import quote
from fairlead.manifest.translate.directory import ObjectDirectory
from fairlead.manifest.translate.family import OF_FILES, AssemblyRules
from fairlead.manifest.translate.translator import Translator
from fairlead.model.workload import PodId
from fairlead.policy.contract import PolicyName

_NAME_OF_UNNAMED: Final = "of-a-file"


def assemble(
    policy: PolicyName,
    objects: Iterable[Object],
    findings: Findings,
    rules: AssemblyRules = OF_FILES,
) -> Assembled | None:
    """Return the state that *objects* describe, or None if any finding of the run is an error.

    The order in which the objects were read changes nothing. Cost: about one look at every object,
    and sorting.
    """
    translator = Translator(policy, rules)
    family = translator.family
    _take_all(translator, objects, findings)
    shared = findings if family.finds_while_settling else None
    translator.take_in(shared)
    family.check_objects(findings)
    translator.report_owners(findings)
    if not family.finds_while_settling and findings.has_errors:
        return None
    translator.settle(shared)
    family.check_units(list(translator.units.values()), findings)
    if findings.has_errors:
        return None
    translator.volumes.report(translator.units.values(), findings)
    family.complete(translator.state, findings)
    return as_assembled(translator)


def assemble_valid(
    policy: PolicyName, documents: Iterable[Document], rules: AssemblyRules
) -> Assembled:
    """Return the state that *documents* describe as a scheduler takes them: see `Inbox`.

    What is wrong with one of them does not matter to the others, and is not reported here.
    """
    translator = Translator(policy, rules)
    for each in documents:
        translator.changed(with_name(each))
    translator.settle()
    return as_assembled(translator, rules.shard)


def with_name(document: Document) -> Document:
    """Return an object with a name; some of which there is one at most need none."""
    metadata = document.value.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    named = {**document.value, "metadata": {"name": _NAME_OF_UNNAMED, **known}}
    return document if "name" in known else replace(document, value=named)


def as_assembled(translator: Translator, shard: str | None = None) -> Assembled:
    """Return the state of *translator*, which goes on to change with it."""
    return Assembled(
        state=translator.state,
        settings=translator.settings,
        directory=ObjectDirectory(translator.family, translator.units, translator.made),
        shard=shard,
    )


def _take_all(translator: Translator, objects: Iterable[Object], findings: Findings) -> None:
    """Let *translator* know every object. A name, or the uid of a pod, twice is an error.

    Objects are taken by name, so that no order of files matters.
    """
    unique = translator.family.unique
    by_type: dict[type, list[Object]] = {}
    for each in objects:
        by_type.setdefault(type(each), []).append(each)
    for kind, found in by_type.items():
        for each in sorted(unique.get(kind, _each_name_once)(found, findings), key=_key):
            translator.take(each)
    _refuse_shared_ids(translator.mirror.of(PodObject).values(), findings)


def _key(each: Object) -> str:
    return each.key()


def _each_name_once(found: Sequence[Object], findings: Findings) -> Iterable[Object]:
    kind = found[0].kind
    if found[0].is_single:
        single = only_one(found, kind, findings)
        return () if single is None else (single,)
    return refuse_duplicates(found, _key, kind, findings)


def _refuse_shared_ids(pods: Iterable[PodObject], findings: Findings) -> None:
    firsts: dict[PodId, PodObject] = {}
    for pod in pods:
        first = firsts.setdefault(pod_id(pod), pod)
        if first is not pod:
            pod.source.error(
                findings,
                "duplicate-object",
                ("metadata", "uid"),
                f"found the uid {quote(pod_id(pod))} a second time, expected another for each pod; "
                f"the first is at {place(first.source, ('metadata', 'uid'))}",
                "remove the uid of a pod that was copied",
            )
