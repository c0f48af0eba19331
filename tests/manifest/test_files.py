"""Files, folders and stdin are read in order, and a bad one does not stop the others."""

import io
import os
import socket
from pathlib import Path

import pytest

from fairlead.manifest.finding import Findings
from fairlead.manifest.text import files as files_module
from fairlead.manifest.text.documents import read_documents
from tests.manifest.reading import remarks


def test_folders_are_read_in_order_without_what_is_hidden_or_foreign(tmp_path: Path) -> None:
    contents = {
        "b.yaml": "a: 2",
        "a.yml": "a: 1",
        "c/d.JSON": '{"a": 3}',
        "c/e/f.yaml": "a: 4",
        "c/notes.txt": "a: 5",
        ".hidden.yaml": "a: 6",
        ".git/g.yaml": "a: 7",
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "c" / "loop").symlink_to(tmp_path)
    (tmp_path / "c" / "loop.yaml").symlink_to(tmp_path)
    findings = Findings()
    found = read_documents([str(tmp_path)], findings)
    assert [each.value["a"] for each in found] == [1, 2, 3, 4]
    assert found[3].source.file == str(tmp_path / "c/e/f.yaml")
    assert remarks(findings) == []


def test_inputs_keep_their_order_and_a_bad_one_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [")
    (tmp_path / "good.yaml").write_text("b: 1")
    (tmp_path / "empty").mkdir()
    names = ["bad.yaml", "missing.yaml", "empty", "good.yaml", "nul\0.yaml"]
    findings = Findings()
    stdin = io.BytesIO(b"c: 1\nc: 2\n")
    found = read_documents([*(str(tmp_path / n) for n in names), "-"], findings, stdin=stdin)
    assert [each.value for each in found] == [{"b": 1}, {"c": 1}]
    assert [(Path(finding.file).name, finding.code) for finding in findings] == [
        ("bad.yaml", "syntax"),
        ("missing.yaml", "unreadable"),
        ("empty", "no-objects"),
        ("nul?.yaml", "unreadable"),
        ("<stdin>", "duplicate-key"),
    ]


def test_a_file_that_may_not_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.yaml").write_text("a: 1")
    monkeypatch.setattr(os, "open", refuse)
    findings = Findings()
    assert read_documents([str(tmp_path)], findings) == []
    assert [finding.message for finding in findings] == ["cannot be read: Permission denied"]


LEFT_OUT = "found a pipe, socket or device in a folder; left out"


def test_a_folder_is_read_without_its_pipes_and_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    os.mkfifo("pipe.yaml")
    (tmp_path / "link.yaml").symlink_to("/dev/zero")
    (tmp_path / "z.yaml").write_text("a: 1")
    findings = Findings()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.yaml")
        found = read_documents(["."], findings)
    assert [each.value for each in found] == [{"a": 1}]
    assert [(each.file, each.severity, each.message) for each in findings] == [
        (name, "warning", LEFT_OUT) for name in ("link.yaml", "pipe.yaml", "socket.yaml")
    ]


def test_a_file_that_becomes_a_pipe_while_it_is_opened_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: 1")
    open_it = os.open

    def swap(path: str, flags: int) -> int:
        file.unlink()
        os.mkfifo(file)
        return open_it(path, flags)

    monkeypatch.setattr(os, "open", swap)
    findings = Findings()
    assert read_documents([str(tmp_path)], findings) == []
    assert [each.message for each in findings] == [LEFT_OUT]


def test_a_pipe_that_is_named_itself_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a: 1")
    os.close(writer)
    findings = Findings()
    (found,) = read_documents([f"/dev/fd/{reader}"], findings)
    os.close(reader)
    assert found.value == {"a": 1}
    assert remarks(findings) == []


def without_rights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody list a folder, root included."""
    list_folder = os.scandir

    def refuse(path: str) -> object:
        if path == str(folder):
            raise PermissionError(13, "Permission denied", path)
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", refuse)


def test_a_folder_that_may_not_be_listed_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text(f"from: {name}")
    without_rights(tmp_path / "b", monkeypatch)
    findings = Findings()
    found = read_documents([str(tmp_path)], findings)
    assert [each.value for each in found] == [{"from": "a"}, {"from": "c"}]
    assert [(each.file, each.code) for each in findings] == [(str(tmp_path / "b"), "unreadable")]


def test_a_folder_with_nothing_but_what_may_not_be_read_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_rights(tmp_path, monkeypatch)
    findings = Findings()
    assert read_documents([str(tmp_path)], findings) == []
    assert [each.code for each in findings] == ["unreadable"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_rights_on_disk_are_respected(tmp_path: Path) -> None:
    contents = {"a.yaml": "a: 1", "b.yaml": "a: 2", "c/d.yaml": "a: 3", "e/f.yaml": "a: 4"}
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("b.yaml", "c"):
        (tmp_path / name).chmod(0)
    findings = Findings()
    found = read_documents([str(tmp_path)], findings)
    (tmp_path / "c").chmod(0o700)
    assert [each.value["a"] for each in found] == [1, 4]
    assert sorted((Path(each.file).name, each.code) for each in findings) == [
        ("b.yaml", "unreadable"),
        ("c", "unreadable"),
    ]


def test_what_is_named_twice_is_read_once_with_a_warning(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(f"from: {name}")
    (tmp_path / "c.yaml").symlink_to(tmp_path / "a.yaml")
    findings = Findings()
    names = [str(tmp_path / "b.yaml"), str(tmp_path), f"{tmp_path}/../{tmp_path.name}", "-", "-"]
    found = read_documents(names, findings, stdin=io.BytesIO(b"from: stdin"))
    assert [each.value["from"] for each in found] == ["b.yaml", "a.yaml", "stdin"]
    assert {(each.severity, each.code) for each in findings} == {("warning", "no-effect")}
    assert [(each.file, each.message) for each in findings] == [
        (names[1], f"found a file that was named before: {names[0]} and 1 more; read once"),
        (names[2], f"found a file that was named before: {names[2]}/a.yaml and 2 more; read once"),
        ("-", "found a file that was named before: -; read once"),
    ]


def test_a_file_over_the_stated_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "MAX_FILE_BYTES", 10)
    (tmp_path / "fits.yaml").write_text("a: 1234567")
    (tmp_path / "over.yaml").write_text("a: 12345678")
    findings = Findings()
    assert len(read_documents([str(tmp_path)], findings)) == 1
    assert [(Path(each.file).name, each.code) for each in findings] == [("over.yaml", "too-large")]
