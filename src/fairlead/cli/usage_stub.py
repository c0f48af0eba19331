"""Files in which a record of use was never begun, as a full disk or a slip of a shell leaves them.

To begin one there would hide that the true record is gone, so only an import does that.
"""

from pathlib import Path

from fairlead.errors import StoreError
from fairlead.store.file.database import is_never_finished


def refuse_stub(path: Path) -> None:
    """Raise StoreError for a file without anything in it; all else is for who opens it to judge."""
    if is_never_finished(path):
        raise StoreError(
            f"usage store {path}: it is empty or was never finished; restore a copy or start one "
            "with fairlead usage import"
        )
