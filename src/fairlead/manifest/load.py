"""From what a user names on the command line to one cluster state, or to all that is wrong."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO, Final, TypeAlias

import msgspec

from fairlead.errors import Finding, ManifestError
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.choose_policy import choose_policy
from fairlead.manifest.collection import Collection
from fairlead.manifest.elastic_quota.assemble import assemble_elastic_quota
from fairlead.manifest.finding import Findings
from fairlead.manifest.identify import Identified, identify
from fairlead.manifest.kai.assemble import assemble_kai
from fairlead.manifest.kueue.assemble import assemble_kueue
from fairlead.manifest.objects import OwnSettingsObject
from fairlead.manifest.read_object import read_identified
from fairlead.manifest.read_settings import warn_of_other_sections
from fairlead.manifest.text.collector import paused_collector
from fairlead.manifest.text.documents import Document, read_bytes, read_documents
from fairlead.policy.contract import PolicyName

Assembler: TypeAlias = Callable[[Collection, Findings], Assembled | None]

ASSEMBLERS: Final[Mapping[PolicyName, Assembler]] = {
    "kai": assemble_kai,
    "kueue": assemble_kueue,
    "elastic-quota": assemble_elastic_quota,
}


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an input. ``assembled`` is None exactly when some finding is an error.

    ``read`` and ``left_alone`` say how many objects of each kind there were.
    """

    assembled: Assembled | None
    findings: tuple[Finding, ...]
    omitted: int  # findings beyond the bound, which are only counted
    read: Mapping[str, int]
    left_alone: Mapping[str, int]


@paused_collector()
def load(
    paths: Sequence[str],
    *,
    policy: PolicyName | None = None,
    strict: bool = False,
    stdin: BinaryIO | None = None,
    texts: Sequence[tuple[str, str]] = (),
    made: Sequence[Document] = (),
) -> LoadResult:
    """Read every object in *paths* (files, folders, ``-``) and put the cluster together.

    *texts* are read after them, each a name and what a file of that name would hold, and then the
    documents that were *made*. The rule set
    is that of the queues in the input, unless *policy* says which; the objects of other rule sets
    are then left alone. With *strict*, an unknown field is an error. Never raises for what an input
    holds. Cost: linear in the input.
    """
    findings = Findings(strict=strict)
    documents = read_documents(paths, findings, stdin=stdin)
    for name, text in texts:
        documents += read_bytes(text.encode(), name, findings)
    documents += made
    objects = [identify(document, findings) for document in documents]
    chosen = policy
    if policy is None and (objects or not findings.has_errors):  # else what is wrong is told
        chosen = choose_policy(objects, paths[0] if paths else "-", findings)
    collection, read = _read(objects, chosen, findings)
    if chosen:
        warn_of_other_sections(collection.of(OwnSettingsObject), chosen, findings)
    assembled = ASSEMBLERS[chosen](collection, findings) if chosen else None
    assert findings.has_errors or assembled is not None
    return LoadResult(
        assembled=None if findings.has_errors else assembled,
        findings=_by_place(findings),
        omitted=findings.omitted,
        read=dict(sorted(read.items())),
        left_alone=dict(sorted(collection.left_alone.items())),
    )


def _by_place(findings: Findings) -> tuple[Finding, ...]:
    """Sort by line within each file, the files in the order in which something was found."""
    files: dict[str, int] = {}
    for finding in findings:
        files.setdefault(finding.file, len(files))
    return tuple(sorted(findings, key=lambda each: (files[each.file], each.line or 0)))


def load_or_raise(
    paths: Sequence[str],
    *,
    policy: PolicyName | None = None,
    strict: bool = False,
    stdin: BinaryIO | None = None,
) -> Assembled:
    """Load as `load` does, but raise `ManifestError` with all findings if one is an error."""
    result = load(paths, policy=policy, strict=strict, stdin=stdin)
    if result.assembled is None:
        raise ManifestError(result.findings)
    return result.assembled


def _read(
    objects: Sequence[Identified], policy: PolicyName | None, findings: Findings
) -> tuple[Collection, Counter[str]]:
    """Read the objects of one rule set, or of all of them if it is not known which to take."""
    collection = Collection()
    read: Counter[str] = Counter()
    others: list[Identified] = []
    for each in objects:
        if each.kind is None:
            collection.left_alone[each.title] += 1
        elif policy and each.kind.family not in (None, policy):
            collection.left_alone[each.title] += 1
            others.append(each)
        else:
            read[each.title] += 1
            for found in read_identified(each, findings).objects:
                collection.add(found)
    if others and policy:
        _note_others(others, policy, findings)
    return collection, read


def _note_others(others: Sequence[Identified], policy: PolicyName, findings: Findings) -> None:
    titles = Counter(each.title for each in others)
    listed = ", ".join(f"{count} {title}" for title, count in sorted(titles.items()))
    others[0].document.source.report(
        findings,
        "advice",
        "left-alone",
        ("kind",),
        f"found objects of other rule sets than {policy}, which are left alone: {listed}",
        "name only the files of one rule set",
    )
