"""Every kind of object that Fairlead reads, and of which kind a document is.

A kind is known by its API group and its name together: three groups have a ``PodGroup``, and the
``Queue`` of one scheduler is not that of another. Fairlead's own kind is ``Settings``: options that
no object of a peer has a field for, so that a peer's configuration stays valid for the peer.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from fairlead.manifest.bundle import GroupAndKind, Kind, one_object
from fairlead.manifest.core.device_claims import read_device_claim, read_device_claim_template
from fairlead.manifest.core.objects import Object, SettingsObject
from fairlead.manifest.core.owners.readers import OWNER_KINDS
from fairlead.manifest.core.read_objects import (
    read_budget,
    read_limit_range,
    read_namespace,
    read_node,
    read_priority_class,
    read_resource_quota,
    read_runtime_class,
)
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.core.read_volumes import (
    read_attach_limits,
    read_claim,
    read_storage_class,
    read_volume,
)
from fairlead.manifest.finding import Findings
from fairlead.manifest.registry import BUNDLES
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.fields import FieldError, text_of
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.manifest.text.values import REFUSED
from fairlead.manifest.text.values import Mapping as ValueMapping
from fairlead.policy.contract import PolicyName


def read_settings(top: Cursor) -> SettingsObject:
    """Read a Settings object. It needs no name, because there is at most one.

    Each rule set has a section. All are checked, whichever rule set the input is for.
    """
    top.ignore("apiVersion", "kind", "metadata")
    spec = top.mapping("spec")
    sections = [bundle.section for bundle in BUNDLES.values()]
    found = SettingsObject(
        source=top.source,
        sections={each.name: each.read(spec) for each in sections},
        written=tuple(each.name for each in sections if spec.has(each.name)),
    )
    top.finish()
    return found


def warn_of_other_sections(
    settings: Iterable[SettingsObject], policy: PolicyName, findings: Findings
) -> None:
    """Report each section that is for another rule set than *policy*."""
    others = {bundle.section.name: bundle for bundle in BUNDLES.values() if bundle.policy != policy}
    for each in settings:
        for section in filter(others.__contains__, each.written):
            bundle = others[section]
            each.source.warn(
                findings,
                "no-effect",
                ("spec", section),
                f"found settings for {bundle.section.title}, which have no effect: "
                f"the rules are those of {policy}",
                f"keep {section} for inputs of {bundle.policy} only",
            )


_OF_DEVICES: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")

KINDS: Final[Mapping[GroupAndKind, Kind]] = {
    ("", "LimitRange"): one_object(read_limit_range, "v1"),
    ("", "Namespace"): one_object(read_namespace, "v1"),
    ("", "Node"): one_object(read_node, "v1"),
    ("", "PersistentVolume"): one_object(read_volume, "v1"),
    ("", "PersistentVolumeClaim"): one_object(read_claim, "v1"),
    ("", "Pod"): one_object(read_pod, "v1"),
    ("", "ResourceQuota"): one_object(read_resource_quota, "v1"),
    ("resource.k8s.io", "ResourceClaim"): one_object(read_device_claim, *_OF_DEVICES),
    ("resource.k8s.io", "ResourceClaimTemplate"): one_object(
        read_device_claim_template, *_OF_DEVICES
    ),
    ("node.k8s.io", "RuntimeClass"): one_object(read_runtime_class, "v1", "v1beta1"),
    ("policy", "PodDisruptionBudget"): one_object(read_budget, "v1", "v1beta1"),
    ("scheduling.k8s.io", "PriorityClass"): one_object(
        read_priority_class, "v1", "v1beta1", "v1alpha1"
    ),
    ("storage.k8s.io", "CSINode"): one_object(read_attach_limits, "v1", "v1beta1"),
    ("storage.k8s.io", "StorageClass"): one_object(read_storage_class, "v1", "v1beta1"),
    **{key: one_object(each.read, *each.versions) for key, each in OWNER_KINDS.items()},
    **{
        key: replace(kind, policy=bundle.policy)
        for bundle in BUNDLES.values()
        for key, kind in bundle.kinds.items()
    },
    ("fairlead", "Settings"): one_object(read_settings, "v1"),
}
"""By API group and kind."""

UNTYPED: Final = [bundle.untyped for bundle in BUNDLES.values() if bundle.untyped is not None]


def kind_title(group: str, kind: str) -> str:
    """Name a kind as kubectl does: ``Pod``, ``PodDisruptionBudget.policy``."""
    return f"{kind}.{group}" if group else kind


NO_KIND = "without kind"

_TYPE_KEYS = ("apiVersion", "kind")


class Identified(msgspec.Struct, frozen=True, kw_only=True):
    """An object, what to call its kind, and how to read it: None if it is to be left alone."""

    document: Document
    title: str
    kind: Kind | None

    def read(self, findings: Findings) -> tuple[Object, ...]:
        """Read the object. Most kinds give one, or none if it has no usable name.

        Never raises for what it holds. Of an object with an error, what was wrong is as by default:
        it serves to find out what else is wrong, and nothing more.
        """
        return tuple(self.kind.read(self.document, findings)) if self.kind else ()


def identify(document: Document, findings: Findings) -> Identified:
    """Find out of what kind *document* is, and warn where that looks like a typing mistake."""
    value = document.value
    api_version, name = value.get("apiVersion"), value.get("kind")
    if isinstance(api_version, str) and isinstance(name, str):
        group, _, version = api_version.rpartition("/")
        kind = KINDS.get((group, name))
        if kind is None:
            _suspect_kind(document, group, name, findings)
        elif version not in kind.versions:
            _report_version(document, version, kind, findings)
        return Identified(document=document, title=kind_title(group, name), kind=kind)
    for untyped in UNTYPED:
        if untyped.matches(value):
            return Identified(document=document, title=untyped.title, kind=untyped.kind)
    _report_no_kind(document, findings)
    return Identified(document=document, title=NO_KIND, kind=None)


def _suspect_kind(document: Document, group: str, name: str, findings: Findings) -> None:
    if name == "Config" and "contexts" in document.value:
        _report_kubeconfig(document, findings)
        return
    guess = did_you_mean(name, [kind for known, kind in KINDS if known == group])
    elsewhere = [
        f"{known}/{kind.versions[0]}" for (known, own), kind in KINDS.items() if own == name
    ]
    if not guess and group == "" and elsewhere:
        guess = f"write apiVersion: {' or '.join(elsewhere)}"
    if guess:
        message = f"found the unknown kind {quote(kind_title(group, name))}; it is left alone"
        document.source.warn(findings, "unknown-kind", ("kind",), message, guess)


def _report_kubeconfig(document: Document, findings: Findings) -> None:
    document.source.warn(
        findings,
        "unknown-kind",
        ("kind",),
        "found a kubeconfig, which says where a cluster is, not what is in it; it is left alone",
        "leave the file out, and read what kubectl get -o yaml writes",
    )


def _report_version(document: Document, version: str, kind: Kind, findings: Findings) -> None:
    message = f"found the unknown version {quote(version)}; read as {kind.versions[0]}"
    fix = f"write one of: {', '.join(kind.versions)}"
    document.source.warn(findings, "unknown-version", ("apiVersion",), message, fix)


def _report_no_kind(document: Document, findings: Findings) -> None:
    """Refuse what was meant as an object; only warn about some other file in the same folder."""
    value = document.value
    if REFUSED in map(value.get, _TYPE_KEYS):
        return  # reported already
    _report_types(document, findings)
    missing = [key for key in _TYPE_KEYS if value.get(key) is None]
    if not missing:
        return
    document.source.report(
        findings,
        "error" if _looks_like_object(value) else "warning",
        "unknown-kind",
        (missing[0],) if missing[0] in value else (),
        f"found a mapping without {missing[0]}, expected an object with apiVersion and kind",
        f"add {missing[0]}, or leave the file out",
    )


def _report_types(document: Document, findings: Findings) -> None:
    for key in _TYPE_KEYS:
        value = document.value.get(key)
        try:
            if value is not None:
                text_of(value)
        except FieldError as wrong:
            document.source.error(findings, wrong.code, (key,), wrong.message, wrong.fix)


def _looks_like_object(value: ValueMapping) -> bool:
    return any(key in value for key in (*_TYPE_KEYS, "metadata", "spec"))
