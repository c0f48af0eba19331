"""``fairlead usage forgive`` of a queue with queues below it: all of them, each in the log."""

import json
from pathlib import Path

import pytest

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Held
from tests.cli.manifests import NODE, kai_queue, write
from tests.cli.run_cli import Ran, run_cli

HOUR_MS = 3_600_000
NOW = "2026-11-16T08:00:00Z"
NOW_MS = 1_794_816_000_000
BY_EVE = ("--reason", "r", "--who", "eve", "--now", NOW)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Queues a and b in top, and c in deep in top, held 1 GPU each for 10 hours; so did other."""
    path = tmp_path / "usage.db"
    begin_ms = NOW_MS - 10 * HOUR_MS
    entries: list[Entry] = [Capacity(at_ms=begin_ms, amounts=(8000,))]
    for at_ms, amount in ((begin_ms, 1000), (NOW_MS, 0)):
        entries += [
            Held(at_ms=at_ms, queue=QueueName(name), amounts=(amount,))
            for name in ("a", "b", "c", "other")
        ]
    with UsageStore.open(path, resources=("nvidia.com/gpu",)) as record:
        record.append(entries, observed_ms=NOW_MS)
    return str(path)


@pytest.fixture
def objects(tmp_path: Path) -> str:
    parents = {"a": "top", "b": "top", "deep": "top", "c": "deep", "unused": "top"}
    inner = [kai_queue(name, parent=parent) for name, parent in parents.items()]
    return write(tmp_path, "c.yaml", NODE, kai_queue("top"), kai_queue("other"), *inner)


def forgive(store: str, *arguments: str) -> Ran:
    return run_cli("usage", "forgive", "--store", store, *BY_EVE, *arguments)


def used(store: str, objects: str) -> dict[str, str]:
    show = ("usage", "show", "--store", store, "-f", objects, "--now", NOW, "-o", "json")
    rows = json.loads(run_cli(*show).out)["usage"]
    return {row["queue"]: row["used"] for row in rows}


def logged(store: str) -> list[tuple[str | None, str]]:
    changes = json.loads(run_cli("usage", "log", "--store", store, "-o", "json").out)["changes"]
    return [(change["queue"], change["who"]) for change in changes]


def test_all_that_is_below_an_inner_queue_is_forgiven_and_logged(store: str, objects: str) -> None:
    """3 x 10 GPU-hours of top were used by a, b and c; a grant to top itself goes, too."""
    grant = ("grant", "--store", store, "--queue", "top", "gpu=7h", *BY_EVE)
    assert run_cli("usage", *grant).exit_code == 0
    assert used(store, objects)["top"] == "23"
    ran = forgive(store, "--queue", "top", "-f", objects)
    assert (ran.exit_code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "reset the recorded usage of queue top",
        "reset the recorded usage of queue a, which is below top",
        "reset the recorded usage of queue b, which is below top",
        "reset the recorded usage of queue c, which is below top",
    ]
    after = used(store, objects)
    assert {name: after[name] for name in ("top", "a", "b", "c", "other")} == {
        "top": "0",
        "a": "0",
        "b": "0",
        "c": "0",
        "other": "10",
    }
    assert logged(store)[1:] == [(name, "eve") for name in ("top", "a", "b", "c")]


def test_a_queue_in_the_middle_leaves_those_beside_it(store: str, objects: str) -> None:
    forgive(store, "--queue", "deep", "-f", objects)
    after = used(store, objects)
    assert (after["top"], after["deep"], after["a"]) == ("20", "0", "10")


def test_a_queue_without_others_below_it_is_one_act(store: str, objects: str) -> None:
    ran = forgive(store, "--queue", "a", "-f", objects)
    assert (ran.out, ran.err) == ("reset the recorded usage of queue a\n", "")
    assert logged(store) == [("a", "eve")]


def test_without_the_objects_it_is_said_that_nobody_knows_what_is_below(store: str) -> None:
    ran = forgive(store, "--queue", "a")
    assert ran.err == (
        "note: without the objects of -f it is unknown which queues are below a: only its own "
        "usage is reset\n"
    )


def test_a_queue_that_the_objects_lack_is_said(store: str, objects: str) -> None:
    ran = forgive(store, "--queue", "gone", "-f", objects)
    assert ran.err == (
        "note: the store has no queue gone\n"
        "note: the objects of -f lack it, so it is unknown which queues are below gone: only its "
        "own usage is reset\n"
    )
