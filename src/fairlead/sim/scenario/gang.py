"""Pods that must start together, as a job, a shape or a row of a log asks for them."""

from collections.abc import Mapping
from typing import NamedTuple

from fairlead.model.quantity import show_amount


class Gang(NamedTuple):
    """So many pods that are alike; without them all their job does not begin."""

    requests: Mapping[str, int]  # of each pod
    pods: int = 1
    node_labels: Mapping[str, str] = {}
    is_drawn: bool = False  # then there are no more pods than that
    preemptible: bool = True

    def __str__(self) -> str:
        up_to = "up to " if self.is_drawn else ""
        return "a pod" if self.pods == 1 else f"a gang of {up_to}{self.pods:,} pods"

    def together(self) -> dict[str, int]:
        """Return what all pods ask for."""
        return {name: amount * self.pods for name, amount in self.requests.items()}


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Write *amounts* in base units for people: ``cpu 2, memory 4Gi``."""
    return ", ".join(f"{name} {show_amount(name, amount)}" for name, amount in amounts.items())
