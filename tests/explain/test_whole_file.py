"""A file is there as a whole or not at all, also when the disk is full."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.errors import FairleadError
from fairlead.explain.whole_file import write_whole
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
