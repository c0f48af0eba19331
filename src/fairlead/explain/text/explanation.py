"""An answer to "why": one sentence, then the arithmetic, section by section."""

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading, perhaps a table (its first row is the head), and remarks below it."""

    title: str
    table: tuple[tuple[str, ...], ...] = ()
    words: int = 1  # how many columns of the table hold words; the others hold numbers
    remarks: tuple[str, ...] = ()


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for people, and the same as data for programs."""

    answer: str
    sections: tuple[Section, ...]
    data: dict[str, object]
