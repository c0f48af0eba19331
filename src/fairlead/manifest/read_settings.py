"""Reads Fairlead's own ``Settings``: options that no object of a peer has a field for.

They stand in an object of their own, so that a peer's configuration stays valid for the peer. Each
rule set has a section, and past use has one. All sections are checked, whichever rule set the input
is for.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from fairlead.manifest.elastic_quota.read_options import (
    read_elastic_quota_options,
    read_plugin_schedulers,
)
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.read_options import read_kueue_options
from fairlead.manifest.objects import OwnSettingsObject
from fairlead.manifest.read_own_usage import read_own_usage
from fairlead.manifest.text.cursor import Cursor
from fairlead.policy.contract import PolicyName

_SECTIONS: Final[Mapping[str, PolicyName]] = {
    "kueue": "kueue",
    "elasticQuota": "elastic-quota",
    "usage": "kai",  # no other rule set looks at past use yet
}


def read_settings(top: Cursor) -> OwnSettingsObject:
    """Read a Settings object. It needs no name, because there is at most one."""
    top.ignore("apiVersion", "kind", "metadata")
    spec = top.mapping("spec")
    elastic_quota = spec.mapping("elasticQuota")
    found = OwnSettingsObject(
        source=top.source,
        kueue=read_kueue_options(spec.mapping("kueue")),
        elastic_quota=read_elastic_quota_options(elastic_quota),
        plugin_schedulers=read_plugin_schedulers(elastic_quota),
        usage=read_own_usage(spec),
        sections=tuple(section for section in _SECTIONS if spec.has(section)),
    )
    top.finish()
    return found


def warn_of_other_sections(
    settings: Iterable[OwnSettingsObject], policy: PolicyName, findings: Findings
) -> None:
    """Report each section that is for another rule set than *policy*."""
    for each in settings:
        for section in each.sections:
            if _SECTIONS[section] != policy:
                what = "past use" if section == "usage" else _SECTIONS[section]
                each.source.report(
                    findings,
                    "warning",
                    "no-effect",
                    ("spec", section),
                    f"found settings for {what}, which have no effect: "
                    f"the rules are those of {policy}",
                    f"keep {section} for inputs of {_SECTIONS[section]} only",
                )
