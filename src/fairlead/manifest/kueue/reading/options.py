"""Reads where Fairlead is to depart from Kueue, and whether at all: a section of our Settings.

To be faithful is to decide as Kueue does in everything, so what Kueue cannot do cannot be wanted
at the same time.
"""

from collections.abc import Mapping
from typing import Final

from fairlead.manifest.core.read_length import protection_ms
from fairlead.manifest.text.cursor import Cursor
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings

KUEUE_SECTION: Final = "kueue"

_FIELDS: Final[Mapping[str, str]] = {
    "no_preemption_loops": "preventPreemptionLoops",
    "min_run_time_ms": "minRunTime",
    "preemption_delay_ms": "preemptionDelay",
    "preemption_cooldown_ms": "preemptionCooldown",
    "priority_override": "priorityOverride",
}


def read_kueue_options(spec: Cursor) -> KueueSettings:
    """Read what a Configuration of Kueue has no field for; what is absent or wrong is as usual.

    Law: ``faithful: true`` alone gives Kueue as it is.
    """
    section = spec.mapping(KUEUE_SECTION)
    faithful = section.boolean("faithful", False)
    usual_ms = 0 if faithful else KueueOptions().preemption_cooldown_ms
    options = KueueOptions(
        no_preemption_loops=section.boolean("preventPreemptionLoops", False),
        min_run_time_ms=protection_ms(section, "minRunTime", 0),
        preemption_delay_ms=protection_ms(section, "preemptionDelay", 0),
        preemption_cooldown_ms=protection_ms(section, "preemptionCooldown", usual_ms),
        priority_override=section.boolean("priorityOverride", False),
    )
    for name, field in _FIELDS.items():
        if faithful and getattr(options, name):
            message = (
                f"found {field} beside faithful, expected one of the two: Kueue has no {field}"
            )
            section.error(field, "contradiction", message, f"remove {field}, or remove faithful")
    return KueueSettings(options=KueueOptions() if faithful else options, faithful=faithful)
