"""The workloads that wait in one queue, in queue order."""

import msgspec


class PendingReport(msgspec.Struct, frozen=True, kw_only=True):
    """The waiting workloads as rows for people and as items for programs, in the same order."""

    head: tuple[str, ...]
    words: int  # how many columns hold words; the others hold numbers
    rows: tuple[tuple[str, ...], ...]
    document: dict[str, object]  # without its items
    items: tuple[dict[str, object], ...]
    note: str | None = None  # why the queue is empty, where that needs a word
