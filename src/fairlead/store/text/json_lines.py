"""Records of use as JSON lines: the first line is the head, then one entry a line."""

import json
from collections.abc import Iterable, Iterator
from typing import NoReturn, TypeGuard

import msgspec

from fairlead.store.text.entry_text import BadLines, TextHead, check_head, entry_of, whole_number
from fairlead.usage.entries import Entry

VERSION = 1
_CURE = "correct this line, or export it again with fairlead usage export -o jsonl"


def json_lines(head: TextHead, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the head and one line for each entry."""
    looked = {} if head.observed_ms is None else {"observed_ms": head.observed_ms}
    yield _line({"type": "usage", "version": VERSION, "resources": head.resources, **looked})
    for entry in entries:
        yield _line(msgspec.to_builtins(entry))


def read_json_lines(
    lines: Iterable[str], bad: BadLines, until_ms: int
) -> tuple[TextHead, Iterator[tuple[int, Entry]]]:
    """Return the head, and the entries with the numbers of their lines, read as asked for.

    The last look must be before *until_ms*.
    """
    numbered = enumerate(lines, start=1)
    head = TextHead(resources=())
    try:
        head = _head(next(numbered, (1, ""))[1])
        check_head(head, until_ms)
    except ValueError as wrong:
        bad.add(1, str(wrong), _CURE)
        bad.raise_if_any()  # without resources no amount means anything
    return head, _entries(numbered, bad)


def _line(plain: object) -> str:
    # Not msgspec, whose numbers end at 64 bits: bytes times milliseconds are longer.
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def _head(line: str) -> TextHead:
    plain = _plain(line)
    version = plain.get("version")
    if plain.get("type") == "usage" and isinstance(version, int) and version > VERSION:
        raise ValueError(
            f"found version {version}, which a newer Fairlead wrote, expected {VERSION}: import it "
            "with that one"
        )
    resources, observed_ms = plain.get("resources"), plain.get("observed_ms")
    if plain.get("type") != "usage" or version != VERSION or not _are_names(resources):
        raise ValueError(
            f'expected {{"type":"usage","version":{VERSION},"resources":["cpu",...]}} in the first '
            "line"
        )
    if observed_ms is not None and type(observed_ms) is not int:
        raise ValueError("found an observed_ms that is no number, expected a time in milliseconds")
    return TextHead(resources=tuple(resources), observed_ms=observed_ms)


def _are_names(found: object) -> TypeGuard[list[str]]:
    return isinstance(found, list) and all(isinstance(name, str) for name in found)


def _entries(numbered: Iterable[tuple[int, str]], bad: BadLines) -> Iterator[tuple[int, Entry]]:
    for number, line in numbered:
        if not line.strip():
            continue
        try:
            entry = entry_of(_plain(line))
        except ValueError as wrong:
            bad.add(number, str(wrong), _CURE)
            continue
        yield number, entry


def _plain(line: str) -> dict[str, object]:
    try:
        plain = json.loads(
            line,
            parse_int=whole_number,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
        )
        if "\\ud" in line or "\\uD" in line:
            json.dumps(plain, ensure_ascii=False).encode()
    except UnicodeEncodeError as wrong:
        half = f"\\u{ord(wrong.object[wrong.start]):04x}"
        raise ValueError(f"found {half}, which is half a character, expected text") from wrong
    except json.JSONDecodeError as wrong:
        what = wrong.msg.removesuffix(" at")  # as some of its texts end
        raise ValueError(f"found no JSON: {what} at column {wrong.colno}") from wrong
    except RecursionError as wrong:
        raise ValueError("found brackets within brackets without end") from wrong
    if not isinstance(plain, dict):
        raise ValueError("found no object, expected {...}")
    return plain


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"found the number {text}, expected a whole one")
