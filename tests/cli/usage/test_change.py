"""``fairlead usage grant``: only a name, and an amount, that somebody can mean is written down."""

from pathlib import Path

import pytest

from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Granted
from tests.cli.run_cli import Ran, run_cli

HOUR_MS = 3_600_000
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "usage.db"
    UsageStore.open(path, resources=RESOURCES).close()
    return str(path)


def grant(store: str, *amounts: str) -> Ran:
    by_eve = ("--queue", "a", "--reason", "r", "--who", "eve", "--now", "2026-11-16T08:00:00Z")
    return run_cli("usage", "grant", "--store", store, *amounts, *by_eve)


def granted(store: str) -> list[tuple[int, ...]]:
    with UsageStore.open(Path(store), writes=False) as record:
        return [entry.resource_time for entry in record.audit() if isinstance(entry, Granted)]


WRONG = {
    "GPU=1h": "found 'GPU=1h': the store has no such resource; did you mean \"gpu\"?",
    "gpus=1h": 'did you mean "gpu"?',
    "foo=1h": "expected cpu, gpu, memory, nvidia.com/gpu, or a name such as example.com/tpu",
    "a100/gpu=1h": "the store has no such resource",
    "Example.com/gpu=1h": "the store has no such resource",
    "\udcff=1h": "found '\\udcff=1h': the store has no such resource",
    "gpu=1e30*1h": "found 'gpu=1e30*1h': expected at most 9.2e+15, which is all that Kubernetes",
    "memory=-1e19*1h": "expected at most 9.2e+18",
    "gpu=0.001*1ms": "found 'gpu=0.001*1ms', expected 0.001 GPU-h or more",
    "gpu=-3599ms": "expected 0.001 GPU-h or more",  # 3.6 s are a thousandth of an hour
}


@pytest.mark.parametrize(("text", "told"), WRONG.items(), ids=map(ascii, WRONG))
def test_a_slip_is_wrong_usage_and_changes_nothing(store: str, text: str, told: str) -> None:
    ran = grant(store, "cpu=1h", text)
    assert (ran.exit_code, ran.out) == (2, "")
    assert told in " ".join(ran.err.split())
    assert granted(store) == []
    with UsageStore.open(Path(store), writes=False) as record:
        assert record.resources == RESOURCES


EDGES = {
    "gpu=3600ms": (0, 0, -1000 * 3600),  # the least
    "gpu=-3600ms": (0, 0, 1000 * 3600),
    "memory=9223372036854775807*1h": (0, -(2**63 - 1) * HOUR_MS, 0),  # the most
}


@pytest.mark.parametrize(("text", "expected"), EDGES.items(), ids=EDGES)
def test_the_least_and_the_most_are_taken(store: str, text: str, expected: tuple[int, ...]) -> None:
    assert grant(store, text).exit_code == 0
    assert granted(store) == [expected]


def test_a_new_resource_with_a_domain_is_taken_and_noted(store: str) -> None:
    ran = grant(store, "example.com/tpu=1h")
    assert (ran.exit_code, ran.out) == (0, "granted to queue a: 1 h of example.com/tpu\n")
    assert ran.err.endswith("note: the store has no resource example.com/tpu\n")
    with UsageStore.open(Path(store), writes=False) as record:
        assert record.resources == (*RESOURCES, "example.com/tpu")
    ran = grant(store, "example.com/tpus=1h")
    assert ran.err.endswith('has no resource example.com/tpus; did you mean "example.com/tpu"?\n')


def test_a_name_that_the_record_has_is_taken_whatever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    UsageStore.open(path, resources=("Licence", "gpu")).close()
    assert grant(str(path), "Licence=1h", "gpu=1h").exit_code == 0
    assert granted(str(path)) == [(-HOUR_MS, -1000 * HOUR_MS)]


def test_cpu_memory_and_gpu_are_taken_by_a_record_that_has_counted_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    UsageStore.open(path).close()
    assert grant(str(path), "gpu=1h", "cpu=1h", "memory=1Gi*1h").exit_code == 0
    with UsageStore.open(path, writes=False) as record:
        assert set(record.resources) == set(RESOURCES)
