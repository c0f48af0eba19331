"""Every relative link of the pages leads to a file, and to a heading where it names one."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.shared_folder import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

FENCED = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n.*?^ *\1`*~* *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`+[^`\n]+`+")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
HEADING = re.compile(r"^#{1,6} +(?P<text>.+?) *#*$", re.MULTILINE)
LINKED_TEXT = re.compile(r"\[(?P<text>[^\]]*)\]\([^)]*\)")


def anchors(text: str) -> set[str]:
    """Return what a link can name in a page: its headings as GitHub spells them."""
    found: set[str] = set()
    times: Counter[str] = Counter()
    for heading in HEADING.finditer(FENCED.sub("", text)):
        shown = LINKED_TEXT.sub(r"\g<text>", heading["text"])
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.add(f"{slug}-{times[slug]}" if times[slug] else slug)
        times[slug] += 1
    return found


def links(text: str) -> list[str]:
    """Return the targets of all links that stay within the repository, in order."""
    plain = CODE.sub("", FENCED.sub("", text))
    targets = [match["target"] for match in LINK.finditer(plain)]
    return [target for target in targets if not ELSEWHERE.match(target)]


def broken_links(page: Path) -> list[str]:
    broken = []
    for target in links(page.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        is_inside = file == ROOT or ROOT in file.parents
        if not (is_inside and file.exists()):
            broken.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            broken.append(f"{target}: no such heading")
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_the_page_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_every_page_of_the_docs_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    reached = {index}
    waiting = [index]
    for page in waiting:  # which grows: every page may name others
        for target in links(page.read_text(encoding="utf-8")):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file.exists() and file not in reached:
                reached.add(file)
                waiting.append(file)
    docs = {page for page in PAGES if ROOT / "docs" in page.parents}
    assert sorted(str(page.relative_to(ROOT)) for page in docs - reached) == []


def test_links_and_headings_are_found_where_a_reader_sees_them() -> None:
    text = (
        "# One `two` & three\n## Again\n## Again\n## See [here](x.md)!\n"
        "[a](b.md) [c](#d) `[code](no.md)` [web](https://example.org)\n"
        "```text\n# not a heading\n[not](a-link.md)\n```\n"
    )
    assert anchors(text) == {"one-two--three", "again", "again-1", "see-here"}
    assert links(text) == ["x.md", "b.md", "#d"]


def test_a_link_that_leads_nowhere_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_doc_links.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](gone.md) [b](#there) [c](#here) [d](../x.md)\n", encoding="utf-8")
    assert broken_links(page) == [
        "gone.md: no such file",
        "#there: no such heading",
        "../x.md: no such file",
    ]
