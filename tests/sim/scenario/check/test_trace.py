"""A scenario tells what is wrong with its traces before anything runs."""

import gzip
import re
from pathlib import Path

import pytest

from fairlead.sim.scenario.read.read_scenario import SimulationFile
from tests.sim.scenario.scenario_files import NODES, QUEUES, indented, read

HEAD = "job_id,submit_s,run_s,gpus,queue\n"


def traced(folder: Path, log: str | bytes, more: str = "", name: str = "log.csv") -> SimulationFile:
    data = log if isinstance(log, bytes) else log.encode()
    (folder / name).write_bytes(data)
    work = f"work: [{{name: log, trace: {{path: {name}{more}}}}}]"
    return read(folder, NODES + QUEUES + indented(work))


def told(result: SimulationFile, folder: Path) -> list[str]:
    return [
        f"{each.severity} {each.file.removeprefix(f'{folder}/')}:{each.line} {each.code}: "
        f"{each.message}"
        for each in result.findings
    ]


def test_a_sound_trace_is_not_mentioned(tmp_path: Path) -> None:
    for log in (HEAD + "1,0,60,1,a\n2,5,60,1,b\n", (HEAD + "1,0,60,1,a\n").replace("\n", "\r\n")):
        for data in (log.encode(), b"\xef\xbb\xbf" + log.encode(), gzip.compress(log.encode())):
            result = traced(tmp_path, data)
            assert (result.scenario is not None, result.findings) == (True, ())


# What stands in the log, below its heading, and what is told of it.
TOLD = {
    "queues that are not there": (
        "1,0,60,1,a\n2,5,60,1,zzz\n3,6,60,1,zzz\n",
        [
            'error log.csv:3 missing-reference: found the queue "zzz" of job "log-2" and 1 more',
        ],
    ),
    "rows that never ran": (
        "1,0,60,1,a\n2,5,0,1,b\n",
        ["advice log.csv:None dropped-rows: found 1 of 2 rows that give no job: they have no run "],
    ),
    "too many broken rows": (
        "1,0,60,1,a\n2,x,60,1,b\n",
        [
            "error log.csv:None unreadable: 1 of 2 rows are broken",
            "warning log.csv:3 broken-row: found 'x', expected a number such as 12 or 0.5",
        ],
    ),
    "no job at all": ("", ["error log.csv:None unreadable: found no job that ran"]),
}


@pytest.mark.parametrize(("rows", "expected"), TOLD.values(), ids=TOLD.keys())
def test_what_is_wrong_with_a_trace_is_reported_with_file_and_line(
    tmp_path: Path, rows: str, expected: list[str]
) -> None:
    result = traced(tmp_path, HEAD + rows)
    found = told(result, tmp_path)
    assert [each[: len(start)] for each, start in zip(found, expected, strict=True)] == expected
    assert all(each.fix for each in result.findings)
    has_errors = any(each.startswith("error") for each in expected)
    assert (result.scenario is None) == has_errors


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "found an empty file, expected a trace"),
    "blank": (b"\n\n \n", "found an empty file, expected a trace"),
    "binary": (bytes(range(256)) * 9, "unknown format of a trace that begins with"),
    "half of a gzip file": (gzip.compress(HEAD.encode() * 99)[:30], "the gzip file ends too early"),
    "no heading": (b"1,2,3\n", "unknown format of a trace that begins with '1,2,3'"),
    "a folder's heading": (b"a|JobID|b\n", "found no column Submit, Start, End, AllocTRES in the"),
}


@pytest.mark.parametrize(("data", "problem"), FILES.values(), ids=FILES.keys())
def test_a_file_that_is_no_trace_is_reported(tmp_path: Path, data: bytes, problem: str) -> None:
    [finding] = traced(tmp_path, data).findings
    assert finding.file == str(tmp_path / "log.csv")
    assert finding.message.startswith(problem)
    assert finding.fix


def test_a_few_broken_rows_are_warnings_and_all_are_counted(tmp_path: Path) -> None:
    """12 of 1,212 rows, of which ten are told by line."""
    rows = [f"{at},{at},60,1,a" for at in range(1200)] + ["x,y"] * 12
    result = traced(tmp_path, HEAD + "\n".join(rows))
    assert result.scenario is not None
    assert [each.line for each in result.findings if each.line] == list(range(1202, 1212))
    counted = "found 12 broken rows of 1,212, which are left out"
    assert counted in [each.message for each in result.findings]


