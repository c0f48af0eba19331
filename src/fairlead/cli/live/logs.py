"""What a live scheduler logs: a line for each decision, for people or as JSON.

A line is handed over to a thread of its own, so that a disk or a terminal that is slow delays no
plan. More lines than that thread can write are dropped and counted.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from datetime import UTC, datetime
from queue import Full, Queue
from threading import Thread
from typing import Any, Final, Literal, TextIO, TypeAlias

LogForm: TypeAlias = Literal["text", "json"]

FIELDS: Final = "fields"
"""The attribute of a log record that has what it says, by name, for programs."""
LogLines: TypeAlias = "Queue[logging.LogRecord | None]"
"""Records in their order; None is the end."""
_MOST_LINES: Final = 10_000
_ENDS_WITHIN_S: Final = 5.0  # a stream that hangs must not keep the process from ending
_PLAIN: Final = logging.Formatter()


def default_form(stream: TextIO) -> LogForm:
    """Return the form for people where *stream* is a terminal, else that for programs."""
    return "text" if stream.isatty() else "json"


@contextmanager
def logging_to(stream: TextIO, form: LogForm, *, is_verbose: bool) -> Iterator[None]:
    """Write what is logged to *stream* for the time of the block, with numbers if *is_verbose*."""
    writer = logging.StreamHandler(stream)
    writer.setFormatter(_JsonLines() if form == "json" else _Lines())
    lines: LogLines = Queue(_MOST_LINES)
    handler = _Handover(lines)
    thread = Thread(target=_write, args=(lines, writer), name="log", daemon=True)
    root, own = logging.getLogger(), logging.getLogger("fairlead")
    levels = root.level, own.level
    root.setLevel(logging.WARNING)
    own.setLevel(logging.DEBUG if is_verbose else logging.INFO)
    root.addHandler(handler)
    thread.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        own.setLevel(levels[1])
        handler.say_what_was_dropped()
        with suppress(Full):
            lines.put(None, timeout=_ENDS_WITHIN_S)
        thread.join(_ENDS_WITHIN_S)


def _write(lines: LogLines, writer: logging.Handler) -> None:
    while (record := lines.get()) is not None:
        writer.handle(record)


class _Handover(logging.Handler):
    """Hands records over to the thread that writes them, and never waits for it."""

    def __init__(self, lines: LogLines) -> None:
        super().__init__()
        self._lines = lines
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        # What the arguments are may change before the other thread looks.
        fixed = copy(record)
        fixed.msg, fixed.args = record.getMessage(), None
        if record.exc_info:
            fixed.exc_text = _PLAIN.formatException(record.exc_info)
            fixed.exc_info = None
        try:
            self._lines.put_nowait(fixed)
        except Full:
            self._dropped += 1

    def say_what_was_dropped(self) -> None:
        """Log how many lines were dropped, if any were, once there is room for it."""
        if not self._dropped:
            return
        said = f"{self._dropped} lines of the log were dropped"
        record = logging.LogRecord(__name__, logging.WARNING, "", 0, said, None, None)
        with suppress(Full):
            self._lines.put(record, timeout=_ENDS_WITHIN_S)


class _Lines(logging.Formatter):
    """``12:00:00 start team-a/train-0 on node-1``; a level is named where it is a warning."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        traceback = f"\n{record.exc_text}" if record.exc_text else ""
        return f"{at} {level}{record.getMessage()}{traceback}"


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
