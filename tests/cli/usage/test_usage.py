"""``fairlead usage``: which record, what is shown, what an administrator changes, the log."""

import csv
import io
import json
from pathlib import Path

import pytest
import yaml

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held
from tests.cli.manifests import NODE, kai_queue, write
from tests.cli.run_cli import Ran, run_cli

HOUR_MS = 3_600_000
NOW = "2026-11-16T08:00:00Z"
NOW_MS = 1_794_816_000_000
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")


def held(hours_ago: int, queue: str, gpus: int, user: str = "") -> Held:
    at_ms = NOW_MS - hours_ago * HOUR_MS
    return Held(at_ms=at_ms, queue=QueueName(queue), user=user, amounts=(0, 0, gpus * 1000))


# 10 GPUs for 24 h are 240 GPU-hours. a: 6 x 12 + 2 x 12 = 96, of which ann 4 x 12 = 48; above its
# guarantee of 2: 4 x 12 = 48. b: 3 x 4 = 12.
STORY: list[Entry] = [
    Capacity(at_ms=NOW_MS - 24 * HOUR_MS, amounts=(0, 0, 10_000)),
    Guarantee(at_ms=NOW_MS - 24 * HOUR_MS, queue=QueueName("a"), amounts=(0, 0, 2000)),
    held(24, "a", 4, "ann"),
    held(24, "a", 2, "bob"),
    held(12, "a", 0, "ann"),
    held(4, "b", 3),
]


@pytest.fixture(autouse=True)
def _no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FAIRLEAD_USAGE_STORE", "SUDO_USER", "USER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "usage.db"
    with UsageStore.open(path, resources=RESOURCES) as record:
        record.append(STORY, observed_ms=NOW_MS)
    return str(path)


def run(store: str, verb: str, *arguments: str, now: bool = True) -> Ran:
    at = ("--now", NOW) if now else ()
    return run_cli("usage", verb, "--store", store, *at, *arguments)


def shown(store: str, *arguments: str) -> dict[tuple[str, str | None], dict[str, str | None]]:
    """The rows about GPUs, by queue and user."""
    ran = run(store, "show", "-o", "json", *arguments)
    assert ran.exit_code == 0, ran.err
    rows = json.loads(ran.out)["usage"]
    return {(row["queue"], row["user"]): row for row in rows if row["resource"] == "nvidia.com/gpu"}


def test_use_is_shown_in_hours_and_as_a_part_of_the_capacity(store: str) -> None:
    rows = shown(store)
    assert rows["a", None] == {
        "queue": "a",
        "user": None,
        "resource": "nvidia.com/gpu",
        "unit": "GPU-h",
        "used": "96",
        "decayed": None,
        "aboveGuarantee": "48",
        "ofCapacity": "0.4",  # 96 / 240
    }
    assert (rows["b", None]["used"], rows["b", None]["ofCapacity"]) == ("12", "0.05")


def test_users_are_parts_of_their_queue(store: str) -> None:
    with UsageStore.open(Path(store)) as record:
        record.append([held(0, "b", 0, "cleo")])
    rows = shown(store, "--by", "user")
    used = {key: row["used"] for key, row in rows.items()}
    assert used == {
        ("a", None): "96",
        ("a", "ann"): "48",
        ("a", "bob"): "48",  # 2 x 24
        ("b", None): "12",
        ("b", "cleo"): "0",
        ("b", "(no user)"): "12",
    }


def test_one_half_life_ago_counts_half(store: str) -> None:
    """One GPU for a moment, 12 h ago and half of it gone since: a grant, because it is a moment."""
    with UsageStore.open(Path(store)) as record:
        at_ms = NOW_MS - 12 * HOUR_MS
        hours = (0, 0, 8 * 1000 * HOUR_MS)
        name = QueueName("c")
        record.append([Granted(at_ms=at_ms, queue=name, resource_time=hours, who="e", reason="r")])
    row = shown(store, "--half-life", "12h")["c", None]
    assert (row["used"], row["decayed"]) == ("8", "4")


