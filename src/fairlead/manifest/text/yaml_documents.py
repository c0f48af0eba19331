"""A YAML stream to the values of its documents, one piece of text for each.

A line that begins with ``---`` begins a document wherever it stands, so the stream is cut there
first. A mistake in one document then leaves the others readable, and a line number can be found
later by looking at one piece only.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.manifest.text.build import Builder, Remark, Report
from fairlead.manifest.text.limits import MAX_DOCUMENTS
from fairlead.manifest.text.path import Path
from fairlead.manifest.text.piece import Piece, YamlItemPiece, YamlPiece
from fairlead.manifest.text.values import REFUSED, Mapping, Value
from fairlead.manifest.text.yaml_nodes import Tally, TextError, compose_yaml, has_other_breaks

ITEMS: Final = "items"

_LIST = "List"

Refuse = Callable[[Path, Value], None]


def unfold(value: Value, refuse: Refuse, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    """Yield *value*, or each of its items if it is a list of objects, with their paths.

    Items of a typed list such as ``QueueList`` may leave out their own type, as the API server
    does; they get it from the list. Lists may hold lists. Items that are no list go to *refuse*.
    """
    if not isinstance(value, dict) or not is_list(value):
        yield path, value
        return
    items = value[ITEMS]
    if not isinstance(items, list):
        if items is not None and items is not REFUSED:
            refuse((*path, ITEMS), items)
        return
    for index, item in enumerate(items):
        yield from unfold(typed(item, value), refuse, (*path, ITEMS, index))


def is_list(value: Mapping) -> bool:
    """Return whether a mapping stands for the objects in its items."""
    kind = value.get("kind")
    return isinstance(kind, str) and kind.endswith(_LIST) and ITEMS in value


def typed(item: Value, of: Mapping) -> Value:
    """Give an item the type that its list says, if it says none itself."""
    kind = of["kind"]
    if not isinstance(item, dict) or "kind" in item or not isinstance(kind, str) or kind == _LIST:
        return item
    return {"apiVersion": of.get("apiVersion"), "kind": kind.removesuffix(_LIST), **item}


_HEAD = re.compile(
    rf"^{ITEMS}:[ \t]*+(?:#[^\n]*+)?\n"  # nothing beside the key
    r"(?:[ \t]*+(?:#[^\n]*+)?\n)*+"  # empty lines and comments
    r"(?P<indent> *+)-[ \t\n]",
    re.MULTILINE,
)
_NEXT_KEY = re.compile(r"\n[^\s#]")  # to search for \n takes a tenth of the time of ^
_NEXT_KEY_AFTER_DASHES = re.compile(r"\n[^\s#-]")


class CutList(NamedTuple):
    """The document without its items, with empty lines for them, and each item as a list of one."""

    frame: str
    line: int  # of the key ``items``, counted from 0
    items: list[tuple[int, str]]  # line, counted from 0, and text

    def is_framed_by(self, root: Node | None) -> bool:
        """Return whether these are all items, and those of the document itself.

        Else the key may stand within a text in quotes, another key of the same name may come first,
        which is the one that counts, or further items may stand at another margin.
        """
        for key, value in root.value if isinstance(root, MappingNode) else []:
            if key.value == ITEMS:
                return bool(key.start_mark.line == self.line and value.value == "")
        return False


def cut_list(text: str) -> CutList | None:
    """Cut the items out of a document that looks like a list in block style; None if it does not.

    It is None too where there are more items than a file may hold objects. This is a guess from
    the first letters of lines, because all else would mean to parse: a text in quotes or a flow
    collection that goes on at the margin deceives it. Such a thing is cut in two then, and neither
    half is YAML, so a caller that finds that all parts are can rely on them. Cost: linear.
    """
    head = _HEAD.search(text)
    if head is None or has_other_breaks(text):
        return None
    indent = head["indent"]
    begin = head.start("indent")
    next_key = (_NEXT_KEY if indent else _NEXT_KEY_AFTER_DASHES).search(text, begin)
    end = next_key.start() + 1 if next_key else len(text)
    dash = re.compile(rf"\n{indent}-(?=\s)")
    found = islice(dash.finditer(text, begin - 1, end), MAX_DOCUMENTS + 1)
    starts = [line_end.start() + 1 for line_end in found]
    if len(starts) > MAX_DOCUMENTS:
        return None
    items: list[tuple[int, str]] = []
    line = text.count("\n", 0, begin)
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        item = text[start:stop]
        items.append((line, item))
        line += item.count("\n")
    empty_lines = "\n" * text.count("\n", begin, end)
    frame = text[:begin] + empty_lines + text[end:]
    if "&" in frame and "*" in frame:  # an item may give the name of an anchor to something else
        return None
    return CutList(frame, text.count("\n", 0, head.start()), items)


Placed: TypeAlias = tuple[Piece, Path, Value]
"""A value, where it was written, and its path in the document of which it is a part."""

_START = re.compile(r"\n---(?=\s|\Z)")  # to search for \n takes a tenth of the time of ^
_TYPE_KEYS = frozenset(("apiVersion", "kind"))


def cut_stream(text: str) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a stream, each with the line in *text*, from 1, on which it begins.

    Law: the pieces joined are the text, and each holds one document or none. Cost: linear.
    """
    line = 1
    begin = 0
    for start in _START.finditer(text):
        end = _before_directives(text, begin, start.start() + 1)
        if end > begin:
            piece = text[begin:end]
            yield line, piece
            line += piece.count("\n")
            begin = end
    yield line, text[begin:]


