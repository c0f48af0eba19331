"""Reads the text tables in which scenarios are written."""


def rows(table: str) -> list[dict[str, str]]:
    """Return each line as a mapping from the words of the first line."""
    head, *lines = [line.split() for line in table.strip().splitlines()]
    return [dict(zip(head, line, strict=True)) for line in lines]


def number(text: str) -> int | None:
    """Return a whole number; ``-`` is no limit."""
    return None if text == "-" else int(text)
