"""Why one stands before another in a line that goes by priority, then by age, then by name."""

from typing import TypeAlias

from fairlead.model.duration import moment_text

Rank: TypeAlias = tuple[int, int]  # priority, and since when it waits, in milliseconds


def why_older_or_higher(first: Rank, other: Rank) -> str:
    """Return which rule puts *first* before *other*."""
    (priority, since_ms), (other_priority, other_since_ms) = first, other
    if priority != other_priority:
        return f"higher priority: {priority} against {other_priority}"
    if since_ms != other_since_ms:
        return f"waits longer: since {moment_text(since_ms)}, not {moment_text(other_since_ms)}"
    return "first by name"
