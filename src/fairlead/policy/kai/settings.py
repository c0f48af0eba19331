"""How an administrator set KAI's rules: what a SchedulingShard says, typed."""

from fractions import Fraction
from typing import Literal

import msgspec

from fairlead.usage.settings import UsageSettings

ACTIONS = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")
PackOrSpread = Literal["binpack", "spread"]
MINUTE_MS = 60 * 1000


class KaiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """KAI's settings; the defaults are the peer's own."""

    k: Fraction = Fraction(1)
    usage: UsageSettings | None = None  # None: past usage is not considered
    gpu_placement: PackOrSpread = "binpack"
    cpu_placement: PackOrSpread = "binpack"
    device_placement: PackOrSpread | None = None  # of parts on devices; None: as gpu_placement
    actions: tuple[str, ...] = ACTIONS
    queue_depth: tuple[tuple[str, int], ...] = ()  # action and number of jobs
    faithful: bool = False  # as the peer does, also where we would do better
    node_pool: str = ""
    preempt_min_runtime_ms: int = 0
    reclaim_min_runtime_ms: int = 0
    reclaim_resolve_method: Literal["lca", "queue"] = "lca"
    stale_grace_ms: int = MINUTE_MS  # how long a gang may run incomplete; negative: for ever
    reclaimer_multiplier: Fraction = Fraction(1)
    consolidating_reclaim: bool = True  # a moved pod counts as no loss
    max_consolidation_victims: int | None = 16  # jobs; 0: no consolidation; None: no cap
    signatures: bool = True  # whether a job is skipped after one like it, in the same action
