"""What is wrong with a text that is no JSON, and where.

The standard parser knows, but its words and places differ between versions of Python. So it only
says that something is wrong, and this says what.
"""

import re

from fairlead.manifest.text.limits import MAX_DEPTH
from fairlead.manifest.text.locate import SPACE, after_space
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.yaml_nodes import TextError, too_deep

_TEXT = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
_WORD = (
    r"(?:-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|true|false|null|NaN|-?Infinity)"
    r"(?![-+.0-9A-Za-z_])"
)
_FLAT = rf"{SPACE}(?:{_TEXT}|{_WORD}|\[{SPACE}\]|\{{{SPACE}\}}){SPACE}"
_TOKEN = re.compile(rf"{SPACE}(?:(?P<mark>[{{}}\[\],:])|(?P<text>{_TEXT})|(?P<word>{_WORD}))")
_SHOWN = re.compile(r"[-+.0-9A-Za-z_]+|.", re.DOTALL)

# What may come next; each is shown to the user as it stands here.
_VALUE, _FIRST_ITEM = "a value", "a value or ]"
_KEY, _FIRST_KEY = "a key in double quotes", "a key in double quotes or }"
_COLON, _IN_MAPPING, _IN_LIST = ":", ", or }", ", or ]"
_AFTER_VALUE = ""

_RUNS = {  # of what needs no bracket to be remembered: to step over many at once is a lot faster
    _IN_MAPPING: re.compile(rf"(?:{SPACE},{SPACE}{_TEXT}{SPACE}:{_FLAT})*+"),
    _IN_LIST: re.compile(rf"(?:{SPACE},{_FLAT})*+"),
}
_NEXT = {
    (_VALUE, "text"): _AFTER_VALUE,
    (_VALUE, "word"): _AFTER_VALUE,
    (_VALUE, "{"): _FIRST_KEY,
    (_VALUE, "["): _FIRST_ITEM,
    (_FIRST_ITEM, "text"): _AFTER_VALUE,
    (_FIRST_ITEM, "word"): _AFTER_VALUE,
    (_FIRST_ITEM, "{"): _FIRST_KEY,
    (_FIRST_ITEM, "["): _FIRST_ITEM,
    (_FIRST_ITEM, "]"): _AFTER_VALUE,
    (_FIRST_KEY, "text"): _COLON,
    (_FIRST_KEY, "}"): _AFTER_VALUE,
    (_KEY, "text"): _COLON,
    (_COLON, ":"): _VALUE,
    (_IN_MAPPING, ","): _KEY,
    (_IN_MAPPING, "}"): _AFTER_VALUE,
    (_IN_LIST, ","): _VALUE,
    (_IN_LIST, "]"): _AFTER_VALUE,
}


def json_mistake(text: str) -> TextError | None:
    """Return why the text does not begin with a JSON value, or None if it does.

    What the standard parser lets pass beyond JSON (NaN and the infinities) passes. Cost: linear,
    about a microsecond for each word and mark; nothing is kept but the open brackets.
    """
    expected, at = _VALUE, 0
    opened: list[str] = []
    while True:
        token = _TOKEN.match(text, at)
        found = (token["mark"] or token.lastgroup) if token else None
        following = _NEXT.get((expected, found or ""))
        if token is None or following is None:
            return _unexpected(text, at, expected)
        at = token.end()
        if found in ("{", "["):
            opened.append(_IN_MAPPING if found == "{" else _IN_LIST)
            if len(opened) > MAX_DEPTH:
                return too_deep(text.count("\n", 0, at))
        elif found in ("}", "]"):
            opened.pop()
        if following == _AFTER_VALUE and not opened:
            return None
        expected = following or opened[-1]
        if following == _AFTER_VALUE and (run := _RUNS[expected].match(text, at)):
            at = run.end()


def _unexpected(text: str, at: int, expected: str) -> TextError:
    at = after_space(text, at)
    line = text.count("\n", 0, at)
    shown = _SHOWN.match(text, at)
    if shown and shown[0] == '"' and (expected, "text") in _NEXT:
        message = "found a text without its end, with a line break, or with a wrong escape"
        fix = 'end it with ", and write a line break as \\n and a backslash as \\\\'
        return TextError("syntax", line, message, fix)
    found = quote(shown[0]) if shown else "the end of the text"
    message = f"found {found}, expected {expected}"
    return TextError("syntax", line, message, "correct the JSON at or above this line")
