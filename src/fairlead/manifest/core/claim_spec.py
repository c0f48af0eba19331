"""What a claim asks of a volume, be it an object or the template of an ephemeral volume."""

from typing import Literal, TypeAlias

import msgspec

from fairlead.model.selector import LabelSelector

VolumeMode: TypeAlias = Literal["Filesystem", "Block"]


class ClaimSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The request of a claim; storage is in bytes, and charged to no queue."""

    storage_class: str | None = None  # None: the default class; "": none at all
    access_modes: tuple[str, ...] = ()
    storage: int = 0
    selector: LabelSelector | None = None  # None: any volume
    mode: VolumeMode = "Filesystem"
    volume: str = ""  # the one that it is bound to, or is to be


class EphemeralVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume of a pod whose claim is made for that pod alone, and called after both.

    The claims that a StatefulSet makes for its pods, from templates, are called the other way
    round.
    """

    name: str
    claim: ClaimSpec
    is_of_set: bool = False

    def claim_name(self, pod: str) -> str:
        """Return the name of the claim for *pod*."""
        return f"{self.name}-{pod}" if self.is_of_set else f"{pod}-{self.name}"
