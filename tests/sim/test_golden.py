"""A small day goes as it went before, in every process."""

import os
import subprocess
import sys

import pytest

from tests.shared_folder import ROOT
from tests.sim.golden_runs import FOLDER, POLICIES, golden


@pytest.mark.parametrize("policy", POLICIES)
def test_a_small_day_goes_as_it_is_written_down(policy: str) -> None:
    """A difference may be meant: see golden_runs.py for how to write it down anew."""
    assert golden(policy).splitlines() == (FOLDER / f"{policy}.json").read_bytes().splitlines()


@pytest.mark.parametrize(
    ("seed", "zone", "language"), [("1", "Asia/Kathmandu", "C"), ("77", "America/Lima", "tr_TR")]
)
def test_a_small_day_is_the_same_in_every_process(seed: str, zone: str, language: str) -> None:
    """Byte for byte, whatever the hash seed, the time zone and the language of the machine."""
    surroundings = {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": f"{language}.UTF-8"}
    told = subprocess.run(
        [sys.executable, "-m", "tests.sim.golden_runs"],
        cwd=ROOT,
        env={**os.environ, **surroundings},
        capture_output=True,
        check=True,
    ).stdout
    assert told == b"".join((FOLDER / f"{policy}.json").read_bytes() for policy in POLICIES)
