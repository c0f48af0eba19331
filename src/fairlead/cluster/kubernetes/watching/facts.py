"""What a watch says, as facts for a translator: they may repeat, overtake each other or be late."""

from typing import TypeAlias

import msgspec

from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.manifest.text.values import Mapping


class Seen(msgspec.Struct, frozen=True):
    """An object is there, in this version."""

    object: Mapping


class Gone(msgspec.Struct, frozen=True):
    """An object is not there any more; this was its last version."""

    object: Mapping


class Listed(msgspec.Struct, frozen=True):
    """These are all objects of a kind, as of one moment.

    Of a kind that is not served there are none to be seen. Once it is served again, the same
    objects may be there: an API server that starts knows its CRDs later than itself.
    """

    kind: GroupKind
    objects: list[Mapping]
    resource_version: str
    is_served: bool = True


ObjectFact: TypeAlias = Seen | Gone | Listed
