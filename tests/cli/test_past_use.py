"""``--usage`` on queues, plan and explain: what is read, what is shown, and what never changes."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from fairlead.cli.past_use import PastUseReader, UsageWish
from fairlead.manifest.load import load
from fairlead.store.file.usage_store import UsageStore
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.past_store import NOW, NOW_MS, capacity, held, write_past
from tests.cli.run_cli import Ran, of_shard, run_cli
from tests.shared_folder import ROOT

# 10 GPUs, nothing guaranteed, equal weights, both want all: 5 and 5 without history.
CLUSTER = (
    NODE,
    kai_queue("a"),
    kai_queue("b"),
    pod_group("ja", "a", 10),
    pod_group("jb", "b", 10),
)

# Over 10 hours with 10 GPUs each, a held 8 for the first 5: 40 of 100 GPU-hours, so u = 0.4.
# k = 1: a 0.5 + (0.5 - 0.4) = 0.6, b 0.5 + 0.5 = 1, so 10 * 0.6/1.6 = 3.75 and 6.25 GPUs;
# whole devices: 3 and 6, the one that is left goes to a, whose remainder is larger: 4 and 6.
PAST = (capacity(10, 10), held(10, "a", 8), held(5, "a", 0), held(0, "b", 0))

SETTINGS = """
apiVersion: fairlead/v1
kind: Settings
spec: {{usage: {usage}}}
"""


def settings(usage: str) -> str:
    return SETTINGS.format(usage=usage)


def rows(ran: Ran, resource: str = "gpu") -> dict[str, list[str]]:
    """The numbers of each queue on one resource, by name."""
    found = {}
    for line in ran.out.splitlines():
        cells = line.split()
        if len(cells) > 2 and cells[1] == resource:
            found[cells[0]] = cells[2:]
    return found


def queues(tmp_path: Path, *documents: str, options: tuple[str, ...] = ()) -> Ran:
    file = write(tmp_path, "c.yaml", *CLUSTER, *documents)
    return run_cli("queues", "-f", file, "--now", NOW, *options)


def test_queues_shows_use_and_shares_with_and_without_history(tmp_path: Path) -> None:
    past = write_past(tmp_path, PAST)
    ran = queues(tmp_path, settings(f"{{store: {{path: {past}}}}}"), options=("--usage",))
    assert (ran.exit_code, ran.err) == (0, "")
    head = "QUEUE RESOURCE WEIGHT USED-HOURS DECAYED-HOURS USAGE WITHOUT-HISTORY FAIR-SHARE"
    assert head.split() in [line.split() for line in ran.out.splitlines()]
    assert rows(ran) == {"a": "1 40 40 0.4 5 4".split(), "b": "1 0 0 0 5 6".split()}
    assert "past use: fresh, 0s old; window: sliding 168h; half-life: none" in ran.out


def test_use_that_fades_is_shown_beside_what_it_was(tmp_path: Path) -> None:
    """Half-life 5 h, and a held 8 of 10 GPUs over the hours 10 to 5 ago.

    Of its 40 GPU-hours 8 * 5/ln 2 * (1/2 - 1/4) = 14.427 are left, of all that were there
    10 * 5/ln 2 * (1 - 1/4) = 54.101: u = 0.267.
    """
    past = write_past(tmp_path, PAST)
    ran = queues(
        tmp_path, settings(f"{{halfLife: 5h, store: {{path: {past}}}}}"), options=("--usage",)
    )
    assert rows(ran)["a"][:4] == "1 40 14.427 0.267".split()


def test_hours_are_those_of_usage_show(tmp_path: Path) -> None:
    """For 5 hours a held 8 GPUs, 1.5 cores and 6 TiB: 40 GPU-h, 7.5 core-h, 30,720 GiB-h."""
    amounts = (1_500, 6 * 2**40, 8_000)
    begin = msgspec.structs.replace(held(10, "a", 8), amounts=amounts)
    past = write_past(tmp_path, (capacity(10, 10), begin, held(5, "a", 0), held(0, "b", 0)))
    own = settings(f"{{halfLife: 5h, store: {{path: {past}}}}}")
    document = of_shard(queues(tmp_path, own, options=("--usage", "-o", "json")).out)
    of_a = document["queues"][0]["resources"]
    assert {axis: (each["usedHours"], each["unit"]) for axis, each in of_a.items()} == {
        "gpu": ("40", "GPU-h"),
        "cpu": ("7.5", "core-h"),
        "memory": ("30720", "GiB-h"),
    }
    shown = run_cli("usage", "show", "-f", str(tmp_path / "c.yaml"), "--now", NOW, "-o", "json")
    hours = {
        row["resource"].removeprefix("nvidia.com/"): (row["used"], row["decayed"], row["unit"])
        for row in json.loads(shown.out)["usage"]
        if row["queue"] == "a"
    }
    keys = ("usedHours", "decayedHours", "unit")
    assert hours == {axis: tuple(each[key] for key in keys) for axis, each in of_a.items()}
    assert rows(queues(tmp_path, own, options=("--usage",)), "memory")["a"][1] == "30720"
    wide = rows(queues(tmp_path, own, options=("--usage", "-o", "wide")), "memory")
    assert wide["a"][1:3] == ["GiB-h", "30720"]


def test_without_the_flag_nothing_is_read_and_a_note_says_so(tmp_path: Path) -> None:
    plain = queues(tmp_path)
    past = write_past(tmp_path, PAST)
    ran = queues(tmp_path, settings(f"{{store: {{path: {past}}}}}"))
    assert plain.err == ""
    assert ran.err == (
        "note: past use is configured but was not read, so it does not count: add --usage\n"
    )
    assert ran.out == plain.out


def test_a_source_on_the_command_line_needs_no_settings(tmp_path: Path) -> None:
    past = write_past(tmp_path, PAST)
    ran = queues(tmp_path, options=("--usage-source", past))
    assert (ran.exit_code, ran.err) == (0, "")
    assert rows(ran)["a"] == "1 40 40 0.4 5 4".split()


def test_a_source_on_the_command_line_wins(tmp_path: Path) -> None:
    past = write_past(tmp_path, PAST)
    own = settings("{k: 3, store: {path: elsewhere.db}}")
    # k = 3: a 0.5 + 3 * 0.1 = 0.8, b 0.5 + 3 * 0.5 = 2; 10 * 0.8/2.8 = 2.857, so 3 and 7
    ran = queues(tmp_path, own, options=("--usage-source", past))
    assert rows(ran)["a"] == "1 40 40 0.4 5 3".split()


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_programs_get_the_state_of_the_feed(tmp_path: Path, form: str) -> None:
    past = write_past(tmp_path, PAST)
    ran = queues(tmp_path, options=("--usage-source", past, "-o", form))
    document = json.loads(ran.out) if form == "json" else yaml.safe_load(ran.out)
    (shard,) = document["shards"]
    usage = shard["usage"]
    assert (usage["state"], usage["counts"], usage["problem"]) == ("fresh", True, None)
    assert (usage["ageMilliseconds"], usage["source"], usage["k"]) == (0, "store", 1.0)
    gpu = shard["queues"][0]["resources"]["gpu"]
    assert (gpu["usedHours"], gpu["decayedHours"], gpu["usage"]) == ("40", "40", 0.4)
    assert (gpu["fairShareWithoutHistory"], gpu["fairShare"]) == ("5", "4")


def test_stale_history_does_not_count_and_is_told_once(tmp_path: Path) -> None:
    past = write_past(tmp_path, (capacity(10, 10), held(10, "a", 8), held(1, "a", 0)))
    ran = queues(tmp_path, options=("--usage-source", past, "-o", "json"))
    document = of_shard(ran.out)
    assert (document["usage"]["state"], document["usage"]["counts"]) == ("stale", False)
    assert document["usage"]["ageMilliseconds"] == 3_600_000
    assert "3600 s old" in document["usage"]["problem"]
    assert ran.err.count("3600 s old") == 1
    gpu = document["queues"][0]["resources"]["gpu"]
    assert (gpu["usage"], gpu["fairShare"]) == (None, "5")


def test_stale_history_may_be_held(tmp_path: Path) -> None:
    past = write_past(tmp_path, (capacity(10, 10), held(10, "a", 8), held(1, "a", 0)))
    own = settings(f"{{onStale: hold, store: {{path: {past}}}}}")
    ran = queues(tmp_path, own, options=("--usage",))
    # as of an hour ago: 72 of 90 GPU-hours
    assert rows(ran)["a"][2:4] == "72 0.8".split()
    assert "past use is stale" in ran.err


# Seen were 10 hours: a held 8 of 10 GPUs in the first 5, b 10 in the last; for 8 nobody looked.
# As of the last look b used 10 of 100 GPU-hours; growing older, 10 of 180. Never 10 + 80.
@pytest.mark.parametrize(
    ("on_stale", "numbers"),
    [("hold", "10 10 0.1"), ("decay", "10 10 0.056"), ("drop", "10 10 -")],
)
def test_hours_and_use_are_of_the_same_moment_when_nobody_looks(
    tmp_path: Path, on_stale: str, numbers: str
) -> None:
    past = write_past(
        tmp_path,
        (capacity(18, 10), held(18, "a", 8), held(13, "a", 0), held(9, "b", 10)),
        observed_hours_ago=8,
    )
    own = settings(f"{{onStale: {on_stale}, store: {{path: {past}}}}}")
    ran = queues(tmp_path, own, options=("--usage",))
    assert rows(ran)["b"][1:4] == numbers.split()
    assert rows(ran)["a"][1:3] == "40 40".split()


def test_a_record_is_read_once_for_hours_and_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = write_past(tmp_path, PAST)
    opened: list[Path] = []
    original = UsageStore.open

    def counting(path: Path, **options: bool) -> UsageStore:
        opened.append(path)
        return original(path, writes=options["writes"])

    monkeypatch.setattr(UsageStore, "open", counting)
    own = settings(f"{{halfLife: 5h, store: {{path: {past}}}}}")
    assert queues(tmp_path, own, options=("--usage",)).exit_code == 0
    assert opened == [Path(past)]


def test_history_that_does_not_count_leaves_none_of_the_files_own(tmp_path: Path) -> None:
    """The simulation says itself that training used half of the cluster; here the source counts."""
    file = str(ROOT / "examples" / "share-simulation")
    own = of_shard(run_cli("queues", "-f", file, "-o", "json").out)
    past = write_past(tmp_path, (capacity(10, 10), held(10, "training", 8), held(1, "training", 0)))
    ran = run_cli("queues", "-f", file, "--now", NOW, "-o", "json", "--usage-source", past)
    stale = of_shard(ran.out)
    assert (stale["usage"]["state"], stale["usage"]["counts"]) == ("stale", False)

    def gpus(document: dict[str, Any], key: str) -> dict[str, object]:
        return {each["name"]: each["resources"]["gpu"][key] for each in document["queues"]}

    assert gpus(own, "fairShare") == {"evaluation": "34", "notebooks": "11", "training": "55"}
    without = {"evaluation": "32", "notebooks": "11", "training": "57"}
    assert gpus(stale, "fairShareWithoutHistory") == without
    assert gpus(stale, "fairShare") == without
    assert set(gpus(stale, "usage").values()) == {None}


UNREACHABLE = "http://127.0.0.1:1"


def test_a_server_that_is_down_is_a_state_and_no_failure(tmp_path: Path) -> None:
    plain = queues(tmp_path)
    ran = queues(tmp_path, options=("--usage-source", UNREACHABLE))
    assert ran.exit_code == 0
    assert ran.err.startswith("warning: past use is missing: ")
    assert ran.err.count("\n") == 1
    assert "past use: missing; it does not count" in ran.out
    assert rows(ran)["a"] == "1 - - - 5 5".split()
    assert rows(plain)["a"][5] == "5"


def test_plan_and_explain_count_history_and_decide_as_before_without(tmp_path: Path) -> None:
    """By name a is first and would start; with history b is, which used nothing."""
    past = write_past(tmp_path, PAST)
    file = write(tmp_path, "c.yaml", *CLUSTER)

    def starts(*options: str) -> list[str]:
        ran = run_cli("plan", "-f", file, "--now", NOW, "-o", "json", *options)
        assert ran.exit_code == 0, ran.err
        decisions = of_shard(ran.out)["cycles"][0]["decisions"]
        return [each["workload"] for each in decisions if each["decision"] == "start"]

    assert starts() == ["team/ja"]
    assert starts("--usage-source", UNREACHABLE) == ["team/ja"]
    assert starts("--usage-source", past) == ["team/jb"]
    told = run_cli("explain", "a", "-f", file, "--now", NOW, "--usage-source", past)
    assert "a has a fair share of gpu 4" in told.out


def test_a_difference_counts_history_on_both_sides(tmp_path: Path) -> None:
    past = write_past(tmp_path, PAST)
    old = write(tmp_path, "old.yaml", kai_queue("a"))
    new = write(tmp_path, "new.yaml", kai_queue("a", weight=3))
    rest = write(tmp_path, "rest.yaml", NODE, *CLUSTER[2:])
    ran = run_cli(*("queues", "-f", rest, "--diff", old, new, "--now", NOW, "--usage-source", past))
    # k = 1, a with weight 3: 0.75 + 0.35 = 1.1, b 0.25 + 0.25 = 0.5: 6.875 and 3.125
    assert "a gpu fair-share 4 7".split() in [line.split() for line in ran.out.splitlines()]


@pytest.mark.parametrize("policy", ["kueue", "elastic-quota"])
@pytest.mark.parametrize("command", ["queues", "plan"])
def test_other_rule_sets_say_that_history_has_no_effect(policy: str, command: str) -> None:
    folder = str(ROOT / "examples" / policy)
    plain = run_cli(command, "-f", folder, "--now", NOW)
    ran = run_cli(command, "-f", folder, "--now", NOW, "--usage")
    note = f"note: past use has no effect under the rules of {policy} yet\n"
    assert (ran.exit_code, ran.out, ran.err) == (0, plain.out, plain.err + note)


@pytest.mark.parametrize(
    ("options", "told", "code"),
    [
        (("--usage",), "no source of past use is named: name it with --usage-source", 1),
        (("--usage-source", "no-such.db"), "there is no file 'no-such.db'", 2),
        (("--usage-source", "/"), "'/' is a folder; a usage store is a file", 2),
        (("--usage-source", "ftp://p"), "expected an address that begins with http://", 2),
        (("--usage-source", "http://"), "expected an address with a host", 2),
    ],
)
def test_a_wrong_source_is_wrong_usage(
    tmp_path: Path, options: tuple[str, ...], told: str, code: int
) -> None:
    ran = queues(tmp_path, options=options)
    assert ran.exit_code == code
    assert told in " ".join(ran.err.split())


def test_queues_of_the_record_that_are_not_among_the_objects_are_told(tmp_path: Path) -> None:
    past = write_past(tmp_path, (*PAST, held(5, "team-a", 1), held(0, "team-a", 0)))
    ran = queues(tmp_path, options=("--usage-source", past))
    assert ran.exit_code == 0
    assert ran.err == "note: the record of usage has 1 queue not among the objects: team-a\n"


@pytest.mark.parametrize(
    "address", ["ftp://eve:hunter2@p", "http://eve:hunter2@:9090", "http:/eve:hunter2@p:9090"]
)
def test_a_login_in_a_wrong_source_is_not_shown(tmp_path: Path, address: str) -> None:
    ran = queues(tmp_path, options=("--usage-source", address))
    assert ran.exit_code == 2
    assert "...@" in ran.err
    assert "hunter2" not in ran.err
    assert "eve" not in ran.err


@pytest.mark.parametrize("k", ["1234567", "0.12345678"])
def test_k_is_shown_as_it_was_written(tmp_path: Path, k: str) -> None:
    past = write_past(tmp_path, PAST)
    own = settings(f"{{k: {k}, store: {{path: {past}}}}}")
    assert f"; k = {k}\n" in queues(tmp_path, own, options=("--usage",)).out
    asked = ("-f", str(tmp_path / "c.yaml"), "--now", NOW, "--usage")
    assert f"k = {k}." in " ".join(run_cli("explain", "a", *asked).out.split())


def reader_of(past: str) -> PastUseReader:
    wish = UsageWish(usage=True, source=past, now_ms=0)
    return PastUseReader(wish)


def test_what_is_stale_is_said_once_however_old_it_becomes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six, seven and eight minutes old, where five are fresh."""
    past = write_past(tmp_path, PAST)
    file = write(tmp_path, "c.yaml", *CLUSTER)
    said = []
    with closing(reader_of(past)) as reader:
        for minutes in (6, 7, 8):
            assembled = load([file], policy=None, strict=False).assembled
            assert assembled is not None
            reader.let_count(assembled, NOW_MS + minutes * 60_000)
            said.append(capsys.readouterr().err)
    assert "what is known of past use is 360 s old" in said[0]
    assert said[1:] == ["", ""]


