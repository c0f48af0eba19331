"""Breaks documents in random places: their bytes, their words, or their structure.

Random bytes hardly get past a parser, so all begins with manifests that are whole.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from tests.shared_folder import ROOT

ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.25, 1e-300, 1e300),
    *(2**31, 2**63 - 1, 2**63, -(2**63), 10**18, 10**30),
    *("", "0", "-1", "1m", "8Ei", "9223372036854775807", "1e99", "1n", "NaN", "1h", "-1h", "lots"),
    *("a\x85b", "a\u2028b", "a\u2029b", "\ud7ff\U0001f600", "x" * 300, "../x", "a/b", "=1+1"),
    *("2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"),
    *([], {}, [[]], [None], [{}], {"": None}),
)
WORDS: Final = (
    *("---\n", "\n", "\r", "\x85", "\u2028", "\ufeff", "\0", "\t", ": ", "- ", "{", "}", "[", "]"),
    *(
        "&a ",
        "*a",
        "<<: *a\n",
        "!!binary ",
        "? ",
        "| \n",
        "> \n",
        "#",
        '"',
        "'",
        "%",
        "@",
        "items:",
    ),
    *("kind: List\n", "null", "~", "1e999", ".inf", "[" * 70, "- " * 70),
)


class _Loader(yaml.SafeLoader):
    """Leaves times as they are written."""


_Loader.yaml_implicit_resolvers = {
    first: [each for each in found if each[0] != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@cache
def example_texts() -> list[str]:
    """Return the manifests of all examples, a text for each folder with files in it."""
    folders: dict[Path, list[Path]] = {}
    for file in sorted((ROOT / "examples").rglob("*")):
        if file.suffix in (".yaml", ".json") and not {"scenarios", "usage"} & {*file.parts}:
            folders.setdefault(file.parent, []).append(file)
    return ["\n---\n".join(file.read_text() for file in files) for files in folders.values()]


@cache
def example_documents() -> list[list[Any]]:
    """Return the plain values of each text of the examples."""
    return [
        [each for each in yaml.load_all(text, _Loader) if each is not None]
        for text in example_texts()
    ]


def text_of(documents: list[Any]) -> str:
    """Return *documents* as JSON, which is YAML too."""
    return "\n---\n".join(json.dumps(each, default=str) for each in documents)


def broken_text(random: Random, text: str) -> str:
    """Return *text* with some bytes or words of it changed."""
    for _ in range(random.randint(1, 4)):
        at, length = random.randrange(len(text) + 1), random.choice((0, 1, 5, 40, 400))
        match random.randrange(4):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + random.choice(WORDS) + text[at:]
            case 2:
                text = text[: at + length] + text[at:]
            case 3:
                text = text[:at] + chr(random.choice((0, 7, 9, 13, 0x85, 0x2028, 0x7F))) + text[at:]
    return text


def broken_documents(random: Random, documents: list[Any]) -> list[Any]:
    """Return a copy of *documents* with some values changed."""
    found: list[Any] = json.loads(json.dumps(documents, default=str))
    if random.random() < 0.5:  # a few objects are read sooner, and miss the others
        found = random.sample(found, min(len(found), random.randint(1, 6)))
    for _ in range(random.randint(1, 4)):
        places = list(_places(found))
        if places and random.random() < 0.4:
            _change_everywhere(random, places)
        elif places:
            _change(random, places)
    return found


def _change_everywhere(random: Random, places: list[tuple[Any, Any]]) -> None:
    """Let all objects lack a field, or have the same value in it."""
    keys = sorted({key for _, key in places if isinstance(key, str)})
    if not keys:
        return
    chosen, value = random.choice(keys), random.choice(ODD)
    is_dropped = random.random() < 0.5
    for inside, key in places:
        if key != chosen:
            continue
        if is_dropped:
            inside.pop(key, None)  # a mapping may stand in two places
        else:
            inside[key] = json.loads(json.dumps(value))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every mapping or list below *value* with each of its keys."""
    if not isinstance(value, dict | list):
        return
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        yield from _places(value[key])


def _change(random: Random, places: list[tuple[Any, Any]]) -> None:
    inside, key = random.choice(places)
    other, other_key = random.choice(places)
    match random.randrange(7):
        case 0:
            del inside[key]
        case 1 if isinstance(inside, list):
            inside.insert(key, json.loads(json.dumps(inside[key])))
        case 2:
            inside[key] = json.loads(json.dumps(other[other_key]))
        case 3 if isinstance(inside, dict):
            inside[random.choice(("name", "spec", "kind", "x", ""))] = inside[key]
        case 4 if isinstance(inside[key], int):
            inside[key] = random.choice((-inside[key], inside[key] + 1, inside[key] * 2**40))
        case 5:
            for _ in range(random.choice((1, 2, 70))):
                inside[key] = random.choice(([inside[key]], {"a": inside[key]}))
        case _:
            inside[key] = json.loads(json.dumps(random.choice(ODD)))
