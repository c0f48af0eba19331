"""Whatever a file holds, its reader gives jobs or says what is wrong."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.traces.read_rows import TraceTally
from fairlead.sim.traces.trace_job import TraceError, TraceKind
from fairlead.sim.traces.trace_rules import TraceRules
from tests.scale_examples import scale_examples
from tests.sim.traces.trace_files import OWN_HEAD, jobs_of

HEADS = (
    f"{OWN_HEAD}\n",
    "; UnixStartTime: 99999999999\n",
    "JobID|Submit|Start|End|ElapsedRaw|NNodes|TimelimitRaw|AllocTRES\n",
    "",
)
ROWS = (
    "a,0,10,,,,1,2,3,4,5,6,7\n",
    "1 0 1 60 4 -1 -1 4 90 -1 1 7 3 -1 2 1 -1 -1\n",
    "1|100|100|200|100|2|5|cpu=4,mem=1G\n",
    "\n",
)
PIECES = st.sampled_from((*ROWS, ",", "|", '"', "9" * 19, "1e99", "-1", "\r", "\x00", "é", "٣"))


@settings(max_examples=scale_examples(150))
@given(
    head=st.sampled_from(HEADS),
    pieces=st.lists(PIECES, max_size=8),
    cut=st.integers(0, 30),
    is_gzip=st.booleans(),
    kind=st.sampled_from((None, "swf", "sacct", "csv")),
)
def test_any_bytes_give_jobs_or_a_trace_error(
    head: str,
    pieces: list[str],
    cut: int,
    is_gzip: bool,
    kind: TraceKind | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """And if jobs, then all rows are accounted for."""
    data = (head + "".join(pieces)).encode()
    data = gzip.compress(data) if is_gzip else data
    file: Path = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(data[: len(data) - cut])
    tally = TraceTally()
    complaint = ""
    try:
        jobs = jobs_of(file, TraceRules(kind=kind, allow_broken=True), tally)
    except TraceError as wrong:
        complaint = str(wrong)
    if complaint:
        assert str(file) in complaint
    else:
        assert len(jobs) == tally.given
        assert tally.rows == tally.given + tally.dropped.total() + tally.broken