LATER = "2026-11-16T18:00:00Z"  # ten hours after the last look
NOT_KNOWN = "note: no observation after 2026-11-16T08:00:00Z; usage since then is unknown\n"


@pytest.mark.parametrize("half_life", ["0", "12h"])
def test_what_is_shown_ends_with_the_last_look(store: str, half_life: str) -> None:
    """Not 96 + 2 x 10 and 12 + 3 x 10 GPU-hours, of which nobody knows."""
    arguments = ("show", "--half-life", half_life, "-o", "json")
    ran = run(store, *arguments, "--now", LATER, now=False)
    found, then = json.loads(ran.out), json.loads(run(store, *arguments).out)
    assert found["usage"] == then["usage"]
    assert (found["now"], found["until"], found["since"]) == (LATER, NOW, then["since"])
    assert NOT_KNOWN in ran.err
    assert "nobody looked" not in run(store, *arguments).err


def test_a_look_a_while_ago_is_as_good_as_one_now(store: str) -> None:
    """Five minutes may pass: 96 + 2/12 GPU-hours."""
    ran = run(store, "show", "-o", "json", "--now", "2026-11-16T08:05:00Z", now=False)
    (row,) = [
        row
        for row in json.loads(ran.out)["usage"]
        if (row["queue"], row["resource"]) == ("a", "nvidia.com/gpu")
    ]
    assert row["used"] == "96.167"
    assert "nobody looked" not in ran.err


def test_a_grant_after_the_last_look_is_shown_and_charges_nobody_else(store: str) -> None:
    eve = ("--who", "eve", "--reason", "r", "--now", "2026-11-16T17:00:00Z")
    run(store, "grant", "--queue", "a", "gpu=50h", *eve, now=False)
    ran = run(store, "show", "-o", "json", "--now", LATER, now=False)
    rows = json.loads(ran.out)["usage"]
    gpus = {row["queue"]: row["used"] for row in rows if row["resource"] == "nvidia.com/gpu"}
    assert gpus == {"a": "46", "b": "12"}
    assert NOT_KNOWN in ran.err


def test_a_moment_before_the_last_look_is_shown_as_it_was(store: str) -> None:
    """Four hours ago: 6 x 12 + 2 x 8 GPU-hours; b had not begun."""
    ran = run(store, "show", "-o", "json", "--now", "2026-11-16T04:00:00Z", now=False)
    rows = json.loads(ran.out)["usage"]
    gpus = {row["queue"]: row["used"] for row in rows if row["resource"] == "nvidia.com/gpu"}
    assert gpus == {"a": "88", "b": "0"}
    assert "nobody looked" not in ran.err


def test_a_record_of_grants_alone_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    hours = (0, 0, 8 * 1000 * HOUR_MS)
    at_ms = NOW_MS - 12 * HOUR_MS
    with UsageStore.open(path, resources=RESOURCES) as record:
        record.append(
            [Granted(at_ms=at_ms, queue=QueueName("c"), resource_time=hours, who="e", reason="r")]
        )
    row = shown(str(path), "--half-life", "12h")["c", None]
    assert (row["used"], row["decayed"]) == ("8", "4")


