"""Laws of what is written: read back it is the same, it adds up, and no machine changes a byte."""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from hashlib import sha256
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.measures.measures import Measures
from fairlead.sim.measures.series import Series
from fairlead.sim.measures.summary import Summary
from fairlead.sim.results.read_result import StoredRun
from fairlead.sim.run.run_variant import RunOrder, run_variant
from tests.cli.simulated import write_scenario
from tests.scale_examples import scale_examples
from tests.sim.random_scenarios import POLICIES, Document, documents, read
from tests.sim.results.small_runs import contents


@settings(max_examples=scale_examples(8))
@given(document=documents(), policy=st.sampled_from(POLICIES))
def test_what_is_read_back_is_what_was_measured(document: Document, policy: str) -> None:
    """Summary and series are equal, and the jobs hold together what their queues do."""
    measured: list[tuple[Summary, Series]] = []
    end = Measures.end

    def noted(self: Measures, at_ms: int) -> tuple[Summary, Series]:
        measured.append(end(self, at_ms))
        return measured[-1]

    scenario = read(document, policy)
    with tempfile.TemporaryDirectory() as place, mock.patch.object(Measures, "end", noted):
        run_variant(RunOrder(scenario=scenario, variant=policy, seed=0), Path(place) / "run")
        run = StoredRun(Path(place) / "run")
        [(summary, series)] = measured
        assert run.summary == summary
        assert run.series.begins_ms() == series.begins_ms()
        assert run.series.capacity() == series.capacity()
        for queue in series.queues:
            assert run.series.of_queue(queue) == series.of_queue(queue)
        held: Counter[tuple[str, str]] = Counter()
        for row in run.jobs():
            for resource, amount in row.requests.items():
                held[row.queue, resource] += amount * row.held_ms
        leaves = set(run.about.parents) - set(run.about.parents.values())
        for queue in leaves:
            for resource, allocated in summary.of_queues[queue].allocated.items():
                assert held[queue, resource] == allocated


MACHINES = {
    "here": {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
    "far away": {"PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"},
}


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run one command in a process of each machine, in folders of other names."""
    found = {}
    for name, environment in MACHINES.items():
        folder = tmp_path_factory.mktemp(name.replace(" ", "-"))
        file = write_scenario(folder, "policies: [kai, kueue, elastic-quota]")
        command = [sys.executable, "-m", "fairlead", "simulate", file, "--to", "out", "-o", "csv"]
        command += ["--set", "duration=2m"]
        ran = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            check=True,
        )
        files = repr(sorted(contents(folder / "out").items())).encode()
        found[name] = sha256(files + ran.stdout).hexdigest()
    return found


def test_no_machine_changes_a_byte(digests: dict[str, str]) -> None:
    """Whatever its hash seed, time zone, language and folders."""
    assert digests["here"] == digests["far away"]
