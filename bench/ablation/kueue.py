"""The shortcuts of kueue's rules."""

from typing import Final

from bench.ablation.shortcut import Shortcut
from bench.ablation.workloads import AblationWorkload, simulated

SHORTCUTS: Final[tuple[Shortcut, ...]] = ()
WORKLOADS: Final[tuple[AblationWorkload, ...]] = (
    simulated("month", "kueue", days=2),
    simulated("philly", "kueue", days=20),
)