def test_that_past_use_can_be_read_again_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read, moved away twice as long, and put back; numbers that are fresh count all the time."""
    past = Path(write_past(tmp_path, PAST))
    file = write(tmp_path, "c.yaml", *CLUSTER)
    said = []
    with closing(reader_of(str(past))) as reader:
        for is_there in (True, False, False, True, True, False, True):
            if is_there != past.exists():
                away = tmp_path / "away.db"
                (away if is_there else past).rename(past if is_there else away)
            assembled = load([file], policy=None, strict=False).assembled
            assert assembled is not None
            reader.let_count(assembled, NOW_MS)
            said.append(capsys.readouterr().err)
    problem = f"warning: past use counts, with a problem: usage store {past}: there is no such"
    again = "note: past use is read again without problems\n"
    assert [each if each == again else each[: len(problem)] for each in said] == [
        "",
        problem,
        "",
        again,
        "",
        problem,
        again,
    ]


def test_another_queue_that_is_not_among_the_objects_is_news(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose name differs by a digit only: first team-1 is left out of the objects, then team-2."""
    used = [held(5, "team-1", 1), held(5, "team-2", 1), held(0, "team-1", 0), held(0, "team-2", 0)]
    past = write_past(tmp_path, (*PAST, *used))
    said = []
    with closing(reader_of(past)) as reader:
        for known in ("team-2", "team-1", "team-1"):
            file = write(tmp_path, "c.yaml", *CLUSTER, kai_queue(known))
            assembled = load([file], policy=None, strict=False).assembled
            assert assembled is not None
            reader.let_count(assembled, NOW_MS)
            said.append(capsys.readouterr().err)
    note = "note: the record of usage has 1 queue not among the objects: "
    assert said == [f"{note}team-1\n", f"{note}team-2\n", ""]
