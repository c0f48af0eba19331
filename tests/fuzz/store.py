"""Damages the file of a usage store and its write-ahead log, and kills writers.

Whatever is damaged, the store answers what it held after one of its appends, or a StoreError says
so and names the file. Never another number, a traceback or a hang.
"""

import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from fairlead.errors import StoreError
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from tests.fuzz.rounds import main
from tests.store.asked_store import HISTORY, LATER, RULES, Answers, answers
from tests.store.crashes import survive as survive_kills
from tests.store.usage_entries import RESOURCES, held

BATCHES: Final = (HISTORY[:100], HISTORY[100:], LATER[:90], LATER[90:])
LATEST: Final = held(55, 1, 2)
KILLS: Final = 3
NAMES: Final = ("use.db", "use.db-wal")
SQLITE_HEAD: Final = 100


class Stages(NamedTuple):
    """The bytes of a store with its log, and what it answered and held after each append."""

    files: dict[str, bytes]
    answers: list[Answers]
    entries: list[list[Entry]]


@cache
def stages() -> Stages:
    """The store that all rounds damage, part of it in the log only."""
    found = Stages({}, [], [[]])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "use.db"
        with UsageStore.open(path, resources=RESOURCES) as store:
            _keep(found, path)
        with UsageStore.open(path, resources=RESOURCES) as store:
            store.append(BATCHES[0])
        with UsageStore.open(path, resources=RESOURCES) as store:
            _keep(found, path)
            for batch in BATCHES[1:]:
                store.append(batch)
                store.save_snapshot(store.ledger(RULES, batch[-1].at_ms), RULES)
                _keep(found, path)
    return found


def _keep(found: Stages, path: Path) -> None:
    for name in NAMES:
        file = path.with_name(name)
        if file.exists():
            found.files[name] = file.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = _written(Path(folder), found.files)
        found.answers.append(answers(copy))
        with UsageStore.open(copy, writes=False) as store:
            found.entries.append(list(store.entries()))


def attack(random: Random, folder: Path) -> str:
    """Make one round."""
    if random.random() < 0.02:
        survive_kills(KILLS, random.randrange(2**32), folder)
        return "kills survived"
    whole = stages()
    files = dict(whole.files)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        name = random.choice(NAMES)
        files[name] = damaged(random, files[name])
    kept = folder / "damaged"  # the asking changes the files
    kept.mkdir()
    _written(kept, files)
    path = _written(folder, files)
    if random.random() < 0.25:
        return _ask_after_append(path, whole)
    try:
        found = answers(path)
    except StoreError as told:
        return _told(told, path)
    assert found in whole.answers, "an answer that the store never had"
    return "answered"


def _ask_after_append(path: Path, whole: Stages) -> str:
    try:
        with UsageStore.open(path, resources=RESOURCES) as store:
            store.append([LATEST])
        with UsageStore.open(path, writes=False) as store:
            found = list(store.entries())
    except StoreError as told:
        return _told(told, path)
    assert [*found[:-1]] in whole.entries, "entries that the store never had"
    assert found[-1] == LATEST
    return "appended"


def _told(told: StoreError, path: Path) -> str:
    text = str(told)
    assert path.name in text, f"names no file: {text}"
    assert text.isprintable(), f"cannot be shown: {text!r}"
    return "told"


def damaged(random: Random, content: bytes) -> bytes:
    """*content* with something flipped, cut, repeated or lost."""
    if not content:
        return content
    at = random.randrange(min(len(content), random.choice((SQLITE_HEAD, len(content)))))
    length = random.choice((1, 1, 2, 16, 512, 4096))
    before, part, after = content[:at], content[at : at + length], content[at + length :]
    match random.randrange(6):
        case 0:
            return before
        case 1:
            return before + part + part + after
        case 2:
            return before + after
        case 3:
            return before + bytes(len(part)) + after
        case 4:
            return before + random.randbytes(len(part)) + after
    flipped = part[0] ^ 1 << random.randrange(8)
    return before + bytes([flipped]) + part[1:] + after


def _written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / NAMES[0]


if __name__ == "__main__":
    raise SystemExit(main("store", attack))
