"""A moment as people and programs read it."""

from datetime import UTC, datetime


def moment_text(at_ms: int) -> str:
    """Return a moment in UTC, in whole seconds: ``2026-11-16T08:00:00Z``."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
