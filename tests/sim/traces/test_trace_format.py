from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from fairlead.sim.traces.csv_rows import ColumnMap, TimeColumn
from fairlead.sim.traces.trace_format import row_reader_of
from fairlead.sim.traces.trace_job import TraceError, TraceKind
from fairlead.sim.traces.trace_rules import TraceRules
from tests.sim.traces.trace_files import OWN_HEAD, jobs_of, written

UTC = ZoneInfo("UTC")
SWF_ROW = "1 0 1 60 4 -1 -1 4 90 -1 1 7 3 -1 2 1 -1 -1"
SACCT = "JobID|Submit|Start|End|AllocTRES\n"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("log", "; Version: 2\n", "swf"),
        ("log", f"\n\n  {SWF_ROW}\n", "swf"),
        ("log.swf.gz", "# not a remark\n", "swf"),
        ("log.txt", SACCT, "sacct"),
        ("log.csv", f"{OWN_HEAD}\n", "csv"),
        ("log.csv", '"job_id","submit_s","run_s"\n', "csv"),
        ("misnamed.swf", f"{OWN_HEAD}\n", "csv"),
    ],
)
def test_the_kind_is_reported_from_the_file(
    tmp_path: Path, name: str, text: str, kind: TraceKind
) -> None:
    assert row_reader_of(written(tmp_path, text, name), None, None, UTC).kind == kind


def test_a_kind_that_is_given_and_a_column_map_come_first(tmp_path: Path) -> None:
    file = written(tmp_path, SACCT)
    assert row_reader_of(file, "swf", None, UTC).kind == "swf"
    columns = ColumnMap(submit=TimeColumn(name="Submit"), run=TimeColumn(name="End"), separator="|")
    assert row_reader_of(file, None, columns, UTC).kind == "csv"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "trace.csv: found an empty file, expected a trace"),
        ("\n \n", "trace.csv: found an empty file"),
        ("a,b\n1,2\n", "unknown format of a trace that begins with 'a,b'; say the kind"),
        (f"{'x' * 100}\n", r"begins with 'x{60}\.\.\.'"),
        (f"{OWN_HEAD}\n", "trace.csv: found no job that ran"),
        ("; only remarks\n", "trace.csv: found no job that ran"),
        (f"{SACCT}1.0|1|1|2|cpu=1\n", "found no job that ran; 1 steps of jobs"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_with_its_name(
    tmp_path: Path, text: str, complaint: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(TraceError, match=complaint):
        jobs_of(file)


def test_a_heading_with_half_a_quote_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, '"a,b\n')
    with pytest.raises(TraceError, match=r"quotes that do not match .* expected a heading"):
        row_reader_of(file, "csv", None, UTC)


def test_a_time_zone_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="found the time zone 'Mars/Base'"):
        jobs_of(written(tmp_path, SACCT), TraceRules(time_zone="Mars/Base"))
