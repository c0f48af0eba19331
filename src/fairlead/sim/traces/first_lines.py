"""Where in a log the jobs of a queue begin, for messages about them."""

from collections.abc import Collection
from pathlib import Path
from zoneinfo import ZoneInfo

from fairlead.sim.traces.queue_rule import queue_of
from fairlead.sim.traces.tell_kind import row_reader_of
from fairlead.sim.traces.trace_error import RowError
from fairlead.sim.traces.trace_job import TraceJob
from fairlead.sim.traces.trace_lines import trace_lines
from fairlead.sim.traces.trace_rules import TraceRules


def first_lines(path: Path, rules: TraceRules, queues: Collection[str]) -> dict[str, int]:
    """Return the number of the first row that ran in each of *queues*. Cost: reading the log."""
    reader = row_reader_of(path, rules.kind, rules.columns, ZoneInfo(rules.time_zone))
    missing = set(queues)
    found: dict[str, int] = {}
    for number, line in enumerate(trace_lines(path), start=1):
        if not missing:
            break
        try:
            row = reader.read(number, line)
        except RowError:
            continue
        if isinstance(row, TraceJob) and row.run_ms:
            queue = queue_of(rules.queues, row.queue, row.group, row.user)
            if queue in missing:
                found[queue] = number
                missing.remove(queue)
    return found
