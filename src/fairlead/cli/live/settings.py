"""The settings of a live run: those of ``-f``, and under which names pods are ours."""

from collections.abc import Sequence
from typing import Any

from fairlead.errors import FairleadError, ManifestError
from fairlead.manifest.elastic_quota.read_options import ELASTIC_QUOTA_SECTION
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document, cluster_document, read_documents
from fairlead.manifest.text.values import Mapping
from fairlead.policy.contract import PolicyName

_SETTINGS = {"apiVersion": "fairlead/v1", "kind": "Settings"}


def live_settings(
    files: Sequence[str], policy: PolicyName, scheduler_name: str | None
) -> list[Document]:
    """Return the Settings in *files*, under which the pods of *scheduler_name* are ours.

    None: the pods of the schedulers that the settings, or the rule set, name. Raises ManifestError
    for what cannot be read, and FairleadError for objects that a cluster has itself.
    """
    findings = Findings()
    documents = read_documents(files, findings)
    if findings.has_errors:
        raise ManifestError(each for each in findings if each.severity == "error")
    others = [each for each in documents if each.value.get("kind") != "Settings"]
    if others:
        found = f"{others[0].value.get('kind')} in {others[0].source.file}"
        raise FairleadError(
            f"-f has the object {found}, expected Settings alone: other objects are read from the "
            "cluster"
        )
    if len(documents) > 1:
        raise FairleadError("-f has two Settings, expected one: put both into one object")
    if scheduler_name is None or policy != "elastic-quota":
        return documents
    return [_with_scheduler(documents[0] if documents else None, scheduler_name)]


def _with_scheduler(settings: Document | None, scheduler_name: str) -> Document:
    """Return *settings* in which the pods of one scheduler are started, and no others."""
    value: dict[str, Any] = dict(settings.value) if settings is not None else {**_SETTINGS}
    spec = value.get("spec")
    own: dict[str, Any] = dict(spec) if isinstance(spec, dict) else {}
    section = own.get(ELASTIC_QUOTA_SECTION)
    rules: dict[str, Any] = dict(section) if isinstance(section, dict) else {}
    named: Mapping = {"schedulerNames": [scheduler_name]}
    value["spec"] = own | {ELASTIC_QUOTA_SECTION: rules | named}
    if settings is None:
        return cluster_document(value | {"metadata": {"name": "settings"}})
    return Document(source=settings.source, value=value)
