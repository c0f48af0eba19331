"""Small documents, written as a whole or not at all."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fairlead.sim.results.file_errors import damaged, not_read, not_written

T = TypeVar("T")


def write_json(path: Path, document: Any) -> None:
    """Put *document* there; until that is done, what was there before stays."""
    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_bytes(text + b"\n")
        beside.replace(path)
    except OSError as wrong:
        raise not_written(path, wrong) from None


def read_json(path: Path, form: type[T]) -> T:
    """Return what stands there. Fields that are not known are left alone."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=form)
    except OSError as wrong:
        raise not_read(path, wrong) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise damaged(path, None, str(wrong)) from None
    except RecursionError:
        raise damaged(path, None, "lists within lists, too deep to be read") from None