@pytest.mark.parametrize("change", ["grant --queue x gpu=1h", "forgive --queue x"])
def test_a_change_asks_for_names_and_counts_nothing(
    store: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(*_arguments: object) -> None:
        raise AssertionError("nothing is to be counted")

    monkeypatch.setattr(UsageStore, "ledger", count)
    ran = run(store, *change.split(), "--reason", "r", "--who", "eve")
    assert ran.exit_code == 0
    assert ran.err.startswith("note: the store has no queue x\n")


def test_the_window_leaves_out_what_is_older(store: str) -> None:
    """Only 2 GPUs of the last 6 hours in a, 3 of the last 4 in b; capacity 10 x 6 = 60."""
    rows = shown(store, "--window", "6h")
    assert (rows["a", None]["used"], rows["a", None]["ofCapacity"]) == ("12", "0.2")
    assert (rows["b", None]["used"], rows["b", None]["ofCapacity"]) == ("12", "0.2")


def test_the_table_has_gpus_first_and_a_line_above(store: str) -> None:
    ran = run(store, "show", "--half-life", "2d", "--queue", "b")
    lines = ran.out.splitlines()
    assert lines[0] == "used from 2026-11-09T08:00:00Z to 2026-11-16T08:00:00Z, half-life 2d"
    head = "QUEUE RESOURCE UNIT USED DECAYED ABOVE-GUARANTEE OF-CAPACITY"
    assert lines[2].split() == head.split()
    assert lines[3].split()[:4] == ["b", "nvidia.com/gpu", "GPU-h", "12"]
    assert [line.split()[1] for line in lines[3:] if line] == ["nvidia.com/gpu", "cpu", "memory"]


def test_every_form_says_the_same(store: str) -> None:
    plain = run(store, "show", "-o", "json").out
    assert yaml.safe_load(run(store, "show", "-o", "yaml").out) == json.loads(plain)
    rows = list(csv.DictReader(io.StringIO(run(store, "show", "-o", "csv").out)))
    assert [row["used"] for row in rows] == [row["used"] for row in json.loads(plain)["usage"]]


def test_a_capacity_that_was_never_told_is_noted(store: str) -> None:
    ran = run(store, "show")
    assert "note: the capacity of cpu, memory is not recorded in this window" in ran.err
    rows = json.loads(run(store, "show", "-o", "json").out)["usage"]
    known = {row["resource"]: row["ofCapacity"] for row in rows if row["queue"] == "a"}
    assert known == {"nvidia.com/gpu": "0.4", "cpu": None, "memory": None}


def test_an_unknown_queue_is_an_error_with_a_guess(store: str) -> None:
    with UsageStore.open(Path(store)) as record:
        record.append([held(0, "research", 1)])
    ran = run(store, "show", "--queue", "reserch")
    assert (ran.exit_code, ran.out) == (1, "")
    assert 'queue reserch has no recorded usage in this window; did you mean "research"?' in ran.err


def test_an_empty_record_says_so(tmp_path: Path) -> None:
    UsageStore.open(tmp_path / "new.db").close()
    ran = run(str(tmp_path / "new.db"), "show")
    assert ran.exit_code == 0
    assert ran.out.endswith("\nno usage\n")


def test_inner_queues_of_the_objects_are_sums(store: str, tmp_path: Path) -> None:
    inner = kai_queue("a", parent="top"), kai_queue("b", parent="top")
    objects = write(tmp_path, "c.yaml", NODE, kai_queue("top"), *inner)
    ran = run(store, "show", "-f", objects)
    rows = [line for line in ran.out.splitlines() if "nvidia.com/gpu" in line]
    assert [row.split()[:4:3] for row in rows] == [["top", "108"], ["a", "96"], ["b", "12"]]
    assert [len(row) - len(row.lstrip()) for row in rows] == [0, 2, 2]


def test_the_variable_names_the_record(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLEAD_USAGE_STORE", store)
    assert run_cli("usage", "show", "--now", NOW).out == run(store, "show").out


SETTINGS = """
apiVersion: fairlead/v1
kind: Settings
spec:
  usage: {usage}
"""


def test_the_settings_name_the_record_and_the_rules(store: str, tmp_path: Path) -> None:
    usage = f"{{store: {{path: {store}}}, window: {{length: 6h}}, halfLife: 12h}}"
    objects = write(
        tmp_path, "c.yaml", NODE, kai_queue("a"), kai_queue("b"), SETTINGS.format(usage=usage)
    )
    ran = run_cli("usage", "show", "-f", objects, "--now", NOW, "-o", "json")
    assert ran.exit_code == 0, ran.err
    found = json.loads(ran.out)
    assert (found["since"], found["halfLife"]) == ("2026-11-16T02:00:00Z", "12h")
    ran = run_cli("usage", "show", "-f", objects, "--now", NOW, "-o", "json", "--half-life", "0")
    assert json.loads(ran.out)["halfLife"] is None


def test_only_what_is_above_the_guarantee_may_count(store: str, tmp_path: Path) -> None:
    """48 of 240 GPU-hours of a were above its 2 GPUs; of a user nobody can say which."""
    usage = f"{{store: {{path: {store}}}, charge: over-quota}}"
    objects = write(tmp_path, "c.yaml", NODE, kai_queue("a"), SETTINGS.format(usage=usage))
    rows = shown(store, "-f", objects, "--by", "user")
    assert rows["a", None]["ofCapacity"] == "0.2"
    assert rows["a", "ann"]["ofCapacity"] is None


def test_a_picture_is_drawn_beside_the_table(store: str, tmp_path: Path) -> None:
    both, one = tmp_path / "both.svg", tmp_path / "one.svg"
    ran = run(store, "show", "--plot", str(both))
    assert ran.out == run(store, "show").out
    assert f"drawn: {both}" in ran.err
    run(store, "show", "--queue", "b", "--plot", str(one))
    assert [">a<" in file.read_text(encoding="utf-8") for file in (both, one)] == [True, False]


def test_a_record_in_prometheus_is_not_ours(tmp_path: Path) -> None:
    usage = "{prometheus: {url: 'http://localhost:9090'}}"
    objects = write(tmp_path, "c.yaml", NODE, kai_queue("a"), SETTINGS.format(usage=usage))
    ran = run_cli("usage", "log", "-f", objects)
    assert ran.exit_code == 1
    assert "the settings name Prometheus, which is not a usage store: name the file" in ran.err


def test_objects_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    ran = run_cli("usage", "log", "-f", str(tmp_path / "none"), "--store", "x")
    assert ran.exit_code == 1
    assert "cannot be read" in ran.err


@pytest.mark.parametrize("verb", ["show", "log", "export"])
def test_no_record_is_an_error_that_says_how_to_name_it(verb: str) -> None:
    ran = run_cli("usage", verb)
    assert ran.exit_code == 1
    assert "no usage store is named: name the file with --store FILE" in ran.err
    assert "FAIRLEAD_USAGE_STORE" in ran.err


@pytest.mark.parametrize(
    "arguments",
    ["show", "log", "export", "grant --queue a gpu=1h --reason r", "forgive --all --reason r"],
)
def test_a_slip_in_the_name_makes_no_file(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "eve")
    ran = run(str(tmp_path / "missing.db"), *arguments.split(), now=False)
    assert ran.exit_code == 1
    assert str(tmp_path / "missing.db") in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_grant_takes_off_and_its_negative_brings_back(store: str) -> None:
    """96 - 50 = 46; and 46 + 50 = 96 again."""
    ran = run(store, "grant", "--queue", "a", "gpu=2*25h", "--reason", "sorry", "--who", "eve")
    assert (ran.exit_code, ran.err) == (0, "")
    assert ran.out == "granted to queue a: 50 GPU-h of nvidia.com/gpu\n"
    assert shown(store)["a", None]["used"] == "46"
    ran = run(store, "grant", "--queue", "a", "gpu=-50h", "--reason", "no", "--who", "eve")
    assert ran.out == "charged to queue a: 50 GPU-h of nvidia.com/gpu\n"
    assert shown(store)["a", None]["used"] == "96"


def test_a_grant_for_a_user_counts_for_the_queue_too(store: str) -> None:
    to_ann = ("--queue", "a", "--user", "ann", "gpu=8h")
    run(store, "grant", *to_ann, "--reason", "r", "--who", "eve")
    rows = shown(store, "--by", "user")
    assert (rows["a", None]["used"], rows["a", "ann"]["used"]) == ("88", "40")


AMOUNTS = {
    "cpu=30m": (-1000 * HOUR_MS // 2, 0, 0),
    "memory=16Gi*10h": (0, -16 * 2**30 * 10 * HOUR_MS, 0),
    "memory=-1Ti*1000h": (0, 2**40 * 1000 * HOUR_MS, 0),  # beyond 64 bits
    "gpu=1d": (0, 0, -24_000 * HOUR_MS),
    "nvidia.com/gpu=0.5*1h": (0, 0, -500 * HOUR_MS),
}


@pytest.mark.parametrize(("text", "expected"), AMOUNTS.items(), ids=AMOUNTS)
def test_amounts_are_exact(store: str, text: str, expected: tuple[int, ...]) -> None:
    run(store, "grant", "--queue", "a", text, "--reason", "r", "--who", "eve")
    with UsageStore.open(Path(store), writes=False) as record:
        (granted,) = record.audit()
    assert isinstance(granted, Granted)
    assert granted.resource_time == expected


def test_a_resource_that_is_new_is_counted_from_now_on(store: str) -> None:
    ran = run(store, "grant", "--queue", "a", "amd.com/gpu=1h", "--reason", "r", "--who", "eve")
    assert ran.exit_code == 0, ran.err
    with UsageStore.open(Path(store), writes=False) as record:
        assert record.resources == (*RESOURCES, "amd.com/gpu")


WRONG = {
    "gpu": "found 'gpu', expected such as gpu=100h",
    "gpu=100": "expected a duration such as",
    "gpu=x*1h": "expected a quantity such as",
    "gpu=0h": "which changes nothing",
    "gpu=0.0001*1h": "finer than can be counted",
    "memory=10h": "found 'memory=10h' without an amount",
    "gpu=1h gpu=2h": "found gpu twice",
    "gpu=1h nvidia.com/gpu=2h": "found nvidia.com/gpu twice",
}


@pytest.mark.parametrize(("texts", "told"), WRONG.items(), ids=WRONG)
def test_a_wrong_amount_is_wrong_usage_and_changes_nothing(
    store: str, texts: str, told: str
) -> None:
    ran = run(store, "grant", "--queue", "a", *texts.split(), "--reason", "r", "--who", "eve")
    assert (ran.exit_code, ran.out) == (2, "")
    assert told in " ".join(ran.err.split())
    assert run(store, "log", now=False).out == "nothing was changed\n"


def test_a_queue_without_a_record_is_noted(store: str) -> None:
    ran = run(store, "grant", "--queue", "x", "gpu=1h", "--reason", "r", "--who", "eve")
    assert ran.exit_code == 0
    assert ran.err == "note: the store has no queue x\n"
    ran = run(store, "forgive", "--queue", "x", "--reason", "r", "--who", "eve")
    assert "there is no record" not in ran.err  # a grant is one


def test_forgiving_one_queue_leaves_the_others(store: str) -> None:
    ran = run(store, "forgive", "--queue", "a", "--reason", "moved", "--who", "eve")
    assert ran.out == "reset the recorded usage of queue a\n"
    rows = shown(store)
    assert (rows["a", None]["used"], rows["b", None]["used"]) == ("0", "12")


def test_forgiving_all_resets_everybody(store: str) -> None:
    ran = run(store, "forgive", "--all", "--reason", "new year", "--who", "eve")
    assert ran.out == "reset the recorded usage of all queues\n"
    assert {row["used"] for row in shown(store).values()} == {"0"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("forgive", "--reason", "r"), "either --queue QUEUE or --all"),
        (("forgive", "--all", "--queue", "a", "--reason", "r"), "either --queue QUEUE or --all"),
        (("forgive", "--all"), "Missing option '--reason'"),
        (("forgive", "--all", "--reason", " ", "--who", "e"), "found no text, expected a reason"),
        (("grant", "--queue", "a", "gpu=1h"), "Missing option '--reason'"),
        (("grant", "gpu=1h", "--reason", "r"), "Missing option '--queue'"),
        (("forgive", "--queue", "", "--reason", "r"), "found no name"),
        (("show", "--window", "0"), "expected more than 0"),
        (("show", "--window", "soon"), "expected a duration"),
        (("show", "--half-life", "-1h"), "expected 0 or more"),
        (("show", "--plot", "usage.pdf"), "ends in .svg or .png"),
    ],
    ids=str,
)
def test_wrong_usage_is_exit_2(store: str, arguments: tuple[str, ...], told: str) -> None:
    ran = run(store, *arguments)
    assert (ran.exit_code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.parametrize("option", ["--queue", "--user", "--reason", "--who"])
def test_bytes_that_are_no_text_are_refused(store: str, option: str) -> None:
    """As Python hands them on from a shell that is not in UTF-8."""
    given = {"--queue": "a", "--user": "ann", "--reason": "r", "--who": "eve", option: "\udcff"}
    ran = run(store, "grant", "gpu=1h", *(word for pair in given.items() for word in pair))
    assert ran.exit_code == 2
    assert "found bytes that are not UTF-8" in ran.err


def test_who_is_asked_for_where_nobody_is_known(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgive = ("forgive", "--all", "--reason", "r")
    with monkeypatch.context() as nameless:
        nameless.setattr("getpass.getuser", _nobody)
        assert "no login name was found: add --who NAME" in run(store, *forgive).err
    monkeypatch.setattr("getpass.getuser", lambda: "login")
    run(store, *forgive)
    monkeypatch.setenv("USER", "root")
    run(store, *forgive)
    monkeypatch.setenv("SUDO_USER", "ann")
    run(store, *forgive)
    run(store, *forgive, "--who", "eve")
    changes = json.loads(run(store, "log", "-o", "json", now=False).out)["changes"]
    assert [change["who"] for change in changes] == ["login", "root", "ann", "eve"]


def _nobody() -> str:
    raise OSError("this user has no name")


def test_the_log_says_who_when_what_and_why(store: str) -> None:
    eve = ("--who", "eve")
    run(store, "grant", "--queue", "a", "--user", "ann", "gpu=100h", "--reason", "sorry", *eve)
    run(store, "grant", "--queue", "b", "gpu=-1h", "cpu=2h", "--reason", "swap", *eve)
    run(store, "forgive", "--all", "--reason", "new\nyear", *eve)
    lines = run(store, "log", now=False).out.splitlines()
    assert [line.split() for line in lines[1:]] == [
        [NOW, "eve", "granted", "a", "ann", "100", "GPU-h", "nvidia.com/gpu", "sorry"],
        [NOW, "eve", *"changed b 2 core-h cpu, -1 GPU-h nvidia.com/gpu swap".split()],
        [NOW, "eve", "forgiven", "*", "new\\nyear"],
    ]
    rows = list(csv.DictReader(io.StringIO(run(store, "log", "-o", "csv", now=False).out)))
    assert rows[2]["reason"] == "new\nyear"
    changes = json.loads(run(store, "log", "-o", "json", now=False).out)["changes"]
    assert changes[1]["amounts"] == {"cpu": "2 core-h", "nvidia.com/gpu": "-1 GPU-h"}
    assert changes[2]["queue"] is None


def test_a_change_is_never_older_than_the_record(store: str) -> None:
    """The clock is a day behind: the grant is written at the last look, which was now."""
    late = ("--now", "2026-11-15T08:00:00Z", "--reason", "r", "--who", "eve")
    ran = run(store, "grant", "--queue", "a", "gpu=1h", *late, now=False)
    assert ran.exit_code == 0, ran.err
    changes = json.loads(run(store, "log", "-o", "json", now=False).out)["changes"]
    assert changes[0]["time"] == NOW
