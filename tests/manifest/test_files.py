"""Files, folders and stdin are read in order, and a bad one does not stop the others."""

import io
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
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.yaml").write_text("a: 1")
    monkeypatch.setattr(Path, "open", refuse)
    findings = Findings()
    assert read_documents([str(tmp_path)], findings) == []
    assert [finding.message for finding in findings] == ["cannot be read: Permission denied"]


def test_a_file_over_the_stated_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "MAX_FILE_BYTES", 10)
    (tmp_path / "fits.yaml").write_text("a: 1234567")
    (tmp_path / "over.yaml").write_text("a: 12345678")
    findings = Findings()
    assert len(read_documents([str(tmp_path)], findings)) == 1
    assert [(Path(each.file).name, each.code) for each in findings] == [("over.yaml", "too-large")]
