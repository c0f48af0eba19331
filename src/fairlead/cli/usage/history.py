"""``--usage-from``: the record of use with which a simulation begins."""

import io
from pathlib import Path
from typing import Final

from fairlead.errors import FairleadError
from fairlead.model.duration import moment_text
from fairlead.sim.run.history import UsageRecord, history_before
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.text.usage_text import read_usage
from fairlead.usage.entries import Entry

_SQLITE: Final = b"SQLite format 3\0"


def read_history(file: str, at_ms: int | None, start_ms: int) -> tuple[Entry, ...]:
    """Return what was used before *at_ms*, by default *start_ms*, when the simulation starts."""
    record = _record(Path(file))
    cut_ms = start_ms if at_ms is None else at_ms
    first_ms = min((entry.at_ms for entry in record.entries), default=None)
    if first_ms is None:
        raise FairleadError(f"{file} has no usage")
    if first_ms >= cut_ms:
        raise FairleadError(
            f"{file} begins at {moment_text(first_ms)}, and only what is before "
            f"{moment_text(cut_ms)} counts: name with --usage-at the moment of the record at which "
            "the simulation starts, or write a later start into the scenario"
        )
    return history_before(record, cut_ms, start_ms)


def _record(file: Path) -> UsageRecord:
    try:
        with file.open("rb") as stream:
            begin = stream.read(len(_SQLITE))
        if begin == _SQLITE:
            return _of_store(file)
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FairleadError(f"cannot read {file}: it is not UTF-8 text") from None
    except OSError as wrong:
        raise FairleadError(f"cannot read {file}: {wrong.strerror or wrong}") from None
    return _of_text(file, text)


def _of_store(file: Path) -> UsageRecord:
    with UsageStore.open(file, writes=False) as store:
        return UsageRecord(
            name=str(file),
            resources=store.resources,
            looked_at_ms=store.observed_ms,
            entries=tuple(store.entries()),
        )


def _of_text(file: Path, text: str) -> UsageRecord:
    if not text.startswith("{"):
        raise FairleadError(
            f"{file} is not a usage store: expected one, or what fairlead usage export writes"
        )
    read = read_usage(io.StringIO(text, newline=""), str(file))
    return UsageRecord(
        name=str(file),
        resources=read.head.resources,
        looked_at_ms=read.head.observed_ms,
        entries=read.entries,
    )
