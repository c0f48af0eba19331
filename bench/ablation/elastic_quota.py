"""The shortcuts of elastic-quota's rules."""

from typing import Final

from bench.ablation.shortcut import Shortcut
from bench.ablation.workloads import AblationWorkload, simulated

SHORTCUTS: Final[tuple[Shortcut, ...]] = ()
WORKLOADS: Final[tuple[AblationWorkload, ...]] = (
    simulated("month", "elastic-quota", days=2),
    simulated("philly", "elastic-quota", days=20),
)
