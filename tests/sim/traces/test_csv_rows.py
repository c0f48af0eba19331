from pathlib import Path

import pytest

from fairlead.sim.traces.csv_rows import AmountColumn, ColumnMap, TimeColumn
from fairlead.sim.traces.trace_job import CPU, GPU, MEMORY, TraceError, TraceJob
from fairlead.sim.traces.trace_rules import TraceRules
from tests.sim.traces.trace_files import OWN_HEAD, jobs_of, own_csv, rows_of, written

MIB = 2**20


def test_our_own_columns_are_read_in_base_units(tmp_path: Path) -> None:
    file = own_csv(
        tmp_path,
        """
        a, 0,   10,   ann, bio, LS, 0.46, 6,    12288, 1, 2,  5, 60
        b, 1.5, 0.25,    ,    ,   , 8,     ,         , 1,  ,   ,
        """,
        "trace.csv.gz",
    )
    assert rows_of(file) == [
        TraceJob(
            id="a", submit_ms=0, run_ms=10_000, user="ann", group="bio", queue="LS",
            asks=((GPU, 460), (CPU, 6000), (MEMORY, 12_288 * MIB)), priority=2,
            asked_ms=60_000, wait_ms=5000,
        ),
        TraceJob(id="b", submit_ms=1500, run_ms=250, asks=((GPU, 8000),)),
    ]  # fmt: skip


def test_a_part_of_a_gpu_is_reported_in_thousandths(tmp_path: Path) -> None:
    [row] = rows_of(written(tmp_path, "job_id,submit_s,run_s,gpus\nx,5,10,0.46\n"))
    assert row.asks == ((GPU, 460),)


def test_columns_that_may_be_missing_are_not_missed(tmp_path: Path) -> None:
    file = written(tmp_path, "run_s,cpus,job_id,submit_s\n10,2,x,5\n")
    assert rows_of(file) == [TraceJob(id="x", submit_ms=5000, run_ms=10_000, asks=((CPU, 2000),))]


@pytest.mark.parametrize(
    ("unit", "cell", "milliseconds"),
    [
        ("ms", "90", 90),
        ("s", "90", 90_000),
        ("min", "1.5", 90_000),
        ("h", "0.025", 90_000),
        ("d", "1", 86_400_000),
        ("unix-s", "1500000000.5", 1_500_000_000_500),
        ("unix-ms", "1500000000500", 1_500_000_000_500),
        ("date", "2017-07-14 02:40:00.500", 1_500_000_000_500),
        ("date", "2017-07-14T04:40:00+02:00", 1_500_000_000_000),
        ("s", "9e1", 90_000),
    ],
)
def test_a_time_is_read_in_its_unit(
    tmp_path: Path, unit: str, cell: str, milliseconds: int
) -> None:
    columns = ColumnMap(
        submit=TimeColumn(name="came", unit=unit),  # type: ignore[arg-type]
        run=TimeColumn(name="ran"),
    )
    [row] = rows_of(written(tmp_path, f"came,ran\n{cell},1\n"), TraceRules(columns=columns))
    assert (row.submit_ms, row.run_ms) == (milliseconds, 1000)
    assert row.id == "2", "named by its line"


@pytest.mark.parametrize(
    ("resource", "unit", "cell", "amount"),
    [
        (CPU, "one", "1.5", 1500),
        (CPU, "milli", "1500", 1500),
        (CPU, "percent", "150", 1500),
        (CPU, "one", "0.0001", 1),  # finer than we count: up, as all requests
        (GPU, "percent", "25", 250),
        (MEMORY, "bytes", "7", 7),
        (MEMORY, "kB", "7", 7000),
        (MEMORY, "MB", "1.5", 1_500_000),
        (MEMORY, "GB", "2", 2_000_000_000),
        (MEMORY, "KiB", "7", 7168),
        (MEMORY, "MiB", "2", 2 * MIB),
        (MEMORY, "GiB", "0.5", 512 * MIB),
        ("rdma/hca", "one", "3", 3),
    ],
)
def test_an_amount_is_read_in_its_unit(
    tmp_path: Path, resource: str, unit: str, cell: str, amount: int
) -> None:
    column = AmountColumn(name="much", unit=unit)  # type: ignore[arg-type]
    columns = ColumnMap(
        submit=TimeColumn(name="came"), run=TimeColumn(name="ran"), amounts={resource: column}
    )
    [row] = rows_of(written(tmp_path, f"came,ran,much\n0,1,{cell}\n"), TraceRules(columns=columns))
    assert row.asks == ((resource, amount),)


MOMENTS = ColumnMap(
    id="job",
    submit=TimeColumn(name="t", unit="unix-s"),
    start=TimeColumn(name="from", unit="unix-s"),
    end=TimeColumn(name="to", unit="unix-s"),
    user="who",
    amounts={GPU: AmountColumn(name="gpus"), CPU: AmountColumn(name="cpus", unit="milli")},
    amounts_of="pod",
    pods="pods",
    separator=";",
    names=("job", "who", "t", "from", "to", "pods", "gpus", "cpus"),
)


def test_a_table_without_heading_with_moments_and_amounts_of_a_pod(tmp_path: Path) -> None:
    """3 pods of 2 GPUs and 500 millicores are 6 GPUs and 1500 millicores in all."""
    text = 'one;"Ann; PhD";100;130;190;3;2;500\ntwo;NaN;100;NA;190;;1;\n'
    rows = rows_of(written(tmp_path, text), TraceRules(columns=MOMENTS))
    assert rows == [
        TraceJob(
            id="one", submit_ms=100_000, run_ms=60_000, user="Ann; PhD", pods=3,
            asks=((GPU, 6000), (CPU, 1500)), wait_ms=30_000,
        ),
        TraceJob(id="two", submit_ms=100_000, run_ms=None, asks=((GPU, 1000),)),
    ]  # fmt: skip


