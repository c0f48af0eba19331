"""Slips that must not cost a record: a wrong name, a wrong clock, the same thing twice."""

import csv
import io
import json
from pathlib import Path

import pytest

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Held
from tests.cli.run_cli import Ran, run_cli

NOW = "2026-11-16T08:00:00Z"
NOW_MS = 1_794_816_000_000
HOUR_MS = 3_600_000
BY_EVE = ("--reason", "same", "--who", "eve", "--now", NOW)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Queue a held 4 GPUs of 8 for the last ten hours."""
    path = tmp_path / "usage.db"
    begin_ms = NOW_MS - 10 * HOUR_MS
    with UsageStore.open(path, resources=("gpu",)) as record:
        record.append(
            [
                Capacity(at_ms=begin_ms, amounts=(8000,)),
                Held(at_ms=begin_ms, queue=QueueName("a"), amounts=(4000,)),
                Held(at_ms=NOW_MS, queue=QueueName("a"), amounts=(0,)),
            ],
            observed_ms=NOW_MS,
        )
    return str(path)


def usage(verb: str, store: str, *arguments: str) -> Ran:
    now = ("--now", NOW) if verb == "import" else ()
    return run_cli("usage", verb, "--store", store, *now, *arguments)


def used(store: str) -> str:
    later = ("--now", "2026-11-16T08:00:01Z")
    [row] = json.loads(usage("show", store, "-o", "json", *later).out)["usage"]
    return str(row["used"])


def test_an_export_does_not_take_the_place_of_a_record(store: str) -> None:
    ran = usage("export", store, store)
    assert ran.exit_code == 1
    assert "is a database, maybe a usage store; nothing was written" in ran.err
    assert used(store) == "40"


def test_equal_grants_count_each(store: str) -> None:
    """40 - 3 * 5 = 25."""
    for _ in range(3):
        assert usage("grant", store, "--queue", "a", "gpu=5h", *BY_EVE).exit_code == 0
    assert used(store) == "25"


def test_an_export_that_comes_back_leaves_the_log_as_it_was(store: str, tmp_path: Path) -> None:
    usage("grant", store, "--queue", "a", "gpu=5h", *BY_EVE)
    text = str(tmp_path / "text")
    assert usage("export", store, text).exit_code == 0
    assert usage("import", store, text).exit_code == 0
    assert len(json.loads(usage("log", store, "-o", "json").out)["changes"]) == 1
    assert used(store) == "35"


def test_the_log_as_csv_gives_back_any_reason(store: str) -> None:
    reason = 'one, "two"\rthree\nfour'
    usage("forgive", store, "--all", "--reason", reason, "--who", "eve", "--now", NOW)
    out = usage("log", store, "-o", "csv").out
    [row] = csv.DictReader(io.StringIO(out, newline=""), strict=True)
    assert row["reason"] == reason


@pytest.mark.parametrize("change", ["grant --queue a gpu=5h", "forgive --all"])
def test_a_change_long_before_the_newest_entry_is_refused(tmp_path: Path, change: str) -> None:
    """It would be as if it had been done then. A day is what a clock may be behind."""
    path = tmp_path / "old.db"
    with UsageStore.open(path, resources=("gpu",)) as record:
        record.append([Held(at_ms=10**12, queue=QueueName("a"), amounts=(4000,))])
    # 1,000,000,000 s after 1970 is 2001-09-09T01:46:40Z.
    verb, *whom = change.split()
    by_eve = (*whom, "--reason", "r", "--who", "eve", "--now")
    ran = usage(verb, str(path), *by_eve, "2001-09-08T01:46:39Z")
    assert (ran.exit_code, ran.out) == (1, "")
    assert ran.err == (
        "error: nothing was changed: the store has entries up to 2001-09-09T01:46:40Z, and "
        "2001-09-08T01:46:39Z is more than a day before that; leave out --now\n"
    )
    assert usage("log", str(path)).out == "nothing was changed\n"
    assert usage(verb, str(path), *by_eve, "2001-09-08T01:46:40Z").exit_code == 0
    [change_made] = json.loads(usage("log", str(path), "-o", "json").out)["changes"]
    assert change_made["time"] == "2001-09-09T01:46:40Z"


@pytest.mark.parametrize("option", ["--queue", "--user", "--who"])
def test_a_name_with_control_characters_is_refused(store: str, option: str) -> None:
    given = {"--queue": "a", "--user": "ann", "--reason": "r", "--who": "eve", option: "a\nb"}
    words = (word for pair in given.items() for word in pair)
    ran = usage("grant", store, "gpu=1h", *words, "--now", NOW)
    assert ran.exit_code == 2
    assert "found 'a\\nb', expected a name without control characters" in ran.err


@pytest.mark.parametrize("verb", ["grant", "forgive", "import"])
def test_the_help_speaks_of_no_plan(verb: str) -> None:
    assert "Plan as of" not in run_cli("usage", verb, "--help").out


def test_a_grant_counts_although_the_record_has_an_entry_of_the_far_future(store: str) -> None:
    with UsageStore.open(Path(store)) as record:
        century_ms = NOW_MS + 100 * 365 * 24 * HOUR_MS
        record.append([Held(at_ms=century_ms, queue=QueueName("a"), amounts=(8000,))])
    assert usage("grant", store, "--queue", "a", "gpu=5h", *BY_EVE).exit_code == 0
    [change] = json.loads(usage("log", store, "-o", "json").out)["changes"]
    assert change["time"] == NOW
    assert used(store) == "35"


HEAD = "JobID|Account|User|Start|End|ElapsedRaw|State|AllocTRES\n"
FIRST_WEEK = """
1|a|ann|2026-11-02T00:00:00|2026-11-08T00:00:00|518400|COMPLETED|gres/gpu=4
2|a|ann|2026-11-08T12:00:00|Unknown|43200|RUNNING|gres/gpu=2
"""
SECOND_WEEK = """
2|a|ann|2026-11-08T12:00:00|2026-11-09T12:00:00|86400|COMPLETED|gres/gpu=2
3|a|ann|2026-11-10T00:00:00|2026-11-11T00:00:00|86400|COMPLETED|gres/gpu=4
"""


def test_jobs_of_a_time_that_is_known_are_refused_and_the_same_file_is_not(tmp_path: Path) -> None:
    """Job 2 ended in the first file where that ended; telling of it anew would lose half of it."""
    store = str(tmp_path / "slurm.db")
    files = {}
    for name, jobs in (("first", FIRST_WEEK), ("second", SECOND_WEEK)):
        files[name] = tmp_path / name
        files[name].write_text(HEAD + jobs.lstrip())
    assert usage("import", store, str(files["first"])).exit_code == 0
    assert usage("import", store, str(files["first"])).exit_code == 0
    before = usage("export", store).out
    ran = usage("import", store, str(files["second"]))
    assert ran.exit_code == 1
    assert "nothing was imported: the store has a level of ann in queue a at" in ran.err
    assert usage("export", store).out == before
