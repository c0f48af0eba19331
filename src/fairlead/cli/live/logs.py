"""What a live scheduler logs: a line for each decision, for people or as JSON.

A line is handed over to a thread of its own, so that a disk or a terminal that is slow delays no
plan. More lines than that thread can write are dropped and counted.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue
from typing import Any, Final, Literal, TextIO, TypeAlias

LogForm: TypeAlias = Literal["text", "json"]

FIELDS: Final = "fields"
"""The attribute of a log record that has what it says, by name, for programs."""
_MOST_LINES: Final = 10_000
_LOG: Final = logging.getLogger(__name__)


def default_form(stream: TextIO) -> LogForm:
    """Return the form for people where *stream* is a terminal, else that for programs."""
    return "text" if stream.isatty() else "json"


@contextmanager
def logging_to(stream: TextIO, form: LogForm, *, is_verbose: bool) -> Iterator[None]:
    """Write what is logged to *stream* for the time of the block, with numbers if *is_verbose*."""
    writer = logging.StreamHandler(stream)
    writer.setFormatter(_JsonLines() if form == "json" else _Lines())
    lines: Queue[logging.LogRecord] = Queue(_MOST_LINES)
    handler, listener = _Handover(lines), QueueListener(lines, writer)
    root, own = logging.getLogger(), logging.getLogger("fairlead")
    levels = root.level, own.level
    root.setLevel(logging.WARNING)
    own.setLevel(logging.DEBUG if is_verbose else logging.INFO)
    root.addHandler(handler)
    listener.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        listener.stop()
        root.setLevel(levels[0])
        own.setLevel(levels[1])
        if handler.dropped:
            print(f"{handler.dropped} lines of the log were dropped", file=stream)


class _Handover(QueueHandler):
    """Hands records over to the thread that writes them, and never waits for it."""

    def __init__(self, lines: "Queue[logging.LogRecord]") -> None:
        super().__init__(lines)
        self.dropped = 0

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except Full:
            self.dropped += 1


class _Lines(logging.Formatter):
    """``12:00:00 start team-a/train-0 on node-1``; a level is named where it is a warning."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return f"{at} {level}{record.getMessage()}" + self._traceback(record)

    def _traceback(self, record: logging.LogRecord) -> str:
        return f"\n{record.exc_text}" if record.exc_text else ""


class _JsonLines(logging.Formatter):
    """One JSON object for each record, its fields beside the message."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: Mapping[str, Any] = getattr(record, FIELDS, {})
        line: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields,
        }
        if record.exc_text:
            line["traceback"] = record.exc_text
        return json.dumps(line, ensure_ascii=False)
