"""The settings of a live run: those of ``-f``, and under which names pods are ours."""

from collections.abc import Sequence
from typing import Any

from fairlead.cli.input.findings import show_findings
from fairlead.cluster.kubernetes.live_rule_sets import LIVE_RULE_SETS, LiveRuleSet
from fairlead.errors import FairleadError, ManifestError
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import identify
from fairlead.manifest.text.documents import Document, cluster_document, read_documents
from fairlead.manifest.text.values import Mapping
from fairlead.policy.contract import PolicyName

_SETTINGS = {"apiVersion": "fairlead/v1", "kind": "Settings"}


def live_settings(
    files: Sequence[str], policy: PolicyName, scheduler_name: str | None
) -> list[Document]:
    """Return the Settings in *files*, under which the pods of *scheduler_name* are ours.

    None: the pods of the schedulers that the settings, or the rule set, name. Prints warnings.
    Raises ManifestError for what is wrong, and FairleadError for objects that a cluster has itself.
    """
    findings = Findings()
    documents = read_documents(files, findings)
    if findings.has_errors:
        raise ManifestError(each for each in findings if each.severity == "error")
    _check_kinds(documents)
    for each in documents:
        identify(each, findings).read(findings)
    if findings.has_errors:
        raise ManifestError(each for each in findings if each.severity == "error")
    show_findings(list(findings))
    rules = LIVE_RULE_SETS.get(policy)
    if scheduler_name is None or rules is None:
        return documents
    return [_with_scheduler(documents[0] if documents else None, rules, scheduler_name)]


def _check_kinds(documents: Sequence[Document]) -> None:
    others = [each for each in documents if each.value.get("kind") != "Settings"]
    if others:
        found = f"{others[0].value.get('kind')} in {others[0].source.file}"
        raise FairleadError(
            f"-f has the object {found}, expected Settings alone: other objects are read from the "
            "cluster"
        )
    if len(documents) > 1:
        places = " and ".join(f"{each.source.file}:{each.source.line}" for each in documents[:2])
        raise FairleadError(
            f"-f has {len(documents)} Settings, in {places}, expected one: put all into one object"
        )


def _with_scheduler(settings: Document | None, rules: LiveRuleSet, scheduler_name: str) -> Document:
    """Return *settings* in which the pods of one scheduler are started, and no others."""
    value: dict[str, Any] = dict(settings.value) if settings is not None else {**_SETTINGS}
    spec = value.get("spec")
    own: dict[str, Any] = dict(spec) if isinstance(spec, dict) else {}
    section = own.get(rules.section)
    written: dict[str, Any] = dict(section) if isinstance(section, dict) else {}
    named: Mapping = {rules.scheduler_names: [scheduler_name]}
    value["spec"] = own | {rules.section: written | named}
    if settings is None:
        return cluster_document(value | {"metadata": {"name": "settings"}})
    return Document(source=settings.source, value=value)
