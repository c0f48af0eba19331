"""``fairlead simulate``: which runs it makes, what it prints and writes, and what it refuses."""

import csv
import io
import json
import os
import signal
import threading
from pathlib import Path
from unittest import mock

import pytest
import yaml

from fairlead.cli.sim.progress import RunProgress
from fairlead.cli.sim.tables import tree
from fairlead.sim.results.read_result import read_result
from fairlead.sim.results.result_folder import ResultFolder
from fairlead.sim.scenario.check.trace import CheckedTrace
from fairlead.sim.scenario.read import read_scenario
from fairlead.usage.entries import Entry
from tests.cli.past_store import HOUR_MS, NOW, capacity, held, write_past
from tests.cli.run_cli import run_cli
from tests.cli.simulated import write_scenario
from tests.shared_folder import ROOT
from tests.sim.results.full_disk import full_for
from tests.sim.results.small_runs import contents
from tests.sim.scenario.scenario_files import HEAD, NODES, indented

TWO_QUEUES = str(ROOT / "examples/scenarios/two-queues.yaml")
KAI_FILE = str(ROOT / "examples/kai-simulator/two-queues.yaml")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def runs_in(folder: str | Path) -> list[str]:
    return [run.about.name for run in read_result(folder).runs]


def test_it_runs_what_the_scenario_lists_and_says_where_the_results_are(tmp_path: Path) -> None:
    file = write_scenario(tmp_path, "policies: [kai, {name: calm, policy: kueue}]")
    ran = run_cli("simulate", file)
    assert ran.exit_code == 0, ran.err
    assert ran.err == ""
    assert "small under kai, seed 0, 6m\n" in ran.out
    assert "small under calm (kueue), seed 0, 6m\n" in ran.out
    assert ran.out.endswith("\nresults: results/small\n")
    assert runs_in("results/small") == ["kai", "calm"]


def test_the_table_is_that_of_the_summary(tmp_path: Path) -> None:
    ran = run_cli("simulate", write_scenario(tmp_path), "--to", "out")
    summary = read_result("out").runs[0].summary
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[2][:3] == ["QUEUE", "JOBS", "DONE"]
    queues = {cells[0]: cells[1:] for cells in lines[3:6]}
    assert list(queues) == ["top", "a", "b"], "children stand below their parent"
    for name, (jobs, done, *_) in queues.items():
        measures = summary.of_queues[name]
        assert (int(jobs), int(done)) == (measures.submitted, measures.finished)
    held_part = summary.of_queues["a"].utilisation["nvidia.com/gpu"]
    assert f"{held_part:.1%}" in queues["a"]


def test_a_setting_that_changes_nothing_is_reported(tmp_path: Path) -> None:
    file = write_scenario(tmp_path, "policies: [kai, kueue]")
    ran = run_cli("simulate", file, "--set", "minRunTime=5m", "--set", "grace=5s")
    assert ran.exit_code == 0
    assert ran.err == "note: minRunTime=5m changes nothing under kai\n"


def test_a_setting_of_past_use_where_it_does_not_count_is_reported_with_a_fix(
    tmp_path: Path,
) -> None:
    file = Path(write_scenario(tmp_path))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("  usage: {k: 1, halfLife: 3m}\n", ""), encoding="utf-8")
    ran = run_cli("simulate", str(file), "--set", "kValue=2")
    assert ran.exit_code == 0
    told = "note: kValue=2 changes nothing under kai; past use does not count, "
    assert ran.err == told + "write usage into the scenario or set window as well\n"


