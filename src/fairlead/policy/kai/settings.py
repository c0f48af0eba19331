"""How an administrator set KAI's rules: what a SchedulingShard says, typed."""

from fractions import Fraction
from typing import Literal

import msgspec

ACTIONS = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")
PackOrSpread = Literal["binpack", "spread"]
WEEK_MS = 7 * 24 * 3600 * 1000
MINUTE_MS = 60 * 1000


class UsageWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Over which past use counts, and where it is read."""

    client: str = "prometheus"
    connection: str = ""
    connection_env_var: str = ""
    half_life_ms: int | None = None  # None: no decay
    window_ms: int = WEEK_MS
    window_type: Literal["sliding", "tumbling", "cron"] = "sliding"
    tumbling_start_ms: int | None = None
    cron: str = ""
    fetch_interval_ms: int = MINUTE_MS
    staleness_ms: int = 5 * MINUTE_MS
    wait_timeout_ms: int = MINUTE_MS
    metrics: tuple[tuple[str, str], ...] = ()  # parameter name and metric name
    query_timeout_ms: int = 10 * 1000
    query_resolution_ms: int = MINUTE_MS


class KaiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """KAI's settings; the defaults are the peer's own."""

    k: Fraction = Fraction(1)
    usage: UsageWindow | None = None  # None: history is not asked for
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
    consolidating_reclaim: bool = True  # who finds another place has lost nothing
    max_consolidation_victims: int | None = 16  # jobs; 0: no consolidation; None: no cap
    signatures: bool = True  # whether a job is skipped after one like it, in the same action
