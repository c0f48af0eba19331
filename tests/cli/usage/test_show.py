"""``fairlead usage show``: what it may be told by, what it refuses, and its documents."""

import json
import os
from pathlib import Path

import pytest
import yaml
from matplotlib.font_manager import fontManager

from fairlead.explain.figures import usage as usage_plot
from fairlead.explain.figures.usage import HeldOverTime
from fairlead.model.axes import QueueName
from fairlead.usage.entries import Guarantee
from tests.cli.manifests import NODE, kai_queue, write
from tests.cli.past_store import NOW, capacity, held, write_past
from tests.cli.run_cli import run_cli

PAST = (capacity(10, 10), held(10, "a", 8), held(5, "a", 0), held(0, "b", 0))
SETTINGS = """
apiVersion: fairlead/v1
kind: Settings
spec: {{usage: {usage}}}
"""


@pytest.fixture(autouse=True)
def _no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRLEAD_USAGE_STORE", raising=False)


def settings(folder: Path, usage: str) -> str:
    return write(folder, "settings.yaml", SETTINGS.format(usage=usage))


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_document_says_what_it_is(tmp_path: Path, form: str) -> None:
    past = write_past(tmp_path, PAST)
    ran = run_cli("usage", "show", "--store", past, "--now", NOW, "-o", form)
    document = json.loads(ran.out) if form == "json" else yaml.safe_load(ran.out)
    assert list(document.items())[:2] == [("apiVersion", "fairlead/v1"), ("kind", "Usage")]


# Over-quota needs guarantees; without them everything would count as above them.
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_use_above_guarantees_that_nobody_told_is_refused(tmp_path: Path, form: str) -> None:
    past = write_past(tmp_path, PAST)
    own = settings(tmp_path, f"{{charge: over-quota, store: {{path: {past}}}}}")
    objects = write(tmp_path, "c.yaml", NODE, kai_queue("a"), kai_queue("b"))
    ran = run_cli("usage", "show", "-f", own, "-f", objects, "--now", NOW, "-o", form)
    assert (ran.exit_code, ran.out) == (1, "")
    assert "it has no guarantee of any queue" in ran.err
    assert "or use charge: all" in ran.err


def test_a_resource_of_which_nothing_is_guaranteed_is_told(tmp_path: Path) -> None:
    """To a 2 cores are guaranteed; that no GPU is, nobody may have meant to say."""
    cores = Guarantee(at_ms=PAST[0].at_ms, queue=QueueName("a"), amounts=(2000, 0, 0))
    past = write_past(tmp_path, (*PAST, cores))
    own = settings(tmp_path, f"{{charge: over-quota, store: {{path: {past}}}}}")
    ran = run_cli("usage", "show", "-f", own, "--now", NOW)
    assert ran.exit_code == 0
    (note,) = [line for line in ran.err.splitlines() if "guarantee" in line]
    assert note.startswith(f"note: usage store {past} has no queue with a guarantee of nvidia.com/")


def test_settings_alone_say_where_the_record_is_and_how_to_count(tmp_path: Path) -> None:
    past = write_past(tmp_path, PAST)
    own = settings(tmp_path, f"{{window: {{length: 6h}}, store: {{path: {past}}}}}")
    ran = run_cli("usage", "show", "-f", own, "--now", NOW, "-o", "json")
    assert (ran.exit_code, ran.err) == (0, "")
    named = run_cli("usage", "show", "--store", past, "--window", "6h", "--now", NOW, "-o", "json")
    assert json.loads(ran.out) == json.loads(named.out)


@pytest.mark.parametrize("verb", ["log", "export", "forgive --all --reason r --who eve"])
def test_settings_alone_tell_every_verb_where_the_record_is(tmp_path: Path, verb: str) -> None:
    own = settings(tmp_path, f"{{store: {{path: {write_past(tmp_path, PAST)}}}}}")
    ran = run_cli("usage", *verb.split(), "-f", own)
    assert (ran.exit_code, ran.err) == (0, "")


def test_settings_alone_may_come_through_standard_input(tmp_path: Path) -> None:
    past = write_past(tmp_path, PAST)
    own = Path(settings(tmp_path, f"{{store: {{path: {past}}}}}")).read_bytes()
    ran = run_cli("usage", "show", "-f", "-", "--now", NOW, stdin=own)
    assert ran.out == run_cli("usage", "show", "--store", past, "--now", NOW).out


