"""How an administrator set Kueue's rules: its Configuration, typed."""

from decimal import Decimal
from typing import Literal

import msgspec

Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
BOTH_STRATEGIES: tuple[Strategy, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


class AdmissionFairSharing(msgspec.Struct, frozen=True, kw_only=True):
    """How the usage of LocalQueues is remembered to order pending workloads of a ClusterQueue."""

    half_life_ms: int
    sampling_interval_ms: int = 5 * 60 * 1000
    resource_weights: tuple[tuple[str, Decimal], ...] = ()


class KueueOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What Fairlead can do under Kueue's rules that Kueue cannot; off by default, but for one."""

    no_preemption_loops: bool = False
    min_run_time_ms: int = 0  # admitted for less: not preempted by fair sharing
    preemption_delay_ms: int = 0  # pending for less: does not preempt by fair sharing
    preemption_cooldown_ms: int = 30 * 60 * 1000  # after being preempted: does not preempt by it
    priority_override: bool = False  # borrowWithinCohort counts in fair sharing too
    smallest_first: bool = False  # of equal priority the smallest workload is preempted first

    @property
    def ends_loops(self) -> bool:
        """Return whether preemption must come to an end.

        A workload that overrules shares would lose by them what it got, and take it again without
        end.
        """
        return self.no_preemption_loops or self.priority_override


class KueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Kueue's settings; fair sharing is off unless the Configuration turns it on."""

    fair_sharing: bool = False
    strategies: tuple[Strategy, ...] = BOTH_STRATEGIES
    admission_fair_sharing: AdmissionFairSharing | None = None
    feature_gates: tuple[tuple[str, bool], ...] = ()
    requeued_by: Literal["Eviction", "Creation"] = "Eviction"  # after pods were not ready in time
    ignores_undeclared: bool = False  # a resource that a queue does not cover needs no quota
    options: KueueOptions = KueueOptions()
    faithful: bool = False  # as Kueue does, also where we would do better

    @property
    def cooldown_ms(self) -> int:
        """Return for how long a preempted workload does not preempt by fair sharing."""
        is_off = self.faithful or not self.fair_sharing
        return 0 if is_off else self.options.preemption_cooldown_ms

    @property
    def keeps_promises(self) -> bool:
        """Return whether freed quota is kept for the workload that preempted for it."""
        return not self.faithful or self.options.ends_loops
