"""What the shadow has found, as a table for people and as a document for programs."""

from collections.abc import Sequence
from typing import Final

from fairlead.cli.output.table import table_text
from fairlead.cluster.kubernetes.shadow.comparison import Comparison, Difference
from fairlead.explain.text.reasons import reason_text
from fairlead.model.duration import format_duration, moment_text

_MOST_ROWS: Final = 40
_TITLES: Final = {
    "started": "started by it only",
    "not-started": "started by Fairlead only",
    "not-evicted": "evicted by Fairlead only",
}
_HEAD: Final = ("DIFFERENCE", "POD", "QUEUE", "NODE", "SINCE", "FAIRLEAD'S REASON")
_WORDS: Final = 6  # all columns of the table hold words


def shadow_table(comparison: Comparison, running: str) -> str:
    """Return what both schedulers did alike, and the latest of what they did otherwise."""
    if comparison.since_ms is None:
        return "nothing was compared: not all objects were known yet\n"
    counts = comparison.counts
    lag = format_duration(comparison.longest_lag_ms)
    since = moment_text(comparison.since_ms)
    both, alike = counts["started by both"], counts["on the same node"]
    lines = [
        f"compared with the running scheduler ({running}) since {since}:",
        f"  started by both: {both}, {alike} of them on the same node, at most {lag} later by it",
        f"  evicted by both: {counts['evicted by both']}",
        *(f"  {title}: {counts[kind]}" for kind, title in _TITLES.items()),
    ]
    unjudged = counts["started, which Fairlead cannot judge"]
    if unjudged:
        lines.append(f"  started by it, which Fairlead cannot judge: {unjudged}")
    latest = list(comparison.differences)[-_MOST_ROWS:]
    if latest:
        lines += ["", table_text([_HEAD, *map(_row, latest)], left=_WORDS).rstrip("\n")]
    omitted = sum(counts[kind] for kind in _TITLES) - len(latest)
    if omitted > 0:
        lines.append(f"and {omitted} earlier")
    return "\n".join(lines) + "\n"


def shadow_document(comparison: Comparison, running: str) -> dict[str, object]:
    """Return the same for programs, with all differences that are remembered."""
    counts = comparison.counts
    since_ms = comparison.since_ms
    return {
        "apiVersion": "fairlead/v1",
        "kind": "Shadow",
        "runningScheduler": running,
        "since": None if since_ms is None else moment_text(since_ms),
        "startedByBoth": counts["started by both"],
        "onTheSameNode": counts["on the same node"],
        "evictedByBoth": counts["evicted by both"],
        "notJudged": counts["started, which Fairlead cannot judge"],
        "longestLagSeconds": comparison.longest_lag_ms / 1000,
        "differing": {kind: counts[kind] for kind in _TITLES},
        "open": len(comparison.open_wishes()),
        "differences": _documents(list(comparison.differences)),
    }


def _documents(differences: Sequence[Difference]) -> list[dict[str, object]]:
    return [
        {
            "kind": each.kind,
            "workload": each.workload,
            "pod": each.pod,
            "queue": each.queue,
            "node": each.node,
            "since": moment_text(each.since_ms),
            "reason": _why(each),
        }
        for each in differences
    ]


def _row(each: Difference) -> tuple[str, ...]:
    since = moment_text(each.since_ms)
    return _TITLES[each.kind], each.pod, each.queue, each.node or "", since, _why(each)


def _why(each: Difference) -> str:
    if each.decision is None:
        return "it would not decide about it now"
    return reason_text(each.decision.reason)
