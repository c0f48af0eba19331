"""Every code block of the README and of the docs does what the page says it does.

``make docs`` writes the true outputs into the pages; read the difference before you
commit it.
"""

import shutil
from pathlib import Path

import pytest

from tests.doc_pages import blocks, run_page
from tests.shared_folder import ROOT

PAGES = sorted(
    str(page.relative_to(ROOT)) for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
)
# No page needs our sources there: commands run what is installed. They are most of the files.
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.py")


def test_pages_are_found() -> None:
    assert "docs/decisions/dependencies.md" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_true(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Runs in a copy, so that a command of the docs cannot write into the repository."""
    source = ROOT / page
    text = source.read_text(encoding="utf-8")
    folder = tmp_path / "fairlead"
    if any(block.runs for block in blocks(text)):
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        monkeypatch.chdir(folder)
    result = run_page(text, page, folder)
    faults = result.broken + result.outdated
    if pytestconfig.getoption("--refresh-docs"):
        source.write_text(result.text, encoding="utf-8")
        faults = result.broken
    if faults:
        pytest.fail("\n\n".join(faults) + "\n\n'make docs' mends outputs", pytrace=False)