def test_rows_that_are_cut_off_are_nobodys_mistake(tmp_path: Path) -> None:
    result = traced(tmp_path, HEAD + "1,0,60,1,zzz\n2,50,60,1,a\n3,99,60,1,a\n", ", from: 20s")
    assert result.findings == ()


def test_a_cut_that_leaves_nothing_is_reported(tmp_path: Path) -> None:
    [finding] = traced(tmp_path, HEAD + "1,0,60,1,a\n", ", from: 1h").findings
    assert finding.message == "found 1 rows, none of which gives a job"


def test_the_cure_of_a_log_without_dates_can_be_followed(tmp_path: Path) -> None:
    row = "1  0  5 3600 1 -1 -1 1 7200 -1 1 7 1 -1 1 1 -1 -1\n"
    late = "2  7200  5 3600 1 -1 -1 1 7200 -1 1 7 1 -1 1 1 -1 -1\n"
    cut = ', queues: {others: a}, fromTime: "2001-09-09T02:00:00Z"'
    [finding] = traced(tmp_path, row + late, cut, "log.swf").findings
    assert finding.message == "the trace has no dates"
    [line] = re.findall(r'"(;.*)"', finding.fix)
    assert traced(tmp_path, f"{line}\n{row}{late}", cut, "log.swf").findings == ()
    by_time = ", queues: {others: a}, from: 1h"
    assert traced(tmp_path, row + late, by_time, "log.swf").findings == ()


def test_of_many_queues_that_are_not_there_some_are_reported(tmp_path: Path) -> None:
    rows = "".join(f"{at},{at},60,1,other-{at}\n" for at in range(30))
    found = told(traced(tmp_path, HEAD + rows), tmp_path)
    assert len(found) == 21
    assert any("found 10 more queues that do not exist" in each for each in found)


def test_a_resource_that_no_node_has_is_reported(tmp_path: Path) -> None:
    log = "id,when,length,tpus,queue\n1,0,60,1,a\n"
    columns = "{id: id, submit: {name: when}, run: {name: length}, queue: queue, "
    columns += "amounts: {tpu: {name: tpus}}}"
    [finding] = traced(tmp_path, log, f", columns: {columns}").findings
    assert finding.message == 'found "tpu" in job "log-1", which no node has'


def test_a_product_beyond_all_amounts_is_reported(tmp_path: Path) -> None:
    """Eight GPUs with 2 EB each are 16 EB, and 2^63 - 1 bytes are 9.2 of them."""
    result = traced(tmp_path, HEAD + "1,0,60,8,a\n", ", missing: {perGpu: {memory: 2E}}")
    assert [(each.severity, each.code) for each in result.findings] == [("error", "out-of-range")]
    assert 'found a pod with 1.6e+19 of "memory" in job "log-1"' in result.findings[0].message


BESIDE = {
    "queue: a, trace: {path: log.csv}": "$.spec.work[0].queue",
    "user: u, trace: {path: log.csv}": "$.spec.work[0].user",
    "shapes: [{requests: {gpu: 1}, run: 1h}], trace: {path: log.csv}": "$.spec.work[0].shapes",
    "queue: a, shapes: [{requests: {gpu: 1}, run: 1h}], jobs: [{requests: {gpu: 1}, run: 1h}]": (
        "$.spec.work[0].shapes"
    ),
    "queue: {inTurn: [a, b]}, jobs: [{requests: {gpu: 1}, run: 1h}]": "$.spec.work[0].queue",
}


@pytest.mark.parametrize(("source", "path"), BESIDE.items())
def test_what_a_source_does_not_look_at_is_refused(tmp_path: Path, source: str, path: str) -> None:
    (tmp_path / "log.csv").write_text(HEAD + "1,0,60,1,a\n")
    result = read(tmp_path, NODES + QUEUES + f"  work: [{{name: w, {source}}}]\n")
    assert [(each.code, each.path) for each in result.findings] == [("contradiction", path)]


# Each row: what the trace says besides, and the field at which that is found to be wrong.
FIELDS = {
    "submitScale: 0": "submitScale",
    "podAtMost: {gpu: 0}": "podAtMost",
    "queues: {others: '{team}'}": "queues.others",
    "columns: {submit: {name: a}, run: {name: b}, separator: ';;'}": "columns.separator",
}


@pytest.mark.parametrize(("written", "field"), FIELDS.items())
def test_a_rule_that_cannot_be_is_reported_at_its_field(
    tmp_path: Path, written: str, field: str
) -> None:
    [found] = traced(tmp_path, HEAD, f", {written}").findings
    assert (found.code, found.path) == ("out-of-range", f"$.spec.work[0].trace.{field}")
