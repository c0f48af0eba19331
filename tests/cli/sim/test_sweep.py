"""``fairlead sweep``: all combinations in one table, on this machine or on a Dask cluster."""

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from fairlead.cli.sim.progress import RunCount
from fairlead.errors import ResultError
from fairlead.sim.results.read_result import read_result
from fairlead.sim.sweep import run_on_dask
from tests.cli.output.test_progress import Terminal
from tests.cli.past_store import NOW, capacity, held, write_past
from tests.cli.run_cli import Ran, run_cli
from tests.cli.simulated import write_scenario
from tests.sim.results.small_runs import contents

SWEEP = ("--over", "kValue=0.5,2", "--over", "halfLife=20s,5m", "--set", "duration=60s")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario, and a sweep of it in two processes."""
    path = tmp_path_factory.mktemp("sweep")
    write_scenario(path)
    return path


@pytest.fixture(scope="module")
def swept(folder: Path) -> Ran:
    to = str(folder / "out")
    return run_cli("sweep", str(folder / "small.yaml"), *SWEEP, "--workers", "2", "--to", to)


def test_the_table_has_a_row_for_each_combination(folder: Path, swept: Ran) -> None:
    assert swept.exit_code == 0, swept.err
    lines = [line.split() for line in swept.out.splitlines()]
    assert lines[0][:4] == ["VARIANT", "kValue", "halfLife", "JOBS"]
    assert [line[:3] for line in lines[1:5]] == [
        ["kai", "0.5", "20s"],
        ["kai", "0.5", "5m"],
        ["kai", "2", "20s"],
        ["kai", "2", "5m"],
    ]
    result = read_result(folder / "out")
    assert result.about.complete
    for line, run in zip(lines[1:5], result.runs, strict=True):
        assert int(line[3]) == run.summary.of_cluster.submitted > 0


def test_a_run_of_a_sweep_is_that_of_simulate(folder: Path, swept: Ran) -> None:
    assert swept.exit_code == 0
    settings = ("--set", "duration=60s", "--set", "kValue=2", "--set", "halfLife=20s")
    to = str(folder / "alone")
    run_cli("simulate", str(folder / "small.yaml"), *settings, "--to", to)
    alone = contents(folder / "alone/kai")
    among = contents(folder / "out/kai-kValue=2-halfLife=20s")
    assert alone.pop("run.json") != among.pop("run.json"), "they differ in their name"
    assert alone == among


def test_a_dask_cluster_gives_the_same_bytes(
    folder: Path, swept: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers are processes of this machine; nothing listens to others."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    assert swept.exit_code == 0
    monkeypatch.chdir(folder)
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        on = ("--on", f"dask:{cluster.scheduler_address}")
        empty = run_cli("sweep", "small.yaml", *SWEEP, *on, "--to", "on-dask")
        assert empty.exit_code == 1
        assert "has no workers: start some with dask worker tcp://127.0.0.1:" in empty.err
        cluster.scale(1)
        cluster.wait_for_workers(1, timeout=60)
        ran = run_cli("sweep", "small.yaml", *SWEEP, *on, "--to", "on-dask")
        record = write_past(folder, [capacity(2, 8), held(2, "a", 8), held(0, "a", 0)])
        begin = (*SWEEP, "--usage-from", record, "--usage-at", NOW, "--to")
        used = run_cli("sweep", "small.yaml", *begin, "used-on-dask", *on)
    assert used.exit_code == 0, used.err
    run_cli("sweep", "small.yaml", *begin, "used-here", "--workers", "2")
    assert contents(folder / "used-on-dask") == contents(folder / "used-here")
    assert ran.exit_code == 0, ran.err
    assert ran.out.replace("on-dask", "out") == swept.out.replace(f"{folder}/", "")
    assert contents(folder / "on-dask") == contents(folder / "out")


def test_runs_can_begin_with_a_record_of_use(folder: Path, swept: Ran) -> None:
    """In the pool as alone; whoever held all until then comes second, and that is another run."""
    assert swept.exit_code == 0
    record = write_past(folder, [capacity(2, 8), held(2, "a", 8), held(0, "a", 0)])
    begin = ("--usage-from", record, "--usage-at", NOW)
    scenario, to = str(folder / "small.yaml"), str(folder / "used")
    assert run_cli("sweep", scenario, *SWEEP, *begin, "--workers", "1", "--to", to).exit_code == 0
    name = "kai-kValue=2-halfLife=5m"
    assert contents(folder / "used" / name) != contents(folder / "out" / name)
    settings = ("--set", "duration=60s", "--set", "kValue=2", "--set", "halfLife=5m")
    run_cli("simulate", scenario, *settings, *begin, "--to", str(folder / "used-alone"))
    alone, among = contents(folder / "used-alone/kai"), contents(folder / "used" / name)
    assert alone.pop("run.json") != among.pop("run.json"), "they differ in their name"
    assert alone == among
    under_kueue = ("--policy", "kueue", "--over", "grace=0s", "--set", "duration=1s")
    ran = run_cli("sweep", scenario, *under_kueue, *begin, "--to", str(folder / "kueue"))
    assert "note: past usage does not count under kueue" in ran.err


def test_programs_get_every_measure_of_every_combination(folder: Path) -> None:
    arguments = (str(folder / "small.yaml"), "--over", "grace=0s", "--set", "duration=30s")
    seeds = ("--seeds", "2", "--workers", "1", "--to", str(folder / "seeds"))
    document = json.loads(run_cli("sweep", *arguments, *seeds, "-o", "json").out)
    [row] = document["combinations"]
    assert (row["variant"], row["settings"]) == ("kai", {"grace": "0s"})
    assert row["runs"] == ["kai-grace=0s-seed-1", "kai-grace=0s-seed-2"]
    [jobs] = [
        each
        for each in row["measures"]
        if (each["scope"], each["measure"]) == ("cluster", "submitted")
    ]
    came = [run.summary.of_cluster.submitted for run in read_result(folder / "seeds").runs]
    assert jobs["runs"] == 2
    assert jobs["mean"] == sum(came) / 2
    assert jobs["low"] <= jobs["mean"] <= jobs["high"]


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_before_a_run_has_ended_leaves_what_was_there(folder: Path) -> None:
    """The result of before is not shown as if it were the new one."""
    begin = RunCount.__init__

    def interrupted(self: RunCount, runs: int) -> None:
        begin(self, runs)
        signal.raise_signal(signal.SIGINT)

    arguments = [str(folder / "small.yaml"), "--over", "grace=0s", "--workers", "1"]
    arguments += ["--to", str(folder / "kept")]
    assert run_cli("sweep", *arguments).exit_code == 0
    before = contents(folder / "kept")
    with mock.patch.object(RunCount, "__init__", interrupted):
        ran = run_cli("sweep", *arguments)
    assert (ran.exit_code, ran.out) == (130, "")
    assert "interrupted: no run had ended, so nothing was written" in ran.err
    assert contents(folder / "kept") == before


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_keeps_the_runs_that_have_ended(folder: Path) -> None:
    """A real signal when the first of three runs has ended; others may have, too."""
    one_more = RunCount.one_more

    def interrupted(self: RunCount) -> None:
        one_more(self)
        if self.ended == 1:
            signal.raise_signal(signal.SIGINT)

    arguments = ("--over", "grace=0s,1s,2s", "--workers", "1", "-o", "csv")
    with mock.patch.object(RunCount, "one_more", interrupted):
        to = str(folder / "stopped")
        ran = run_cli("sweep", str(folder / "small.yaml"), *arguments, "--to", to)
    assert ran.exit_code == 130
    assert "stopping: the runs that have ended are kept" in ran.err
    assert "interrupted: the runs that had ended are kept" in ran.err
    result = read_result(folder / "stopped")
    assert not result.about.complete
    assert [run.about.name for run in result.runs] == ["kai-grace=0s"]
    assert {path.name for path in (folder / "stopped").iterdir()} == {"result.json", "kai-grace=0s"}
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert {row["grace"] for row in rows} == {"0s"}
    assert {"variant", "grace", "scope", "name", "measure", "runs", "mean", "low", "high"} == set(
        rows[0]
    )


def test_a_scheduler_that_does_not_answer_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    monkeypatch.setattr(run_on_dask, "_CONNECT_S", 0.3)
    on = ("--on", "dask:tcp://127.0.0.1:1", "--to", str(folder / "nobody"))
    ran = run_cli("sweep", str(folder / "small.yaml"), *SWEEP, *on)
    assert ran.exit_code == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in ran.err
    assert not (folder / "nobody").exists(), "it is connected before a folder is made"


NO_ADDRESS = {
    "foo://here:1": "unknown address scheme 'foo'",
    "tcp://[::1": "invalid address",
    "tls://127.0.0.1:1": "TLS",
}


@pytest.mark.parametrize(("address", "problem"), NO_ADDRESS.items())
def test_an_address_that_is_none_is_reported(folder: Path, address: str, problem: str) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    ran = run_cli("sweep", str(folder / "small.yaml"), *SWEEP, "--on", f"dask:{address}")
    assert ran.exit_code == 1
    assert ran.err.startswith(f"error: no Dask scheduler answers at {address} (")
    assert problem in ran.err


def test_a_failed_connection_ends_in_one_sentence(folder: Path) -> None:
    """In a process of its own: threads of Dask would complain when it ends."""
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    to = str(folder / "nowhere")
    command = ["sweep", str(folder / "small.yaml"), *SWEEP, "--on", "dask:nonsense", "--to", to]
    ran = subprocess.run(
        [sys.executable, "-m", "fairlead", *command], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    [line] = ran.stderr.splitlines()
    assert line.startswith("error: no Dask scheduler answers at nonsense (missing port number")
    assert not Path(to).exists()


def test_without_dask_it_is_reported_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    on = ("--on", "dask:tcp://127.0.0.1:1", "--to", str(folder / "none"))
    ran = run_cli("sweep", str(folder / "small.yaml"), *SWEEP, *on)
    assert ran.exit_code == 1
    assert "Dask is not installed: pip install 'fairlead[dask]'" in ran.err


WRONG_USAGE = {
    "nothing to sweep over": ((), "Missing option '--over'"),
    "no values": (
        ("--over", "kValue"),
        "found 'kValue', expected NAME=VALUE,... such as kValue=0.5,1,2",
    ),
    "an empty value": (("--over", "kValue=1,"), "expected values that differ"),
    "no policy": (("--over", "kValue=1", "--policy", ","), "found no name in ','"),
    "nowhere to": (("--over", "kValue=1", "--to", ""), "found an empty path"),
    "a moment of nothing": (("--over", "kValue=1", "--usage-at", NOW), "name that too"),
    "a value twice": (("--over", "kValue=1,1"), "expected values that differ"),
    "set and swept": (("--over", "kValue=1", "--set", "kValue=2"), "leave one out"),
    "seeds swept and given": (("--over", "seed=1,2", "--seed", "5"), "seed as a setting beside"),
    "seeds swept and counted": (("--over", "seed=1,2", "--seeds", "2"), "seed as a setting beside"),
    "on nothing known": (("--over", "kValue=1", "--on", "ray:x"), "expected such as dask:tcp://"),
    "workers elsewhere": (
        ("--over", "kValue=1", "--on", "dask:x", "--workers", "2"),
        "a Dask cluster has its own",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG_USAGE.values(), ids=WRONG_USAGE.keys())
def test_wrong_usage_is_reported(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    ran = run_cli("sweep", str(folder / "small.yaml"), *arguments)
    assert ran.exit_code == 2
    assert message in ran.err


def test_a_file_of_kais_simulator_cannot_be_swept(tmp_path: Path) -> None:
    (tmp_path / "kai.yaml").write_text("Cycles: 5\nNodes: []\nQueues: []\nJobs: {}\n")
    ran = run_cli("sweep", str(tmp_path / "kai.yaml"), "--over", "kValue=1")
    assert ran.exit_code == 2
    assert "which fairlead simulate runs as it is" in ran.err


def test_a_terminal_sees_how_many_runs_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    times = iter([0.0, 0.0, 30.0])
    progress = RunCount(4, lambda: next(times))
    progress.one_more()
    progress.end()
    assert terminal.getvalue().split("\r\x1b[K") == [
        "",
        "[                        ]   0% 0 of 4 runs",
        "[######                  ]  25% 1 of 4 runs, 1m30s left",
        "",
    ]


def test_equal_rows_are_announced_before_they_are_run(folder: Path) -> None:
    arguments = ["--over", "minRunTime=0s,1m", "--workers", "1", "--to", str(folder / "equal")]
    with mock.patch("fairlead.cli.sim.sweep.ResultFolder", side_effect=ResultError("not run")):
        ran = run_cli("sweep", str(folder / "small.yaml"), *arguments)
    told = "note: minRunTime changes nothing under kai: its rows are equal\n"
    assert ran.err == f"{told}error: not run\n"


def test_what_is_set_for_all_runs_and_changes_nothing_is_reported(folder: Path) -> None:
    arguments = ["--over", "grace=0s,1m", "--set", "minRunTime=1m", "--to", str(folder / "equal")]
    with mock.patch("fairlead.cli.sim.sweep.ResultFolder", side_effect=ResultError("not run")):
        ran = run_cli("sweep", str(folder / "small.yaml"), *arguments)
    assert ran.err == "note: minRunTime=1m changes nothing under kai\nerror: not run\n"
