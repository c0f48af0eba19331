"""Puts a page together: one file with its look, its script and its data, which needs no network.

Data can hold names that anybody chose. They stand in a block that no markup can end, the script
makes text nodes of them, and the page allows no script but its own, by its hash.
"""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Formatter
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead import __version__

PageKind: TypeAlias = Literal["report", "compare"]

_SHARED: Final = ("texts.js", "elements.js")
_SCRIPTS: Final[dict[PageKind, Sequence[str]]] = {
    "report": (
        *_SHARED,
        "time_marks.js",
        "time_chart.js",
        "eviction_lanes.js",
        "shares_table.js",
        "waits_table.js",
        "queue_charts.js",
        "evictions.js",
        "measure_table.js",
        "report.js",
        "start_report.js",
    ),
    "compare": (*_SHARED, "compare.js", "start_compare.js"),
}
# As in JSON texts within HTML everywhere; the two separators end a line in old scripts.
_ESCAPED: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def write_page(kind: PageKind, title: str, document: object) -> bytes:
    """Return the page that shows *document*. Equal documents give equal bytes."""
    style = _asset("page.css")
    script = f"'use strict';\n{''.join(map(_asset, _SCRIPTS[kind]))}"
    parts = {
        "policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}",
        "version": __version__,
        "title": escape(title),
        "style": style,
        "document": _embedded(document),
        "script": script,
    }
    # The parts hold braces of their own, so they are put in once and not looked at again.
    pieces = Formatter().parse(_asset("page.html"))
    return "".join(text + (parts[name] if name else "") for text, name, _, _ in pieces).encode()


def _asset(name: str) -> str:
    return files("fairlead.web.page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _embedded(document: object) -> str:
    """Return *document* as JSON that an HTML parser finds nothing in."""
    text = msgspec.json.encode(document).decode()
    for letter, escaped in _ESCAPED.items():
        text = text.replace(letter, escaped)
    return text
