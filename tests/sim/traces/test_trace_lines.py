import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.sim.traces import trace_lines as module
from fairlead.sim.traces.trace_job import TraceError
from fairlead.sim.traces.trace_lines import trace_lines


def lines_of(folder: Path, data: bytes) -> list[str]:
    file = folder / "file"
    file.write_bytes(data)
    return list(trace_lines(file))


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a\nb\n", ["a", "b"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        ("Müller\n".encode(), ["Müller"]),
        (b"M\xfcller\n", [r"M\xfcller"]),
    ],
)
def test_lines_are_given_without_their_ends(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    assert lines_of(tmp_path, data) == lines
    assert lines_of(tmp_path, gzip.compress(data)) == lines


@given(
    lines=st.lists(st.text(st.sampled_from("ab,é☃ "), max_size=12), max_size=30),
    piece=st.integers(1, 20),
)
def test_lines_do_not_depend_on_the_pieces_in_which_a_file_is_read(
    lines: list[str], piece: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The plain version: split the whole text."""
    data = "".join(f"{line}\n" for line in lines).encode()
    folder = tmp_path_factory.mktemp("pieces")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE_BYTES", piece)
        assert lines_of(folder, data) == data.decode().split("\n")[:-1]


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_gzip_file_that_ends_too_early_is_refused(tmp_path: Path, kept: float) -> None:
    whole = gzip.compress(bytes(range(256)) * 40)
    with pytest.raises(TraceError, match="file: the gzip file ends too early; fetch it again"):
        lines_of(tmp_path, whole[: max(3, int(len(whole) * kept))])


def test_a_gzip_file_with_a_wrong_byte_is_refused(tmp_path: Path) -> None:
    damaged = bytearray(gzip.compress(b"a,b\n" * 1000))
    damaged[-6] ^= 1  # of the checksum
    with pytest.raises(TraceError, match="file: the gzip file is damaged"):
        lines_of(tmp_path, bytes(damaged))


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"gone.swf: cannot be read: No such file"):
        list(trace_lines(tmp_path / "gone.swf"))
    with pytest.raises(TraceError, match="cannot be read: Is a directory"):
        list(trace_lines(tmp_path))


def test_a_file_without_line_ends_does_not_fill_the_memory(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="a line is longer than 1 MiB"):
        lines_of(tmp_path, gzip.compress(b"a" * (2**20 + 2**18 + 1)))
