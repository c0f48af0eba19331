"""How an administrator set Kueue's rules: what its Configuration says, typed."""

from decimal import Decimal
from typing import Literal

import msgspec

Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
BOTH_STRATEGIES: tuple[Strategy, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


class AdmissionFairSharing(msgspec.Struct, frozen=True, kw_only=True):
    """How the use of local queues is remembered to order what waits inside a ClusterQueue."""

    half_life_ms: int
    sampling_interval_ms: int = 5 * 60 * 1000
    resource_weights: tuple[tuple[str, Decimal], ...] = ()


class KueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Kueue's settings; fair sharing is off unless the Configuration asks for it."""

    fair_sharing: bool = False
    strategies: tuple[Strategy, ...] = BOTH_STRATEGIES
    admission_fair_sharing: AdmissionFairSharing | None = None
    feature_gates: tuple[tuple[str, bool], ...] = ()
