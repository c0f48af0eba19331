"""What is said of a file of a result that cannot be written or read, or is not as it was."""

from pathlib import Path

from fairlead.errors import ResultError


def not_written(path: Path, wrong: OSError) -> ResultError:
    """Say which file could not be written, and why."""
    return ResultError(f"cannot write {path}: {wrong.strerror or wrong}")


def not_read(path: Path, wrong: OSError) -> ResultError:
    """Say which file could not be read, and why."""
    if isinstance(wrong, FileNotFoundError):
        return ResultError(f"{path} is missing: simulate again, or restore it")
    return ResultError(f"cannot read {path}: {wrong.strerror or wrong}")


def damaged(path: Path, line: int | None, message: str) -> ResultError:
    """Say where a file is not as it was written."""
    place = str(path) if line is None else f"{path}:{line}"
    return ResultError(f"{place} is damaged: {message}; simulate again, or restore it")
