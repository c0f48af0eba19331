"""Reads Fairlead's own ``Settings``: options that no object of a peer has a field for.

They stand in an object of their own, so that a peer's configuration stays valid for the peer. Each
rule set has a section. All sections are checked, whichever rule set the input is for.
"""

from collections.abc import Iterable

from fairlead.manifest.core.objects import SettingsObject
from fairlead.manifest.finding import Findings
from fairlead.manifest.registry import BUNDLES
from fairlead.manifest.text.cursor import Cursor
from fairlead.policy.contract import PolicyName


def read_settings(top: Cursor) -> SettingsObject:
    """Read a Settings object. It needs no name, because there is at most one."""
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
            each.source.report(
                findings,
                "warning",
                "no-effect",
                ("spec", section),
                f"found settings for {bundle.section.title}, which have no effect: "
                f"the rules are those of {policy}",
                f"keep {section} for inputs of {bundle.policy} only",
            )