def test_names_on_the_command_line_come_before_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = write_past(tmp_path, PAST)
    expected = run_cli("usage", "show", "--store", past, "--now", NOW).out
    own = settings(tmp_path, "{store: {path: elsewhere.db}}")
    monkeypatch.setenv("FAIRLEAD_USAGE_STORE", str(tmp_path / "nowhere.db"))
    asked = ("usage", "show", "-f", own, "--now", NOW)
    assert run_cli(*asked, "--store", past).out == expected
    assert "nowhere.db" in run_cli(*asked).err
    monkeypatch.setenv("FAIRLEAD_USAGE_STORE", past)
    assert run_cli(*asked).out == expected


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (
            "{prometheus: {url: 'http://p'}}",
            "the settings name Prometheus, which is not a usage store",
        ),
        ("{halfLife: 2d}", "no usage store is named"),
        ("{halfLife: -1d, store: {path: x}}", "halfLife"),
    ],
)
def test_settings_that_name_no_record_are_refused(tmp_path: Path, usage: str, told: str) -> None:
    ran = run_cli("usage", "show", "-f", settings(tmp_path, usage))
    assert (ran.exit_code, ran.out) == (1, "")
    assert told in ran.err


def test_objects_of_two_rule_sets_are_still_refused(tmp_path: Path) -> None:
    quota = "\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {name: q}\n"
    file = write(tmp_path, "c.yaml", kai_queue("a"), quota)
    ran = run_cli("usage", "show", "-f", file, "--store", write_past(tmp_path, PAST))
    assert (ran.exit_code, ran.out) == (1, "")
    assert "mixed-families" in ran.err


def test_letters_that_a_picture_cannot_show_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = [font for font in fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(fontManager, "ttflist", usual)
    past = write_past(tmp_path, (capacity(10, 10), held(10, "漢", 8), held(0, "漢", 0)))
    file = tmp_path / "usage.png"
    ran = run_cli("usage", "show", "--store", past, "--now", NOW, "--plot", str(file))
    note, drawn, _ = ran.err.splitlines()
    assert note.startswith("note: no installed font has 漢, so the picture has boxes there: ")
    assert (ran.exit_code, drawn) == (0, f"drawn: {file}")


BEGINS = "note: the store begins at 2026-11-15T22:00:00Z; usage before is unknown\n"


@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize(("window", "note"), [("10h", ""), ("11h", BEGINS), ("30d", BEGINS)])
def test_a_record_that_begins_within_the_window_is_noted(
    tmp_path: Path, form: str, window: str, note: str
) -> None:
    past = write_past(tmp_path, PAST)
    asked = ("usage", "show", "--store", past, "--now", NOW, "-o", form)
    assert run_cli(*asked, "--window", window).err == note


def test_a_record_of_nothing_begins_nowhere(tmp_path: Path) -> None:
    ran = run_cli("usage", "show", "--store", write_past(tmp_path, ()), "--now", NOW)
    assert "the record begins" not in ran.err


def test_a_picture_is_blank_before_the_record_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 336 stretches of 336 hours the last 10 are known: 5 with 8 GPUs, 5 with none."""
    drawn: list[HeldOverTime] = []
    monkeypatch.setattr(usage_plot, "draw_usage", lambda held, *_: drawn.append(held))
    past = write_past(tmp_path, PAST)
    file = str(tmp_path / "usage.svg")
    asked = ("usage", "show", "--store", past, "--now", NOW, "--plot", file)
    assert run_cli(*asked, "--window", "336h").exit_code == 0
    [held] = drawn
    blank = [None] * 326
    assert held.queues["a"][2] == [*blank, *[8000.0] * 5, *[0.0] * 5]
    assert held.capacity[2] == [*blank, *[10_000.0] * 10]


def test_a_half_life_too_short_to_be_one_is_refused(tmp_path: Path) -> None:
    asked = ("usage", "show", "--store", write_past(tmp_path, PAST), "--now", NOW, "--half-life")
    ran = run_cli(*asked, "1ns")
    assert ran.exit_code == 2
    assert "--half-life: expected 0 or at least 1ms" in ran.err
    assert run_cli(*asked, "0s").exit_code == run_cli(*asked, "1ms").exit_code == 0


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "p.fifo"
    os.mkfifo(pipe)
    for store, told in (
        (str(pipe), f"usage store {pipe}: it is not a regular file; name a file"),
        ("http://prometheus:9090", "Prometheus is not a usage store"),
    ):
        ran = run_cli("usage", "show", "--store", store, "--now", NOW)
        assert (ran.exit_code, ran.out) == (1, "")
        assert told in ran.err


@pytest.mark.parametrize(
    "verb",
    ["show", "log", "export", "forgive --all --reason r", "grant --queue q gpu=1h --reason r"],
)
def test_no_verb_waits_for_the_end_of_a_pipe(tmp_path: Path, verb: str) -> None:
    pipe = tmp_path / "use.db"
    os.mkfifo(pipe)
    ran = run_cli("usage", *verb.split(), "--store", str(pipe))
    assert (ran.exit_code, ran.out) == (1, "")
    assert "not a regular file" in ran.err