def test_results_without_a_name_go_to_a_new_folder_each_time(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    run_cli("simulate", file)
    ran = run_cli("simulate", file)
    assert ran.out.endswith("\nresults: results/small-2\n")
    assert contents(Path("results/small")) == contents(Path("results/small-2"))


def test_names_in_titles_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    odd = r"""policies: [{name: "k\e[32m\nai", policy: kai}]"""
    file = Path(write_scenario(tmp_path, odd))
    text = file.read_text().replace("{name: small}", r"""{name: "a\e[31m\nb"}""")
    file.write_text(text)
    ran = run_cli("simulate", str(file), "--set", "duration=30s", "--to", "out")
    assert ran.exit_code == 0, ran.err
    assert ran.out.startswith(r"a\u001b[31m\nb under k\u001b[32m\nai (kai), duration=30s, seed 0")
    swept = run_cli("sweep", str(file), "--over", "duration=30s,31s", "--workers", "1")
    assert "\x1b" not in ran.out + swept.out + swept.err
    assert r"k\u001b[32m\nai" in swept.out


def test_an_error_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    ran = run_cli("simulate", write_scenario(tmp_path), "--set", "\x1b[31m=1")
    assert ran.exit_code == 1
    assert r'found the setting "\u001b[31m"' in ran.err


def test_deep_queues_are_listed_below_each_other() -> None:
    """Deeper than Python's stack."""
    parents = {f"q{at}": f"q{at - 1}" if at else None for at in range(3000)}
    assert list(tree(parents)) == [(f"q{at}", at) for at in range(3000)]
    assert list(tree({"b": "a", "a": None, "c": None, "d": "a"})) == [
        ("a", 0),
        ("b", 1),
        ("d", 1),
        ("c", 0),
    ]


def test_rule_sets_that_a_scenario_does_not_list_can_be_asked_for(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    ran = run_cli("simulate", file, "--policy", "elastic-quota, kai", "--to", "out")
    assert ran.exit_code == 0, ran.err
    assert runs_in("out") == ["elastic-quota", "kai"]


def test_a_rule_set_means_all_variants_of_it(tmp_path: Path) -> None:
    file = write_scenario(
        tmp_path, "policies: [{name: one, policy: kai}, {name: two, policy: kai}]"
    )
    run_cli("simulate", file, "--policy", "kai", "--to", "out")
    assert runs_in("out") == ["one", "two"]
    run_cli("simulate", file, "--policy", "two", "--to", "out")
    assert runs_in("out") == ["two"]
    assert not Path("out/one").exists(), "what was there before is gone"


def test_seeds_are_runs_of_their_own_and_means_in_the_table(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    ran = run_cli("simulate", file, "--seeds", "3", "--to", "out")
    assert "small under kai, 3 seeds from 1, 6m" in ran.out
    assert "±" in ran.out
    assert runs_in("out") == ["kai-seed-1", "kai-seed-2", "kai-seed-3"]
    run_cli("simulate", file, "--seed", "2", "--to", "two")
    alone, among = contents(Path("two/kai")), contents(Path("out/kai-seed-2"))
    assert alone.pop("run.json") != among.pop("run.json"), "they differ in their name"
    assert alone == among


def test_settings_change_the_run_and_are_written_down(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    ran = run_cli("simulate", file, "--set", "duration=3m", "--set", "kValue=2", "--to", "out")
    assert "small under kai, duration=3m, kValue=2, seed 1, 3m" in ran.out
    about = read_result("out").runs[0].about
    assert about.settings == {"duration": "3m", "kValue": "2"}
    assert about.end_ms - about.start_ms == 180_000


def test_programs_get_documents_and_one_long_table(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    as_json = json.loads(run_cli("simulate", file, "--to", "out", "-o", "json").out)
    assert (as_json["kind"], as_json["complete"]) == ("SimulationResult", True)
    of_cluster = as_json["runs"][0]["summary"]["of_cluster"]
    assert yaml.safe_load(run_cli("simulate", file, "--to", "out", "-o", "yaml").out) == as_json
    text = run_cli("simulate", file, "--to", "out", "-o", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    [jobs] = [
        row["value"] for row in rows if (row["scope"], row["measure"]) == ("cluster", "submitted")
    ]
    assert int(jobs) == of_cluster["submitted"] > 0
    assert {row["run"] for row in rows} == {"kai"}


def test_a_file_of_kais_simulator_prints_kais_table() -> None:
    ran = run_cli("simulate", KAI_FILE)
    lines = ran.out.splitlines()
    assert lines[0] == "Time,QueueID,Allocation,FairShare"
    assert len(lines) == 1 + 512 * 3
    assert not Path("results").exists()
    assert run_cli("simulate", KAI_FILE, "-o", "csv").out == ran.out
    for option in (("--seed", "0"), ("--to", "out"), ("-o", "json"), ("-o", "yaml")):
        refused = run_cli("simulate", KAI_FILE, *option)
        assert (refused.exit_code, refused.out) == (2, "")
        assert "leave out all options" in refused.err


REFUSED = {
    "an unknown policy": (("--policy", "kay"), 'found the policy "kay"; did you mean "kai"?'),
    "an unknown setting": (("--set", "kvalue=1"), 'did you mean "kValue"?'),
    "a wrong value": (("--set", "kValue=x"), 'the setting kValue: found "x", expected a number'),
    "a huge value": (("--set", "kValue=1e400"), 'found "1e400", expected a number below 1e308'),
    "a time without end": (("--set", "duration=-1h"), 'found "-1h", expected more than 0; write'),
    "work without end": (
        ("--set", "loadFactor=1e15"),
        "with loadFactor=1e15: $.spec.work[0].arrivals: found some 2.6e+16 jobs, expected at most",
    ),
    "a record that is not there": (("--usage-from", "no.db"), "cannot read no.db: No such file"),
    "no record": (("--usage-from", "small.yaml"), "small.yaml is not a usage store"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_reported_and_nothing_is_written(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = run_cli("simulate", write_scenario(tmp_path), *arguments)
    assert ran.exit_code == 1
    assert message in ran.err
    assert not Path("results").exists()


WRONG_USAGE = {
    "no value": (("--set", "kValue"), "expected NAME=VALUE"),
    "twice": (("--set", "kValue=1", "--set", "kValue=2"), "found kValue twice"),
    "a moment of nothing": (("--usage-at", NOW), "name that too"),
    "a moment without zone": (("--usage-at", "2026-01-01T00:00:00"), "without a time zone"),
    "a day": (("--usage-at", "2026-01-01"), "expected such as 2026-01-01T00:00:00Z"),
    "no seeds": (("--seeds", "0"), "0 is not in the range"),
    "no policy": (("--policy", ","), "found no name in ',', expected such as kai,kueue"),
    "an empty policy": (("--policy", ""), "found no name in ''"),
    "nowhere to": (("--to", ""), "perhaps from a variable that is not set: name a folder"),
    "no name of a record": (("--usage-from", ""), "is not set: name a file"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG_USAGE.values(), ids=WRONG_USAGE.keys())
def test_wrong_usage_is_reported(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    ran = run_cli("simulate", write_scenario(tmp_path), *arguments)
    assert ran.exit_code == 2
    assert message in ran.err


LOG = """
queues: [{name: a}]
work:
  - name: log
    trace:
      path: log.csv
      kind: csv
      columns:
        id: id
        submit: {name: submit, unit: s}
        run: {name: run, unit: s}
        queue: queue
        amounts: {gpu: {name: gpus, unit: one}}
      queues: {by: queue}
"""


@pytest.mark.parametrize("policy", ["kai", "kueue", "elastic-quota"])
def test_a_job_of_a_log_for_a_queue_that_is_not_there_is_reported(
    tmp_path: Path, policy: str
) -> None:
    """Before anything runs, though it would come late."""
    (tmp_path / "log.csv").write_text("id,submit,run,gpus,queue\n1,0,60,1,a\n2,10,60,1,zzz\n")
    (tmp_path / "log.yaml").write_text(HEAD + NODES + indented(LOG))
    ran = run_cli("simulate", "log.yaml", "--policy", policy, "--to", "out")
    assert ran.exit_code == 1
    assert 'log.csv:3: error: $: found the queue "zzz" of job "log-2", which does not' in ran.err
    assert "fix: name another in queues of the trace" in ran.err
    assert not Path("out").exists()
    assert run_cli("validate", "log.yaml").exit_code == 1


def test_a_run_that_fails_leaves_the_result_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it would if the log were changed after it was checked."""
    monkeypatch.setattr(read_scenario, "check_trace", lambda *_: CheckedTrace([], 1))
    (tmp_path / "log.csv").write_text("id,submit,run,gpus,queue\n1,0,60,1,a\n")
    (tmp_path / "log.yaml").write_text(HEAD + NODES + indented(LOG))
    assert run_cli("simulate", "log.yaml", "--policy", "kai", "--to", "out").exit_code == 0
    before = contents(tmp_path / "out")
    (tmp_path / "log.csv").write_text("id,submit,run,gpus,queue\n1,0,60,1,zzz\n")
    failed = run_cli("simulate", "log.yaml", "--policy", "kai", "--to", "out")
    assert failed.exit_code == 1
    assert "job log-1 is for queue zzz, which does not exist; add it, or send" in failed.err
    assert contents(tmp_path / "out") == before


def test_findings_of_a_scenario_are_shown_with_line_and_cure(tmp_path: Path) -> None:
    file = write_scenario(tmp_path, "duratoin: 5h\npods: {grace: never}")
    ran = run_cli("simulate", file)
    assert ran.exit_code == 1
    assert "small.yaml:" in ran.err
    assert "$.spec.pods.grace" in ran.err
    assert "fix:" in ran.err
    assert run_cli("validate", file).exit_code == 1


def test_a_file_that_is_no_scenario_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("apiVersion: v1\nkind: Node\n")
    ran = run_cli("simulate", "x.yaml")
    assert ran.exit_code == 1
    assert 'x.yaml:2: error: $.kind: found 0 scenarios in 1 object, of kind "Node"' in ran.err
    missing = run_cli("simulate", "missing.yaml")
    assert missing.exit_code == 1
    assert "fix: name the file of a scenario, one that exists" in missing.err
    (tmp_path / "folder").mkdir()
    assert "found a folder, expected the file of one" in run_cli("simulate", "folder").err
    assert run_cli("simulate", "-").exit_code == 2
    assert "found an empty path" in run_cli("simulate", "").err


def test_a_scenario_may_come_through_a_pipe(tmp_path: Path) -> None:
    text = Path(write_scenario(tmp_path)).read_bytes()
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=(text,))
    writer.start()
    ran = run_cli("simulate", "pipe", "--set", "duration=30s", "--to", "out")
    writer.join(timeout=60)
    assert ran.exit_code == 0, ran.err


def test_validate_checks_a_scenario_as_one(tmp_path: Path) -> None:
    sound = run_cli("validate", write_scenario(tmp_path))
    assert sound.exit_code == 0
    assert sound.out.endswith("objects read: 1, left alone: 0; errors: 0, warnings: 0, advice: 0\n")
    doubtful = write_scenario(tmp_path, "duratoin: 5h")
    assert run_cli("validate", doubtful).exit_code == 0
    strict = run_cli("validate", doubtful, "--strict", "-o", "json")
    assert strict.exit_code == 1
    [finding] = json.loads(strict.out)["findings"]
    assert (finding["code"], finding["severity"]) == ("unknown-field", "error")
    assert run_cli("validate", KAI_FILE).exit_code == 0


def test_other_files_are_never_overwritten(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years")
    ran = run_cli("simulate", file, "--to", "mine")
    assert ran.exit_code == 1
    assert "mine has other files in it and no results of ours" in ran.err
    assert list(contents(tmp_path / "mine")) == ["thesis.tex"]


def test_a_full_disk_is_a_sentence(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    with (
        full_for("jobs.csv"),
        mock.patch.object(ResultFolder, "of_run", return_value=Path("run")),
    ):
        ran = run_cli("simulate", file, "--to", "out")
    assert ran.exit_code == 1
    assert ran.err == "error: cannot write run/jobs.csv: No space left on device\n"
    assert not Path("out").exists()


@pytest.mark.parametrize("form", ["store", "lines"])
@pytest.mark.parametrize(("used_by", "first"), [("left", "right"), ("right", "left")])
def test_a_run_can_begin_with_a_record_of_use(
    tmp_path: Path, form: str, used_by: str, first: str
) -> None:
    """Who used all 16 GPUs until then comes second, and the record says nothing about later."""
    other = "left" if used_by == "right" else "right"
    entries: list[Entry] = [
        capacity(2, 16),
        held(2, used_by, 16),
        held(-1, used_by, 0),
        held(-1, other, 16),
    ]
    record = write_past(tmp_path, entries)
    if form != "store":
        assert run_cli("usage", "export", "--store", record, "u").exit_code == 0
        record = "u"
    arguments = ("--set", "duration=60s", "--usage-from", record, "--usage-at", NOW, "--to", "out")
    ran = run_cli("simulate", TWO_QUEUES, *arguments)
    assert ran.exit_code == 0, ran.err
    [run] = read_result("out").runs
    starts = sorted((row.first_start_ms or 2**63, row.queue) for row in run.jobs())
    assert starts[0][1] == first
    history = run.about.history
    assert history is not None
    assert history.begins_ms == run.about.start_ms - 2 * HOUR_MS
    assert f"duration=60s, history={history.short}, seed 0" in ran.out


def test_a_record_of_later_says_how_to_align_it(tmp_path: Path) -> None:
    record = write_past(tmp_path, [capacity(2, 16), held(2, "left", 16)])
    ran = run_cli("simulate", TWO_QUEUES, "--usage-from", record)
    assert ran.exit_code == 1
    assert "begins at 2026-11-16T06:00:00Z, and only what is before 2026-01-05T00" in ran.err
    assert "--usage-at" in ran.err


def test_it_is_reported_where_past_use_does_not_count(tmp_path: Path) -> None:
    record = write_past(tmp_path, [capacity(2, 16), held(2, "left", 16)])
    arguments = ("--policy", "kueue", "--usage-from", record, "--usage-at", NOW)
    ran = run_cli("simulate", TWO_QUEUES, "--set", "duration=60s", *arguments)
    assert "note: past usage does not count under kueue" in ran.err


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_leaves_what_was_done_until_then(tmp_path: Path) -> None:
    """A real signal in the middle of the second run; the third one is never begun."""
    file = write_scenario(tmp_path, "policies: [kai, kueue, elastic-quota]")
    go_on = RunProgress.may_go_on
    begun: list[str] = []

    def interrupted(self: RunProgress, now_ms: int, finished: int) -> bool:
        if begun[-1] == "kueue" and finished == 3:
            signal.raise_signal(signal.SIGINT)
        return go_on(self, now_ms, finished)

    before = signal.getsignal(signal.SIGINT)
    with (
        mock.patch.object(RunProgress, "may_go_on", interrupted),
        mock.patch.object(RunProgress, "begin", lambda _, run, *__: begun.append(run)),
    ):
        ran = run_cli("simulate", file, "--to", "out")
    assert signal.getsignal(signal.SIGINT) is before
    assert ran.exit_code == 130
    assert "stopping: the results so far are written" in ran.err
    assert "interrupted: the results so far are written" in ran.err
    assert "under kueue, seed 0, " in ran.out
    assert "stopped before its end" in ran.out
    result = read_result("out")
    assert not result.about.complete
    assert [(run.about.name, run.about.complete) for run in result.runs] == [
        ("kai", True),
        ("kueue", False),
    ]
    assert result.runs[1].summary.of_cluster.finished == 3


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_a_second_ctrl_c_ends_all_and_keeps_the_runs_that_are_whole(tmp_path: Path) -> None:
    file = write_scenario(tmp_path, "policies: [kai, kueue]")
    begun: list[str] = []

    def interrupted(self: RunProgress, now_ms: int, finished: int) -> bool:
        del self, now_ms
        if begun[-1] == "kueue" and finished == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return True

    with (
        mock.patch.object(RunProgress, "may_go_on", interrupted),
        mock.patch.object(RunProgress, "begin", lambda _, run, *__: begun.append(run)),
    ):
        ran = run_cli("simulate", file, "--to", "out")
    assert ran.exit_code == 130
    assert runs_in("out") == ["kai"]
    assert sorted(path.name for path in Path("out").iterdir()) == ["kai", "result.json"]


def test_a_run_that_was_told_to_ignore_ctrl_c_goes_on(tmp_path: Path) -> None:
    file = write_scenario(tmp_path, "policies: [kai]")

    def interrupted(self: RunProgress, now_ms: int, finished: int) -> bool:
        signal.raise_signal(signal.SIGINT)
        return go_on(self, now_ms, finished)

    go_on = RunProgress.may_go_on
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with mock.patch.object(RunProgress, "may_go_on", interrupted):
            ran = run_cli("simulate", file, "--to", "out")
    finally:
        signal.signal(signal.SIGINT, before)
    assert ran.exit_code == 0
    assert read_result("out").about.complete


def test_what_would_mislead_is_reported_by_all_who_simulate(tmp_path: Path) -> None:
    """Only as calm does it run under kueue, which looks at no nodes."""
    changed = NODES.replace("]}", "], changes: [{at: 1m, lose: [node-1]}]}")
    file = Path(write_scenario(tmp_path, "policies: [kai, {name: calm, policy: kueue}]"))
    text = file.read_text(encoding="utf-8").replace(NODES, changed)
    Path("lost.yaml").write_text(text, encoding="utf-8")
    found = "lost.yaml:5: warning: $.spec.cluster.changes: found changes of nodes: under kueue jobs"
    short = ("--set", "duration=2m")
    assert run_cli("simulate", "lost.yaml", "--policy", "kai", *short).err == ""
    for policies in ("kueue", "calm", "kai,calm"):
        assert run_cli("simulate", "lost.yaml", "--policy", policies, *short).err.startswith(found)
    swept = run_cli("sweep", "lost.yaml", "--policy", "kueue", "--over", "seed=1,2", *short)
    assert (swept.exit_code, swept.err[: len(found)]) == (0, found)
    for more in ((), ("--policy", "kai")):
        assert run_cli("validate", "lost.yaml", *more).out.startswith(found)
