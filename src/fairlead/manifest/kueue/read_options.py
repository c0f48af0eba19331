"""Reads what Fairlead can do under Kueue's rules that Kueue cannot: a section of our Settings."""

from fairlead.manifest.core.read_length import protection_ms
from fairlead.manifest.text.cursor import Cursor
from fairlead.policy.kueue.settings import KueueOptions


def read_kueue_options(section: Cursor) -> KueueOptions:
    """Read the options for Kueue's rules; what is absent or wrong is off."""
    return KueueOptions(
        no_preemption_loops=section.boolean("preventPreemptionLoops", False),
        min_run_time_ms=protection_ms(section, "minRunTime", 0),
        preemption_delay_ms=protection_ms(section, "preemptionDelay", 0),
        priority_override=section.boolean("priorityOverride", False),
    )
