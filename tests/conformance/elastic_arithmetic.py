"""The sums and comparisons of amounts that the plugin's own tables ask for, whoever answers."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from tests.conformance.elastic_answers import ByResource


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One pod that starts or stops to count."""

    verb: Literal["reserve", "unreserve"]
    pod: str  # "namespace/name"
    request: ByResource


class ArithmeticAnswers(Protocol):
    """Sums and comparisons of amounts; None is a min or a max that is not given at all."""

    def over_min(self, used: ByResource, minimum: ByResource | None) -> bool:
        """Return whether used alone is over min."""

    def over_min_with(
        self, used: ByResource, minimum: ByResource | None, request: ByResource
    ) -> bool:
        """Return whether used is over min with a request more."""

    def over_max_with(
        self, used: ByResource, maximum: ByResource | None, request: ByResource
    ) -> bool:
        """Return whether used is over max with a request more."""

    def used_after(
        self, namespace: str, used: ByResource, known: frozenset[str], steps: Sequence[Step]
    ) -> list[ByResource]:
        """Return what the quota of a namespace uses after each step, zeros left out.

        *known* are pods that are part of *used* before the first step.
        """
