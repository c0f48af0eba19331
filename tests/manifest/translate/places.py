"""Places in an object by their path, where a test puts a value that is wrong."""

from typing import Any, Final, TypeAlias

from tests.manifest.translate.api_server import Object

Path: TypeAlias = tuple[str | int, ...]
ABSENT: Final = object()


def container_of(value: Any, path: Path) -> Any:
    """Return what holds the last step of a path; None if it is not there."""
    for step in path[:-1]:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def put_at(value: Object, path: Path, new: Any) -> None:
    """Let a place hold a value; `ABSENT`: nothing."""
    container = container_of(value, path)
    if new is ABSENT:
        container.pop(path[-1], None)
    else:
        container[path[-1]] = new
