"""A file is there as a whole or not at all, also when the disk is full."""

import os
import subprocess
import sys
from collections.abc import Iterator
from errno import EACCES
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest

from fairlead.errors import FairleadError
from fairlead.explain.text.whole_file import write_whole
from tests.explain.full_disk import no_file_longer_than


@pytest.mark.parametrize("before", [None, b"precious"])
def test_a_write_that_fails_halfway_leaves_what_was_there(
    tmp_path: Path, before: bytes | None
) -> None:
    file = tmp_path / "usage.png"
    if before is not None:
        file.write_bytes(before)
    parts = [b"x" * 60_000] * 4
    with (
        no_file_longer_than(100_000),
        pytest.raises(FairleadError, match=r"cannot write .*usage\.png: File too large"),
    ):
        write_whole(file, parts)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == (
        {} if before is None else {"usage.png": before}
    )
    write_whole(file, parts)
    assert file.read_bytes() == b"".join(parts)


def test_parts_that_fail_leave_what_was_there(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"begin"
        raise FairleadError("the record is damaged")

    file = tmp_path / "text"
    file.write_bytes(b"precious")
    with pytest.raises(FairleadError, match="the record is damaged"):
        write_whole(file, parts())
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"precious"]


def test_a_link_stays_one_and_its_file_is_written(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"old")
    link.symlink_to(file)
    write_whole(link, [b"new"])
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_a_pipe_stays_one_and_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, [b"one ", b"two"])
        assert os.read(reader, 100) == b"one two"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "why"), [("no/such/file", "No such file"), (".", "Is a directory")]
)
def test_why_it_cannot_be_written_is_told(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(FairleadError, match=f"cannot write .*: {why}"):
        write_whole(tmp_path / name, [b"x"])


def test_a_file_of_the_user_with_a_name_like_ours_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "text.part"
    own.write_bytes(b"precious")
    write_whole(tmp_path / "text", [b"new"])
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {
        "text": b"new",
        "text.part": b"precious",
    }


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_who_may_read_a_file_stays_the_same(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"old")
    file.chmod(mode)
    write_whole(file, [b"new"])
    assert (S_IMODE(file.stat().st_mode), file.read_bytes()) == (mode, b"new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to others")
def test_whose_a_file_is_stays_the_same(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"old")
    os.chown(file, 1234, 5678)
    write_whole(file, [b"new"])
    assert (file.stat().st_uid, file.stat().st_gid, file.read_bytes()) == (1234, 5678, b"new")


def test_a_new_file_may_be_read_by_whom_the_user_lets(tmp_path: Path) -> None:
    plain, whole = tmp_path / "plain", tmp_path / "whole"
    plain.write_bytes(b"")
    write_whole(whole, [b""])
    assert whole.stat().st_mode == plain.stat().st_mode


def test_it_is_on_the_disk_before_it_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"old")
    seen: list[tuple[int, bytes]] = []

    def noting(descriptor: int) -> None:
        seen.append((os.fstat(descriptor).st_size, file.read_bytes()))

    monkeypatch.setattr(os, "fsync", noting)
    write_whole(file, [b"one ", b"two"])
    assert seen == [(7, b"old")]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_what_a_shell_appends_to_is_appended_to(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"before ")
    code = (
        "from pathlib import Path; from fairlead.explain.text.whole_file import write_whole; "
        f"write_whole(Path({name!r}), [b'after'])"
    )
    with log.open("ab") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"before after"]


def test_where_no_other_file_may_be_made_the_file_itself_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "usage.png"
    file.write_bytes(b"a longer picture")
    original = Path.open

    def refusing(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if path.parent == tmp_path and not path.exists():
            raise PermissionError(EACCES, "Permission denied", str(path))
        return original(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", refusing)
    write_whole(file, [b"new"])
    assert file.read_bytes() == b"new"
    with pytest.raises(FairleadError, match=r"cannot write .*other\.png: Permission denied"):
        write_whole(tmp_path / "other.png", [b"new"])


def test_links_that_run_in_a_circle_are_told(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(FairleadError, match=r"cannot write .*link: Too many levels"):
        write_whole(link, [b"x"])
