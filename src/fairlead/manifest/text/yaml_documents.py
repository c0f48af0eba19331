"""A YAML stream to the values of its documents, one piece of text for each.

A line that begins with ``---`` begins a document wherever it stands, so the stream is cut there
first. A mistake in one document then leaves the others readable, and a line number can be found
later by looking at one piece only.
"""

import re
from collections.abc import Iterator

from fairlead.manifest.text.build import Builder, Report
from fairlead.manifest.text.values import Value
from fairlead.manifest.text.yaml_nodes import TextError, compose_yaml

_START = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)


def cut_stream(text: str) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a stream, each with the line in *text*, from 1, on which it begins.

    Law: the pieces joined are the text. Cost: linear.
    """
    line = 1
    begin = 0
    for start in _START.finditer(text):
        end = _before_directives(text, begin, start.start())
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


def yaml_values(piece: str, first_line: int, report: Report) -> list[Value]:
    """Return the values in one piece of a stream: one as a rule, more after ``...``, or none."""
    values: list[Value] = []
    try:
        values.extend(Builder(report, first_line).build(root) for root in compose_yaml(piece))
    except TextError as refused:
        report(refused.code, (), refused.line + first_line, refused.message, refused.fix)
    return values
