"""A page is one file: nothing is fetched, and no name can bring markup or a script along."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from fairlead.web.page.write_page import PageKind, write_page

HOSTILE = "</script><b>'\"&amp;{x}<!--\u2028"
KINDS: tuple[PageKind, ...] = ("report", "compare")


class Seen(HTMLParser):
    """Writes down every tag and what stands in scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.tags:
            self.texts.setdefault(self.tags[-1], []).append(data)


def seen(page: bytes) -> Seen:
    parser = Seen()
    parser.feed(page.decode())
    return parser


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_change_no_tag(kind: PageKind) -> None:
    harmless = seen(write_page(kind, "small", {"name": "small"}))
    hostile = seen(write_page(kind, HOSTILE, {"name": HOSTILE, HOSTILE: [HOSTILE]}))
    assert hostile.tags == harmless.tags
    assert "b" not in hostile.tags
    assert "".join(hostile.texts["title"]).strip("\n") == HOSTILE


@pytest.mark.parametrize("kind", KINDS)
def test_names_stay_what_they_are_in_the_data(kind: PageKind) -> None:
    page = write_page(kind, "small", {"name": HOSTILE}).decode()
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', page)
    assert found is not None
    assert json.loads(found[1]) == {"name": HOSTILE}


@pytest.mark.parametrize("kind", KINDS)
def test_only_our_own_script_and_style_are_allowed(kind: PageKind) -> None:
    page = write_page(kind, "small", {})
    (policy,) = re.findall(rb'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith(b"default-src 'none'; ")
    for tag in (b"style", b"script"):
        (text,) = re.findall(rb"<%b>(.*?)</%b>" % (tag, tag), page, re.DOTALL)
        digest = b64encode(sha256(text).digest()).decode()
        assert f"{tag.decode()}-src 'sha256-{digest}'" in policy.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_fetched(kind: PageKind) -> None:
    parser = seen(write_page(kind, "small", {}))
    assert [name for name, _ in parser.attributes if name in ("src", "href", "srcset")] == []
    style = "".join(parser.texts["style"])
    assert "url(" not in style
    assert "@import" not in style


def test_scripts_never_make_markup_of_a_text() -> None:
    folder = files("fairlead.web.page")
    scripts = [file for file in folder.iterdir() if file.name.endswith(".js")]
    assert len(scripts) > 4
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert danger not in text, script.name
