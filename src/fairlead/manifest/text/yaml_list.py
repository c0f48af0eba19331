"""A list of objects in YAML, cut into its items, so that only one is taken apart at a time.

``kubectl get -o yaml`` writes thousands of objects as one document. As one tree of nodes, ten
thousand pods fill 1.5 GB, and a single remark about one of them needs that tree once more.
"""

import re
from itertools import islice
from typing import NamedTuple

from yaml.nodes import MappingNode, Node

from fairlead.manifest.text.limits import MAX_DOCUMENTS
from fairlead.manifest.text.unfold import ITEMS

_HEAD = re.compile(
    rf"^{ITEMS}:[ \t]*+(?:#[^\n]*+)?\n"  # nothing beside the key
    r"(?:[ \t]*+(?:#[^\n]*+)?\n)*+"  # empty lines and comments
    r"(?P<indent> *+)-[ \t\n]",
    re.MULTILINE,
)
_NEXT_KEY = re.compile(r"\n[^\s#]")  # to search for \n takes a tenth of the time of ^
_NEXT_KEY_AFTER_DASHES = re.compile(r"\n[^\s#-]")
_OTHER_BREAKS = "\x85\u2028\u2029"  # lines to YAML, but not to us


class CutList(NamedTuple):
    """The document without its items, with empty lines for them, and each item as a list of one."""

    frame: str
    line: int  # of the key ``items``, counted from 0
    items: list[tuple[int, str]]  # line, counted from 0, and text

    def is_framed_by(self, root: Node | None) -> bool:
        """Tell whether these are all items, and those of the document itself.

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
    half is YAML, so whoever finds that all parts are can rely on them. Cost: linear.
    """
    head = _HEAD.search(text)
    if head is None or any(line_break in text for line_break in _OTHER_BREAKS):
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
