"""Parquet says what CSV says, and what is missing is told."""

import sys
from pathlib import Path

import pytest

from fairlead.errors import ResultError
from fairlead.sim.results.parquet_tables import PARQUET_FILES, require_parquet, write_parquet
from tests.cli.run_cli import run_cli
from tests.cli.simulated import write_scenario
from tests.sim.results.small_runs import contended, run_all


def test_every_table_says_the_same(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    run = run_all(contended(tmp_path), tmp_path / "out").runs[0]
    write_parquet(run.folder, run.about)
    tables = {name: parquet.read_table(run.folder / name).to_pylist() for name in PARQUET_FILES}
    jobs = list(run.jobs())
    assert [row["job"] for row in tables["jobs.parquet"]] == [row.job for row in jobs]
    assert [row["finish_ms"] for row in tables["jobs.parquet"]] == [row.finish_ms for row in jobs]
    assert [row["sentence"] for row in tables["evictions.parquet"]] == [
        row.sentence for row in run.evictions()
    ]
    held = [
        int(row["allocated"])
        for row in tables["series.parquet"]
        if (row["queue"], row["resource"]) == ("a", "memory")
    ]
    assert sum(held) == run.summary.of_queues["a"].allocated["memory"] > 0
    [done] = [
        row["value"]
        for row in tables["measures.parquet"]
        if (row["scope"], row["measure"]) == ("cluster", "finished")
    ]
    assert done == run.summary.of_cluster.finished


def test_without_the_extra_it_is_reported_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ResultError, match="pip install 'fairlead"):
        require_parquet()
    to = tmp_path / "out"
    ran = run_cli("simulate", write_scenario(tmp_path), "--parquet", "--to", str(to))
    assert ran.exit_code == 1
    assert "pyarrow, which is not installed" in ran.err
    assert not to.exists()
