"""``fairlead usage export`` and ``import``: all of a record, or nothing, and the same answers."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding
from tests.cli.run_cli import Ran, run_cli
from tests.scale_examples import scale_examples
from tests.shared_folder import ROOT
from tests.store.entry_lists import BEGIN_MS, RESOURCES, entry_lists

SAMPLE = str(ROOT / "examples/usage/sacct.txt")
QUEUE_MAP = str(ROOT / "examples/usage/queue-map.yaml")
NOW = "2026-11-16T08:00:00Z"


@pytest.fixture(autouse=True)
def _no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRLEAD_USAGE_STORE", raising=False)


def usage(verb: str, store: Path, *arguments: str, stdin: bytes = b"") -> Ran:
    later = ("--now", "2027-01-01T00:00:00Z") if verb == "import" else ()
    return run_cli("usage", verb, "--store", str(store), *later, *arguments, stdin=stdin)


def entries_of(store: Path) -> list[Entry]:
    with UsageStore.open(store, writes=False) as record:
        return list(record.entries())


@settings(
    max_examples=scale_examples(15),
    deadline=None,
    # Every example makes files of its own names.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(entries=entry_lists().filter(bool))
def test_an_export_that_is_imported_gives_the_same_answers(
    tmp_path: Path, entries: list[Entry]
) -> None:
    old, new, text = tmp_path / "old.db", tmp_path / "new.db", tmp_path / "text"
    for file in tmp_path.iterdir():
        file.unlink()
    with UsageStore.open(old, resources=RESOURCES) as record:
        record.append(entries)
    assert usage("export", old, str(text)).exit_code == 0
    ran = usage("import", new, str(text))
    assert ran.exit_code == 0, ran.err
    assert entries_of(new) == entries_of(old)

    rules = UsageRules(window=Sliding(10**7), half_life_ms=10**6)
    now_ms = BEGIN_MS + 13 * 10**7
    answers = []
    for path in (old, new):
        with UsageStore.open(path, writes=False) as record:
            answers.append(record.ledger(rules, now_ms).usage(now_ms))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("before_ms", "after_ms"),
    [
        # the last look that the file tells is 900 ms after the entry
        (None, BEGIN_MS + 900),
        (BEGIN_MS + 500, BEGIN_MS + 900),
        (BEGIN_MS + 1000, BEGIN_MS + 1000),
    ],
)
def test_the_later_of_two_last_looks_is_kept(
    tmp_path: Path, before_ms: int | None, after_ms: int
) -> None:
    old, new, text = tmp_path / "old.db", tmp_path / "new.db", tmp_path / "text"
    for path, observed_ms in ((old, BEGIN_MS + 900), (new, before_ms)):
        with UsageStore.open(path, resources=("cpu",)) as record:
            record.append([Capacity(at_ms=BEGIN_MS, amounts=(8000,))], observed_ms=observed_ms)
    usage("export", old, str(text))
    assert usage("import", new, str(text)).exit_code == 0
    with UsageStore.open(new, writes=False) as record:
        assert record.observed_ms == after_ms


def test_standard_output_and_input_will_do(tmp_path: Path) -> None:
    usage("import", tmp_path / "a.db", SAMPLE)
    text = usage("export", tmp_path / "a.db").out
    ran = usage("import", tmp_path / "b.db", "-", stdin=text.encode())
    assert ran.out.startswith("imported 17 entries, from 2026-11-09T08:00:00Z to 2026-11-16T08:00")
    assert entries_of(tmp_path / "b.db") == entries_of(tmp_path / "a.db")


def test_importing_the_same_twice_changes_no_answer(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    usage("import", store, SAMPLE)
    once = usage("show", store, "--now", NOW, "--window", "14d").out
    ran = usage("import", store, SAMPLE)
    assert ran.exit_code == 0
    assert ran.out.endswith("imported no entries: the store has them all\n")
    assert usage("show", store, "--now", NOW, "--window", "14d").out == once


def test_older_history_takes_its_place_in_time(tmp_path: Path) -> None:
    """The capacity of later was there first; the history of Slurm is put before it."""
    store = tmp_path / "a.db"
    with UsageStore.open(store, resources=("nvidia.com/gpu",)) as record:
        record.append([Capacity(at_ms=1_800_000_000_000, amounts=(8000,))])
    assert usage("import", store, SAMPLE).exit_code == 0
    found = entries_of(store)
    assert [each.at_ms for each in found] == sorted(each.at_ms for each in found)
    assert found[-1] == Capacity(at_ms=1_800_000_000_000, amounts=(8000, 0, 0))
    with UsageStore.open(store, writes=False) as record:
        assert record.resources == ("nvidia.com/gpu", "cpu", "memory")


def test_a_record_that_calls_them_gpu_is_not_given_a_second_name(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    UsageStore.open(store, resources=("cpu", "memory", "gpu")).close()
    assert usage("import", store, SAMPLE).exit_code == 0
    rows = json.loads(usage("show", store, "--now", NOW, "--window", "14d", "-o", "json").out)
    used = {(row["queue"], row["resource"]): row["used"] for row in rows["usage"]}
    assert used["physics", "gpu"] == "160"
    assert {resource for _, resource in used} == {"cpu", "memory", "gpu"}


def test_one_bad_line_and_nothing_is_imported(tmp_path: Path) -> None:
    store, text = tmp_path / "a.db", tmp_path / "text"
    usage("import", store, SAMPLE)
    usage("export", store, str(text))
    lines = text.read_text(encoding="utf-8").splitlines()
    text.write_text("\n".join([*lines[:5], "{}", *lines[5:]]), encoding="utf-8")
    before = entries_of(store)
    for target in (store, tmp_path / "new.db"):
        ran = usage("import", target, str(text))
        assert ran.exit_code == 1
        assert f"error: nothing was imported: 1 line of {text} cannot be read\n{text}:6:" in ran.err
    assert entries_of(store) == before
    assert not (tmp_path / "new.db").exists()


def test_an_export_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    store, text = tmp_path / "a.db", tmp_path / "text"
    usage("import", store, SAMPLE)
    text.write_text("precious", encoding="utf-8")
    store.write_bytes(b"no store at all, but long enough to be looked at" * 100)
    assert usage("export", store, str(text)).exit_code == 1
    assert text.read_text(encoding="utf-8") == "precious"
    assert not (tmp_path / "text.part").exists()


def test_an_export_into_a_pipe_leaves_it_one(tmp_path: Path) -> None:
    """As in ``export >(gzip)`` of a shell, or ``export /dev/stdout``."""
    store, pipe = tmp_path / "a.db", tmp_path / "pipe"
    usage("import", store, SAMPLE)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert usage("export", store, str(pipe)).exit_code == 0
        assert os.read(reader, 2**16).decode() == usage("export", store).out
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    usage("import", tmp_path / "a.db", SAMPLE)
    ran = usage("export", tmp_path / "a.db", str(tmp_path / "no/such/folder"))
    assert ran.exit_code == 1
    assert "error: cannot write" in ran.err


def test_the_history_of_slurm_becomes_use_of_queues(tmp_path: Path) -> None:
    """16 GPUs for 7 days are 2688 GPU-hours; physics had 160 of them, biology 156.

    The capacity begins with the first job, seven days before now.
    """
    options = ("--queue-map", QUEUE_MAP, "--capacity", "gpu=16,cpu=512,memory=4Ti")
    ran = usage("import", tmp_path / "a.db", SAMPLE, *options)
    assert ran.out.splitlines() == [
        "sacct: 10 jobs, 2 never started, 3 steps of jobs",
        "sacct: accounts without a mapping keep their name as queue: chemistry",
        "imported 18 entries, from 2026-11-09T08:00:00Z to 2026-11-16T08:00:00Z",
    ]
    assert ran.err == ""
    show = ("--now", NOW, "--window", "14d", "-o", "json")
    rows = json.loads(usage("show", tmp_path / "a.db", *show).out)["usage"]
    gpus = {row["queue"]: row for row in rows if row["resource"] == "nvidia.com/gpu"}
    assert {name: row["used"] for name, row in gpus.items()} == {
        "team-physics": "160",
        "team-biology": "156",
        "chemistry": "0",
    }
    assert gpus["team-physics"]["ofCapacity"] == "0.05952381"  # 160 / 2688


def test_without_a_capacity_the_part_of_the_cluster_is_not_known(tmp_path: Path) -> None:
    ran = usage("import", tmp_path / "a.db", SAMPLE)
    assert "note: without --capacity the part of the cluster" in ran.err


def test_the_least_memory_that_a_cluster_may_have_is_a_mebibyte(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    assert usage("import", store, SAMPLE, "--capacity", "memory=1Mi").exit_code == 0
    assert entries_of(store)[0] == Capacity(at_ms=1_794_211_200_000, amounts=(0, 2**20, 0))


def test_the_time_zone_moves_the_history(tmp_path: Path) -> None:
    ran = usage("import", tmp_path / "a.db", SAMPLE, "--time-zone", "Europe/Berlin")
    assert "from 2026-11-09T07:00:00Z to 2026-11-16T07:00:00Z" in ran.out


def test_an_account_may_be_left_out_by_the_map(tmp_path: Path) -> None:
    accounts = tmp_path / "map.yaml"
    accounts.write_text("physics: null\nbiology: null\nchemistry: null\n", encoding="utf-8")
    ran = usage("import", tmp_path / "a.db", SAMPLE, "--queue-map", str(accounts))
    assert ran.exit_code == 0
    assert ran.out.endswith("nothing to import: the file has no entries\n")
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- physics", "found something else than names"),
        ("physics: 7", "put names that look like numbers in quotes"),
        ('physics: ""', "found something else than names"),
        ("a: [", "found no YAML"),
        ("a: 2026-13-45", "found no YAML"),
        (f"a: {'9' * 5000}", "found no YAML"),
        ("#" * (2**20 + 1), "found more than 1 MiB"),
    ],
    ids=["list", "number", "empty", "syntax", "no-date", "digits", "size"],
)
def test_a_bad_map_is_told(tmp_path: Path, text: str, told: str) -> None:
    accounts = tmp_path / "map.yaml"
    accounts.write_text(text, encoding="utf-8")
    ran = usage("import", tmp_path / "a.db", SAMPLE, "--queue-map", str(accounts))
    assert ran.exit_code == 1
    assert ran.err.startswith(f"error: cannot read {accounts}: ")
    assert told in ran.err


def test_an_account_of_the_map_that_no_job_has_is_told(tmp_path: Path) -> None:
    accounts = tmp_path / "map.yaml"
    accounts.write_text("phisics: a\nbiology: b\nastronomy: null\n", encoding="utf-8")
    ran = usage("import", tmp_path / "a.db", SAMPLE, "--queue-map", str(accounts))
    assert ran.exit_code == 0
    told = "note: the queue map has accounts without jobs: astronomy, phisics\n"
    assert told in ran.err


def test_jobs_without_an_account_need_a_line_in_the_map(tmp_path: Path) -> None:
    text = tmp_path / "sacct.txt"
    text.write_text(
        "JobID|Account|User|Start|End|AllocTRES\n7||ann|10|20|cpu=1\n", encoding="utf-8"
    )
    ran = usage("import", tmp_path / "a.db", str(text))
    assert ran.exit_code == 1
    assert 'say their queue with a line "": QUEUE' in ran.err
    accounts = tmp_path / "map.yaml"
    accounts.write_text('"": everybody\n', encoding="utf-8")
    ran = usage("import", tmp_path / "a.db", str(text), "--queue-map", str(accounts))
    assert ran.exit_code == 0, ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((SAMPLE, "--time-zone", "Mars/Base"), "expected a zone such as Europe/Berlin"),
        ((SAMPLE, "--time-zone", "../etc"), "expected a zone such as Europe/Berlin"),
        ((SAMPLE, "--capacity", "gpu=x"), "expected a quantity such as"),
        ((SAMPLE, "--capacity", "gpu=-1"), "expected such as gpu=64"),
        ((SAMPLE, "--capacity", "gpu=1e30"), "all that Kubernetes can count"),
        ((SAMPLE, "--capacity", "disk=1"), "expected such as gpu=64"),
        ((SAMPLE, "--capacity", "gpu=16,gpu=3"), "found gpu twice"),
        ((SAMPLE, "--capacity", "gpu=16,nvidia.com/gpu=16"), "found nvidia.com/gpu twice"),
        ((SAMPLE, "--capacity", "gpu=0"), "found 'gpu=0': expected more than 0; leave out what"),
        ((SAMPLE, "--capacity", "cpu=4,memory=4"), "this is 4 bytes; expected a unit, such as mem"),
        ((SAMPLE, "--capacity", "memory=1048575"), "this is 1048575 bytes"),
        ((QUEUE_MAP,), "shows no known format: expected what fairlead usage export or"),
    ],
    ids=str,
)
def test_wrong_usage_is_exit_2(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    ran = usage("import", tmp_path / "a.db", *arguments)
    assert (ran.exit_code, ran.out) == (2, "")
    assert told in " ".join(ran.err.split())
    assert not (tmp_path / "a.db").exists()


def test_options_of_sacct_do_not_go_with_an_export(tmp_path: Path) -> None:
    usage("import", tmp_path / "a.db", SAMPLE)
    usage("export", tmp_path / "a.db", str(tmp_path / "text"))
    for option in ("--capacity gpu=1", f"--queue-map {QUEUE_MAP}", "--time-zone UTC"):
        ran = usage("import", tmp_path / "b.db", str(tmp_path / "text"), *option.split())
        assert ran.exit_code == 2
        assert "--queue-map, --time-zone and --capacity are for sacct only" in ran.err


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b'{"type":"usage"\xff}\n'])
def test_a_file_that_is_no_text_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    ran = usage("import", tmp_path / "a.db", str(tmp_path / "x"))
    assert ran.exit_code == 1
    assert "it is not UTF-8 text" in ran.err
    assert usage("import", tmp_path / "a.db", "-", stdin=data).exit_code == 1


def test_an_empty_file_is_told_with_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    for name, shown in (("-", "<stdin>"), (str(tmp_path / "x"), str(tmp_path / "x"))):
        ran = usage("import", tmp_path / "a.db", name)
        assert (ran.exit_code, ran.out) == (1, "")
        told = f"error: {shown} is empty: expected what fairlead usage export or sacct --parsable2"
        assert ran.err.startswith(told)


SLURM_HEAD = "JobID|Account|User|Start|End|AllocTRES\n"


def test_one_is_told_as_one(tmp_path: Path) -> None:
    job = "7|a|ann|1000|2000|cpu=1\n"
    step, other = job.replace("7|", "7.batch|"), job.replace("|1000", "|Unknown")
    ran = usage(
        *("import", tmp_path / "a.db", "-"), stdin=(SLURM_HEAD + job + step + other).encode()
    )
    assert ran.out.splitlines()[0] == "sacct: 1 job, 1 never started, 1 step of a job"
    head = '{"type":"usage","version":1,"resources":["cpu"]}\n'
    one = '{"type":"capacity","at_ms":1000,"amounts":[8]}\n'
    ran = usage("import", tmp_path / "b.db", "-", stdin=(head + one).encode())
    assert ran.out == "imported 1 entry, from 1970-01-01T00:00:01Z to 1970-01-01T00:00:01Z\n"


def test_the_first_moment_is_told_first_though_queues_are_not_in_step(tmp_path: Path) -> None:
    """Of one queue the order is that of time; of two, a file may list one after the other."""
    text = tmp_path / "text"
    text.write_text(
        """\
{"type":"usage","version":1,"resources":["cpu"]}
{"type":"held","at_ms":5000,"queue":"a","amounts":[8]}
{"type":"held","at_ms":9000,"queue":"a","amounts":[0]}
{"type":"held","at_ms":2000,"queue":"b","amounts":[8]}
{"type":"held","at_ms":3000,"queue":"b","amounts":[0]}
""",
        encoding="utf-8",
    )
    ran = usage("import", tmp_path / "a.db", str(text))
    assert ran.out == "imported 4 entries, from 1970-01-01T00:00:02Z to 1970-01-01T00:00:09Z\n"


@pytest.mark.parametrize("late", ["observed", "entry", "job"])
def test_a_file_of_the_future_is_refused_unless_the_clock_is_set(tmp_path: Path, late: str) -> None:
    """A day after now is still fine, which is what clocks may differ by; a second more is not."""
    head = '{"type":"usage","version":1,"resources":["cpu"]'
    texts = {
        "observed": head + ',"observed_ms":2000086401000}\n',
        "entry": head + '}\n{"type":"held","at_ms":2000086401000,"queue":"a","amounts":[8]}\n',
        "job": "JobID|Account|User|Start|End|AllocTRES\n7|a|ann|1000|2000086401|cpu=1\n",
    }
    text, store = tmp_path / "text", tmp_path / "a.db"
    text.write_text(texts[late], encoding="utf-8")
    # 2,000,000,000 s after 1970 is 2033-05-18T03:33:20Z.
    ran = usage("import", store, str(text), "--now", "2033-05-18T03:33:20Z")
    assert ran.exit_code == 1
    line = 1 if late == "observed" else 2
    assert f"{text}:{line}: found the time 2000086401000, which is 2033-05-19T03:33:21Z" in ran.err
    assert list(tmp_path.iterdir()) == [text]
    ran = usage("import", store, str(text), "--now", "2033-05-18T03:33:21Z")
    assert ran.exit_code == 0, ran.err


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    ran = usage("import", tmp_path / "a.db", str(tmp_path / "none"))
    assert ran.exit_code == 1
    assert f"error: cannot read {tmp_path / 'none'}: No such file" in ran.err
