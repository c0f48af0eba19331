"""``fairlead usage upgrade``, and what all other verbs say of a record that needs it."""

from pathlib import Path

import pytest

from tests.cli.run_cli import Ran, run_cli
from tests.store.first_version import DATA, first_version, version


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A record of the first version."""
    return first_version(tmp_path)


def usage(arguments: str, path: Path) -> Ran:
    return run_cli("usage", *arguments.split(), "--store", str(path))


def test_an_upgrade_says_what_it_did_and_then_that_there_is_nothing_to_do(path: Path) -> None:
    ran = usage("upgrade", path)
    assert (ran.exit_code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"upgraded {path} from version 1 to version 2",
        "saved its sums anew, so that the next start is quick",
    ]
    ran = usage("upgrade", path)
    assert (ran.exit_code, ran.out, ran.err) == (0, f"{path} is up to date\n", "")


def test_an_export_of_an_upgraded_record_is_that_of_the_program_that_wrote_it(path: Path) -> None:
    usage("upgrade", path)
    assert usage("export", path).out == (DATA / "version-1.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        "show",
        "log",
        "export",
        "grant --queue physics cpu=1h --reason r --who eve",
        "forgive --all --reason r --who eve",
        f"import {DATA / 'version-1.jsonl'}",
    ],
)
def test_every_verb_names_the_upgrade_that_an_old_record_needs(path: Path, arguments: str) -> None:
    before = path.read_bytes()
    ran = usage(arguments, path)
    assert (ran.exit_code, ran.out) == (1, "")
    assert f"run: fairlead usage upgrade --store {path}\n" in ran.err
    assert version(path) == 1
    assert path.read_bytes() == before


def test_no_record_is_made_by_an_upgrade(tmp_path: Path) -> None:
    ran = usage("upgrade", tmp_path / "slip.db")
    assert (ran.exit_code, ran.out) == (1, "")
    assert "there is no such file" in ran.err
    assert list(tmp_path.iterdir()) == []
