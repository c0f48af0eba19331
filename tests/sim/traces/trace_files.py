"""Small traces, written to files as users have them."""

import gzip
from pathlib import Path
from textwrap import dedent
from zoneinfo import ZoneInfo

from fairlead.sim.engine.job import Job
from fairlead.sim.traces.jobs_of_trace import jobs_of_trace
from fairlead.sim.traces.read_rows import TraceTally, read_rows
from fairlead.sim.traces.trace_format import row_reader_of
from fairlead.sim.traces.trace_job import TraceJob
from fairlead.sim.traces.trace_rules import TraceRules

OWN_HEAD = (
    "job_id,submit_s,run_s,user,group,queue,gpus,cpus,mem_mb,nodes_or_pods,priority,"
    "obs_wait_s,req_time_s"
)
HOUR_MS = 3_600_000


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    """Write a text without its indent, gzipped if *name* says so."""
    file = folder / name
    data = dedent(text).lstrip("\n").encode()
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return file


def own_csv(folder: Path, rows: str, name: str = "trace.csv") -> Path:
    """Write rows with our own columns; blanks between the cells are for the reader of the test."""
    lines = [line.replace(" ", "") for line in rows.strip().splitlines()]
    return written(folder, "\n".join([OWN_HEAD, *lines, ""]), name)


def rows_of(
    file: Path, rules: TraceRules | None = None, tally: TraceTally | None = None
) -> list[TraceJob]:
    """Return all rows as they are; of *rules* those count that say how to read the file."""
    rules = rules or TraceRules()
    reader = row_reader_of(file, rules.kind, rules.columns, ZoneInfo(rules.time_zone))
    return list(read_rows(file, reader, tally or TraceTally()).rows.in_order())


def jobs_of(
    file: Path, rules: TraceRules | None = None, tally: TraceTally | None = None
) -> list[Job]:
    return list(jobs_of_trace(file, rules, tally))
