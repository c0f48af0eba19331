"""From what a user names on the command line to one cluster state, or to all that is wrong."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import BinaryIO, Final

import msgspec
from msgspec.structs import replace

from fairlead.errors import Finding
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.changes import with_changes
from fairlead.manifest.core.objects import Object, SettingsObject
from fairlead.manifest.core.tree_checks import place
from fairlead.manifest.finding import Findings
from fairlead.manifest.generated_names import name_generated
from fairlead.manifest.kinds import Identified, identify, warn_of_other_sections
from fairlead.manifest.registry import BUNDLES
from fairlead.manifest.text.documents import Document, read_bytes, read_documents
from fairlead.manifest.text.files import STDIN
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.manifest.text.values import Value
from fairlead.manifest.translate.assemble import assemble, assemble_valid
from fairlead.manifest.translate.family import OF_FILES, AssemblyRules
from fairlead.model.collector import paused_collector
from fairlead.policy.contract import POLICY_NAMES, PolicyName

CLUSTER: Final = "cluster"
"""Where something is found that is about a whole cluster: it stands in the place of a file."""
_ABOUT_ALL: Final = frozenset({"duplicate-object", "mixed-families"})
_SECOND_MS: Final = 1000  # a creation time is written in whole seconds


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an input.

    ``shards`` is empty when some finding is an error, unless the rules of reading take objects of a
    cluster that are not valid. Where the rule set knows no shards, there is one without a name.
    ``read`` and ``left_alone`` say how many objects of each kind there were.
    """

    shards: tuple[Assembled, ...]
    findings: tuple[Finding, ...]
    omitted: int  # findings beyond the bound, which are only counted
    read: Mapping[str, int]
    left_alone: Mapping[str, int]

    @property
    def assembled(self) -> Assembled | None:
        """The first shard; None: the input is refused."""
        return self.shards[0] if self.shards else None


@paused_collector()
def load(
    paths: Sequence[str],
    *,
    policy: PolicyName | None = None,
    strict: bool = False,
    stdin: BinaryIO | None = None,
    texts: Sequence[tuple[str, str]] = (),
    made: Sequence[Document] = (),
    changes: Sequence[str] = (),
    rules: AssemblyRules = OF_FILES,
    shard: str | None = None,
    every_shard: bool = False,
) -> LoadResult:
    """Read every object in *paths* (files, folders, ``-``) and put the cluster together.

    *texts* are read after them, each a name and what a file of that name would hold, and then the
    documents that were *made*. The objects in *changes*, again files, folders or ``-``, are then
    applied to all of these (see `with_changes`). The rule set is that of the queues in the input,
    unless *policy* says which; the objects of other rule sets are then left alone. With *strict*,
    an unknown field is an error. *rules* say how to take objects that are not complete. Of several
    shards, the one of the name *shard* counts, or *every_shard*, else the first. Never raises for
    what an input holds. Cost: linear in the input, for each shard.
    """
    findings = Findings(strict=strict)
    documents = read_documents(paths, findings, stdin=stdin)
    for name, text in texts:
        documents += read_bytes(text.encode(), name, findings)
    documents += made
    documents = with_changes(documents, read_documents(changes, findings, stdin=stdin))
    objects = [identify(document, findings) for document in name_generated(documents)]
    chosen = policy
    place_of_input = next(iter((*paths, *changes)), CLUSTER if made else STDIN)
    if policy is None and (objects or not findings.has_errors):  # else what is wrong is reported
        chosen = choose_policy(objects, place_of_input, findings)
    found, read, left_alone = _read(objects, chosen, findings)
    found = _with_ages(found)
    if chosen:
        settings = [each for each in found if isinstance(each, SettingsObject)]
        warn_of_other_sections(settings, chosen, findings)
    shards: tuple[Assembled, ...] = ()
    if chosen:
        names = BUNDLES[chosen].shards(found)
        wanted = _wanted_shards(names, shard, every_shard=every_shard)
        if shard is not None and not wanted:
            _report_no_shard(shard, names, place_of_input, findings)
        shards = _assemble_each(chosen, found, wanted, names, findings, rules)
    assert findings.has_errors or shards
    if findings.has_errors:
        shards = ()
        if chosen and not rules.refuses_invalid and _are_objects_of_a_cluster(findings):
            each_rules = [replace(rules, shard=each or next(iter(names), None)) for each in wanted]
            shards = tuple(assemble_valid(chosen, documents, each) for each in each_rules)
    return LoadResult(
        shards=shards,
        findings=_by_place(findings),
        omitted=findings.omitted,
        read=dict(sorted(read.items())),
        left_alone=dict(sorted(left_alone.items())),
    )


def _wanted_shards(
    names: Sequence[str], shard: str | None, *, every_shard: bool
) -> Sequence[str | None]:
    """Return which shards to put together, of those called *names*; None: the first."""
    if shard is not None:
        return (shard,) if shard in names else ()
    return names if every_shard and names else (None,)


def _are_objects_of_a_cluster(findings: Findings) -> bool:
    """Return whether all errors are about single objects that a cluster holds."""
    return all(
        each.file.startswith(f"{CLUSTER}: ") and each.code not in _ABOUT_ALL
        for each in findings
        if each.severity == "error"
    )


def _assemble_each(
    policy: PolicyName,
    objects: Sequence[Object],
    wanted: Sequence[str | None],
    names: Sequence[str],
    findings: Findings,
    rules: AssemblyRules,
) -> tuple[Assembled, ...]:
    """Put each shard together. What is found in several of them is reported once."""
    shards: list[Assembled] = []
    for shard in wanted:
        part = findings.continued() if len(wanted) > 1 else findings
        found = assemble(policy, objects, part, replace(rules, shard=shard))
        if part is not findings:
            findings.take_new(part)
        if found is not None:
            shards.append(replace(found, shard=shard or next(iter(names), None)))
    return tuple(shards)


