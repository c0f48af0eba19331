"""What to do about a workload that is refused before any quota is looked at."""

from typing import Final

from fairlead.explain.explanation import Section
from fairlead.explain.kueue_job_view import KueueJobView
from fairlead.model.moment_text import moment_text
from fairlead.policy.kueue.api import Admissibility

_ADVICE: Final = {
    "Deactivated": "Its owner has it queue up again with spec.active: true.",
    "Suspended": "It queues up again once {queue} has stopPolicy: None.",
    "Misconfigured": (
        "Until that is mended it asks for nothing. fairlead validate names the file and the line."
    ),
    "BackOff": (
        "It queues up again by itself at {until}. It was evicted since its pods were not ready in "
        "time: their events say why."
    ),
    "UnsupportedConstraint": (
        "Fairlead cannot keep this constraint: take {names} away, or leave the workload to Kueue."
    ),
}


def door_advice(view: KueueJobView) -> Section | None:
    """Return what lets a workload queue up that may not; None if it may, or has quota."""
    if view.workload.name in view.state.runs:
        return None
    reason = Admissibility(view.state, view.now_ms).inadmissible_reason(view.workload)
    if reason is None:
        return None
    until_ms = view.now_ms + (reason.remaining_ms or 0)
    told = {
        "queue": reason.queue or "its queue",
        "names": ", ".join(reason.names),
        "until": moment_text(until_ms + 999),  # never earlier than it is
    }
    advice = _ADVICE.get(reason.code, "").format_map(told)
    return Section(title="What to do about it", remarks=(advice,)) if advice else None
