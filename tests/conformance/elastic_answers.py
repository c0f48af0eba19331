"""What is answered about one recorded case of the capacity-scheduling plugin, whoever answers.

Both the engine and the plain rule of the tests answer in this form, so that one comparator serves
for both, and each can be compared with the other. Pods are called ``namespace/name``; amounts are
by resource, cpu in thousandths and the rest in whole units, zeros left out.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings

ByResource: TypeAlias = Mapping[str, int]
Outcome: TypeAlias = Literal[
    "victims", "no-victims", "does-not-fit", "quota", "error", "no-victim-needed"
]


class NodeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one node; the victims are listed the most important first."""

    outcome: Outcome
    victims: tuple[str, ...] = ()
    violations: int = 0


class ClaimAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the try to take a place from others."""

    why_not_eligible: str | None = None
    nodes: dict[str, NodeAnswer] = {}
    code: Literal["Success", "Unschedulable", "Error"]
    chosen: str | None = None
    deleted: tuple[str, ...] = ()  # victims on the chosen node that were not leaving yet
    cleared: tuple[str, ...] = ()  # nominations there that are lost


class CaseAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is recorded about one case; ``claim`` is None if some node is feasible."""

    used: dict[str, ByResource]
    refusal: Literal["over-max", "pool-exhausted"] | None
    nominated_in_quota: ByResource | None  # with the pod; None: it has no quota
    nominated_all: ByResource | None
    fits: dict[str, bool]  # what the resources of each node alone say
    feasible: tuple[str, ...]
    claim: ClaimAnswer | None
    accounting: dict[str, ByResource]  # by the names that the vectors use


Answer: TypeAlias = Callable[[Mapping[str, Any], ElasticQuotaSettings], CaseAnswer]
