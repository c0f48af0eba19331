"""Evictions, moves and node losses: counted apart, and alike wherever they are told."""

import pytest

from fairlead.cli.sim.tables import cell, cluster_columns, queue_columns
from fairlead.sim.measures.summary import JobMeasures
from fairlead.sim.report.make_report import make_report
from fairlead.sim.report.sides import compare, sides_of
from fairlead.sim.results.read_result import StoredResult
from tests.sim.results.small_runs import contended, run_all

COLUMNS = {"evicted": "evicted", "moved": "moved", "node_lost": "node-lost"}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StoredResult:
    folder = tmp_path_factory.mktemp("counts")
    return run_all(contended(folder), folder / "out")


def test_the_scenario_has_evictions_and_node_losses_to_tell_apart(result: StoredResult) -> None:
    causes = result.runs[0].summary.of_cluster.preemptions
    assert causes["evicted"] > 0
    assert causes["node-lost"] > 0


def test_a_report_has_a_column_for_each_kind(result: StoredResult) -> None:
    page = make_report("small", result.runs)
    keys = [column.key for column in page.columns if not column.by_resource]
    for shown, run in zip(page.runs, result.runs, strict=True):
        rows: dict[str, JobMeasures] = {"": run.summary.of_cluster, **run.summary.of_queues}
        for row in (*shown.measures["cluster"].rows, *shown.measures["queue"].rows):
            told = {cause: row.values[keys.index(key)] for key, cause in COLUMNS.items()}
            assert told == rows[row.name].preemptions


def test_tables_and_comparisons_count_as_the_report_does(result: StoredResult) -> None:
    rows = compare(sides_of("small", result.runs)).rows
    compared = {(row.name, row.title): [side.mean for side in row.sides] for row in rows}
    for at, run in enumerate(result.runs):
        causes = run.summary.of_cluster.preemptions
        titles = {"evictions": "evicted", "moves": "moved", "node losses": "node-lost"}
        for title, cause in titles.items():
            assert compared["", title][at] == causes[cause]
        table = {each.title: cell(each, [run.summary]) for each in cluster_columns(None)}
        assert [table[title] for title in ("EVICTED", "MOVED", "NODE LOST")] == [
            str(causes[cause]) for cause in ("evicted", "moved", "node-lost")
        ]
        for queue, measures in run.summary.of_queues.items():
            columns = queue_columns(queue, None, with_moves=True)
            row = {each.title: cell(each, [run.summary]) for each in columns}
            assert row["EVICTED"] == str(measures.preemptions["evicted"])
            assert row["MOVED"] == str(measures.preemptions["moved"])


def test_jobs_and_the_list_agree_on_who_was_told_to_leave(result: StoredResult) -> None:
    for run in result.runs:
        told = sum(row.told_to_leave for row in run.jobs())
        assert told == len(list(run.evictions())) > 0
