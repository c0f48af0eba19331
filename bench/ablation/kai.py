"""The shortcuts of kai's rules."""

from typing import Final

from bench.ablation.shortcut import Shortcut
from bench.ablation.workloads import AblationWorkload, simulated

SHORTCUTS: Final[tuple[Shortcut, ...]] = ()
WORKLOADS: Final[tuple[AblationWorkload, ...]] = (
    simulated("month", "kai", days=2),
    simulated("philly", "kai", days=20),
)