def test_without_a_start_a_job_runs_from_when_it_came(tmp_path: Path) -> None:
    columns = ColumnMap(submit=TimeColumn(name="a", unit="h"), end=TimeColumn(name="b", unit="h"))
    [row] = rows_of(written(tmp_path, "a,b\n1,3\n"), TraceRules(columns=columns))
    assert row.run_ms == 2 * 3_600_000


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("a,soon,10,,,,1,,,1,,,", "submit_s: found 'soon', expected a number"),
        ("a,,10,,,,1,,,1,,,", "submit_s: found nothing, expected when the job came"),
        ("a,0,-10,,,,1,,,1,,,", "run_s: found '-10', expected at least 0"),
        ("a,0,1e300,,,,1,,,1,,,", "run_s: found '1e300', expected at most 4.6e.18 in base units"),
        ("a,0,1e-300,,,,1,,,1,,,", "run_s: found '1e-300', expected 0 or at least 1e-99"),
        ("a,0,10,,,,0.1234567890123456789,,,1,,,", "gpus: found .*, expected at most 18 decimals"),
        ("a,0,1 0,,,,1,,,1,,,", "run_s: found '1 0'"),
        ("a,0,10,,,,1e99,,,1,,,", "gpus: found 1.0e[+]102 in base units"),
        ("a,0,10,,,,x,,,1,,,", "gpus: found 'x'"),
        ("a,0,10,,,,1,,,0,,,", "nodes_or_pods: found '0', expected a whole number from 1"),
        ("a,0,10,,,,1,,,1.5,,,", "nodes_or_pods: found '1.5'"),
        ("a,0,10,,,,1,,,1,9999999999,,", "priority: found '9999999999'"),
        ("a,0,10,,,,1,,,1,,,,", "found 14 cells, expected 13"),
        ('a,0,10,"u,,,1,,,1,,,', "found quotes that do not match"),
        ("a,٣,10,,,,1,,,1,,,", "submit_s: found '٣'"),
        ("a,99999999999999999999,10,,,,1,,,1,,,", "submit_s: found '9+', expected less than 1e18"),
    ],
)
def test_a_broken_row_is_reported_with_its_line_and_column(
    tmp_path: Path, row: str, found: str
) -> None:
    file = written(tmp_path, f"{OWN_HEAD}\n{row}\n")
    with pytest.raises(TraceError, match=f"trace.csv:2: warning: .*{found}"):
        jobs_of(file)


def test_an_end_before_the_start_is_broken(tmp_path: Path) -> None:
    file = written(tmp_path, "one;ann;100;190;130;1;1;1\n")
    with pytest.raises(TraceError, match="found an end before the start"):
        rows_of(file, TraceRules(columns=MOMENTS))


def test_a_column_that_is_not_there_is_reported_with_those_that_are(tmp_path: Path) -> None:
    columns = ColumnMap(submit=TimeColumn(name="came"), run=TimeColumn(name="ran"), user="who")
    file = written(tmp_path, "came,user\n1,2\n")
    with pytest.raises(TraceError, match="found no column ran, who, only came, user"):
        rows_of(file, TraceRules(columns=columns))


def test_a_column_that_is_there_twice_is_refused_if_it_is_used(tmp_path: Path) -> None:
    twice = written(tmp_path, "job_id,gpus,submit_s,run_s,gpus\nx,1,5,10,2\n")
    with pytest.raises(TraceError, match=r"trace.csv: found the column gpus twice, at 2 and at 5"):
        rows_of(twice)
    columns = ColumnMap(
        submit=TimeColumn(name="a"), run=TimeColumn(name="b"), names=("a", "b", "c", "a")
    )
    with pytest.raises(TraceError, match="found the column a twice, at 1 and at 4 of 4"):
        rows_of(written(tmp_path, "1,2,3,4\n"), TraceRules(columns=columns))
    [row] = rows_of(written(tmp_path, "job_id,note,submit_s,run_s,note\nx,1,5,10,2\n"))
    assert row.run_ms == 10_000


def test_a_wait_that_is_reported_comes_before_the_one_until_the_start(tmp_path: Path) -> None:
    columns = ColumnMap(
        submit=TimeColumn(name="a"),
        start=TimeColumn(name="b"),
        wait=TimeColumn(name="c"),
        end=TimeColumn(name="d"),
    )
    [row] = rows_of(written(tmp_path, "a,b,c,d\n1,5,2,9\n"), TraceRules(columns=columns))
    assert (row.wait_ms, row.run_ms) == (2000, 4000)


def test_moments_on_two_clocks_are_refused(tmp_path: Path) -> None:
    columns = ColumnMap(submit=TimeColumn(name="a"), end=TimeColumn(name="b", unit="date"))
    with pytest.raises(TraceError, match="moments with and without dates"):
        rows_of(written(tmp_path, "a,b\n1,2\n"), TraceRules(columns=columns))


def test_a_map_that_does_not_say_how_long_jobs_run_is_refused(tmp_path: Path) -> None:
    columns = ColumnMap(submit=TimeColumn(name="came"))
    with pytest.raises(TraceError, match="neither run nor end"):
        rows_of(written(tmp_path, "came\n1\n"), TraceRules(columns=columns))