def _before_directives(text: str, begin: int, end: int) -> int:
    """Step back over the lines above *end* that begin with %: they belong to what follows."""
    while end > begin:
        line_start = max(begin, text.rfind("\n", begin, end - 1) + 1)
        if text[line_start] != "%":
            break
        end = line_start
    return end


def yaml_values(text: str, file: str, report: Report) -> Iterator[Placed]:
    """Yield the value of each document, or of each item where a document is a list of objects.

    A document that is empty yields None, and one that is no YAML is reported and yields `REFUSED`.
    Cost: linear, with the nodes of one document or item at a time.
    """
    reader = _Reader(file, report)
    for first_line, piece in cut_stream(text):
        yield from reader.document(piece, first_line)
        if reader.tally.is_exceeded:
            return


class _Reader:
    def __init__(self, file: str, report: Report) -> None:
        self.tally = Tally()
        self._file = file
        self._report = report

    def document(self, text: str, first_line: int) -> Iterator[Placed]:
        before = self.tally.nodes
        wrong_item: TextError | None = None
        cut = cut_list(text)
        try:
            items = cut and self._items(cut, first_line)
            if items:
                yield from items
                return
        except TextError as wrong:
            wrong_item = wrong.with_traceback(None)  # which would keep the parser alive
        try:
            if wrong_item and self.tally.is_exceeded:
                raise wrong_item
            self.tally.nodes = before
            root = compose_yaml(text, self.tally)
        except TextError as wrong:
            # As a whole it may be too much, where the item says what is wrong.
            told = wrong_item if wrong_item and wrong.code == "too-large" else wrong
            told = told.with_traceback(None)
            self._report(told.code, (), told.line + first_line, told.message, told.fix)
            yield YamlPiece(self._file, first_line, text), (), REFUSED
            return
        starts = _further_objects(root, text)
        if starts:
            yield from self._objects(text, starts, first_line)
        else:
            value = Builder(self._report, first_line, self.tally).build(root) if root else None
            yield YamlPiece(self._file, first_line, text), (), value

    def _items(self, cut: CutList, first_line: int) -> list[Placed] | None:
        """Return the items of a list; None if it is none, after all."""
        remarks: list[Remark] = []

        def note(*remark: *Remark) -> None:
            remarks.append(remark)

        root = compose_yaml(cut.frame, self.tally)
        if _further_objects(root, cut.frame):
            return None
        frame = Builder(note, first_line, self.tally).build(root) if root else None
        if not isinstance(frame, dict) or not is_list(frame) or not cut.is_framed_by(root):
            return None
        found: list[Placed] = []
        for index, (line, text) in enumerate(cut.items):
            path = (ITEMS, index)
            node = _only_item(text, line, self.tally)
            if node is None:
                return None
            value = Builder(note, first_line + line, self.tally, path).build(node)
            piece = YamlItemPiece(self._file, first_line + line, text, path)
            found.append((piece, path, typed(value, frame)))
        for remark in remarks:
            self._report(*remark)
        return found

    def _objects(self, text: str, starts: list[int], first_line: int) -> Iterator[Placed]:
        """Yield each of several objects that nothing separates, which is an error."""
        line = first_line
        for begin, end in zip([0, *starts], [*starts, len(text)], strict=True):
            if begin:
                message = f"found a second object: the line --- is missing before line {line}"
                self._report("duplicate-key", (), line, message, f"write --- above line {line}")
            piece = text[begin:end]
            value: Value = REFUSED
            try:
                root = compose_yaml(piece, self.tally)
                value = Builder(self._report, line, self.tally).build(root) if root else None
            except TextError as wrong:
                self._report(wrong.code, (), wrong.line + line, wrong.message, wrong.fix)
            yield YamlPiece(self._file, line, piece), (), value
            line += piece.count("\n")


def _only_item(text: str, line: int, tally: Tally) -> Node | None:
    try:
        root = compose_yaml(text, tally)
    except TextError as wrong:
        wrong.line += line
        raise
    if isinstance(root, SequenceNode) and len(root.value) == 1:
        item: Node = root.value[0]
        return item
    return None


def _further_objects(root: Node | None, text: str) -> list[int]:
    """Return where in *text* the second and further objects begin, if files were simply joined.

    A mapping that has both keys twice that say what an object is was meant to be two of them.
    """
    if not isinstance(root, MappingNode) or root.flow_style:
        return []
    starts: list[int] = []
    objects: list[set[str]] = [set()]
    for key, _ in root.value:
        if not isinstance(key, ScalarNode) or key.value not in _TYPE_KEYS:
            continue
        if key.value in objects[-1]:
            starts.append(key.start_mark.index)
            objects.append(set())
        objects[-1].add(key.value)
    are_objects = all(keys == _TYPE_KEYS for keys in objects)
    return starts if are_objects and all(text[at - 1] == "\n" for at in starts) else []