def _report_no_shard(name: str, known: Sequence[str], file: str, findings: Findings) -> None:
    expected = f"expected one of: {', '.join(known)}" if known else "and the input has none"
    findings.add(
        "error",
        "missing-reference",
        file=file,
        message=f"found no SchedulingShard {quote(name)}, {expected}",
        fix=did_you_mean(name, known) or "leave --shard out, or correct the name",
    )


def _by_place(findings: Findings) -> tuple[Finding, ...]:
    """Sort by line within each file, the files in the order in which something was found."""
    files: dict[str, int] = {}
    for finding in findings:
        files.setdefault(finding.file, len(files))
    return tuple(sorted(findings, key=lambda each: (files[each.file], each.line or 0)))


def _read(
    objects: Sequence[Identified], policy: PolicyName | None, findings: Findings
) -> tuple[list[Object], Counter[str], Counter[str]]:
    """Read the objects of one rule set, or of all of them if it is not known which to take.

    Returns them, and how many of each kind were read and left alone.
    """
    found: list[Object] = []
    read: Counter[str] = Counter()
    left_alone: Counter[str] = Counter()
    others: list[Identified] = []
    for each in objects:
        if each.kind is None:
            left_alone[each.title] += 1
        elif policy and each.kind.policy not in (None, policy):
            left_alone[each.title] += 1
            others.append(each)
        else:
            read[each.title] += 1
            found += each.read(findings)
    if others and policy:
        _note_others(others, policy, findings)
    label = BUNDLES[policy].queue_label if policy else ""
    _note_unread([each for each in objects if each.kind is None], label, findings)
    return found, read, left_alone


def _with_ages(objects: Sequence[Object]) -> list[Object]:
    """Return the objects, those that wait and are not created yet as younger than all others."""
    if all(each.queued_ms != 0 for each in objects):
        return list(objects)
    latest_ms = max(each.latest_ms for each in objects)
    if latest_ms == 0:
        return list(objects)
    return [
        replace(each, created_ms=latest_ms + _SECOND_MS) if each.queued_ms == 0 else each
        for each in objects
    ]


def _note_others(others: Sequence[Identified], policy: PolicyName, findings: Findings) -> None:
    titles = Counter(each.title for each in others)
    listed = ", ".join(f"{count} {title}" for title, count in sorted(titles.items()))
    others[0].document.source.advise(
        findings,
        "left-alone",
        ("kind",),
        f"found objects of other rule sets than {policy}, which are left alone: {listed}",
        "name only the files of one rule set",
    )


def _note_unread(unread: Sequence[Identified], queue_label: str, findings: Findings) -> None:
    """Report objects of kinds that are not read and have pods or a queue, once for each kind."""
    alike: defaultdict[str, list[Identified]] = defaultdict(list)
    for each in unread:
        value = each.document.value
        if _has_template(value) or _has_label(value, queue_label):
            alike[each.title].append(each)
    for title, found in alike.items():
        found[0].document.source.advise(
            findings,
            "left-alone",
            ("kind",),
            f"found {len(found)} {title}, a kind that is not read; pods and workloads that are "
            "made of it count only where they are in the input",
            "add them, as kubectl get -A -o yaml writes them",
        )


def _has_label(value: Mapping[str, Value], label: str) -> bool:
    metadata = value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return isinstance(labels, dict) and label in labels


def _has_template(value: Value) -> bool:
    """Return whether a mapping in *value* has a list of containers. Cost: its size."""
    if isinstance(value, list):
        return any(map(_has_template, value))
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("containers"), list) or any(map(_has_template, value.values()))


_CHOICES = f"--policy {'|'.join(POLICY_NAMES)}"


def choose_policy(
    objects: Sequence[Identified], file: str, findings: Findings
) -> PolicyName | None:
    """Return the rule set whose queues are in the input; none or several are an error.

    Where there are no queues at all, the other objects of a rule set decide, if they agree. *file*
    stands in the finding where there is no object to point at.
    """
    queues = [each for each in objects if each.kind and each.kind.is_queue]
    firsts = _first_of_each_policy(queues) or _first_of_each_policy(objects)
    if len(firsts) == 1:
        return next(iter(firsts))
    if not firsts:
        what = "create your queues" if file == CLUSTER else "name the files that hold your queues"
        findings.add(
            "error",
            "no-queues",
            file=file,
            message=f"found no queues, expected {_queue_kinds()} objects",
            fix=f"{what}, or choose the rules with {_CHOICES}",
        )
        return None
    listed = ", ".join(
        f"{family} ({first.title} at {place(first.document.source)})"
        for family, first in sorted(firsts.items())
    )
    second = firsts[sorted(firsts)[1]]
    second.document.source.error(
        findings,
        "mixed-families",
        ("kind",),
        f"found objects of {len(firsts)} rule sets, expected one: {listed}",
        f"choose with {_CHOICES}, or name the files of one only",
    )
    return None


def _queue_kinds() -> str:
    *most, last = [bundle.queues for bundle in BUNDLES.values()]
    return f"{', '.join(most)} or {last}"


def _first_of_each_policy(objects: Sequence[Identified]) -> dict[PolicyName, Identified]:
    firsts: dict[PolicyName, Identified] = {}
    for each in objects:
        if each.kind and each.kind.policy:
            firsts.setdefault(each.kind.policy, each)
    return firsts
