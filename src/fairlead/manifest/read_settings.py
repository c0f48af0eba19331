"""Reads Fairlead's own ``Settings``: options that no object of a peer has a field for.

They stand in an object of their own, so that a peer's configuration stays valid for the peer. Each
rule set has a section.
"""

from fairlead.manifest.kueue.read_options import read_kueue_options
from fairlead.manifest.objects import OwnSettingsObject
from fairlead.manifest.text.cursor import Cursor


def read_settings(top: Cursor) -> OwnSettingsObject:
    """Read a Settings object. It needs no name, because there is at most one."""
    top.ignore("apiVersion", "kind", "metadata")
    spec = top.mapping("spec")
    found = OwnSettingsObject(source=top.source, kueue=read_kueue_options(spec.mapping("kueue")))
    top.finish()
    return found
