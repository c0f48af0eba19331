"""Reads the flags of KAI's scheduler that a ``SchedulingShard`` sets in ``spec.args``.

KAI takes a flag only as its scheduler spells it, and passes over any other without a word. Here a
spelling that differs in capitals and dashes alone is read as well, with a warning, and one that is
near to it has a warning of its own. Flags that mean nothing here are passed over.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.fields import FieldError, choice_of, duration_of
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.policy.kai.settings import KaiSettings

MAX_VICTIMS: Final = "max-consolidation-preemptees"
CONSOLIDATING_RECLAIM: Final = "allow-consolidating-reclaim"
SIGNATURES: Final = "use-scheduling-signatures"
STALE_GRACE: Final = "default-staleness-grace-period"
FLAGS: Final = (MAX_VICTIMS, CONSOLIDATING_RECLAIM, SIGNATURES, STALE_GRACE)

ARGS: Final = "args"
NO_CAP: Final = -1

_DEFAULTS: Final = KaiSettings()
_WHOLE_NUMBER: Final = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")  # Go takes 010 for 8
_TRUE: Final = ("true", "True", "TRUE", "t", "T", "1")
_FALSE: Final = ("false", "False", "FALSE", "f", "F", "0")
_TRUTHS: Final = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}

T = TypeVar("T")


class SchedulerFlags(NamedTuple):
    """What the flags say, as `KaiSettings` has it."""

    max_consolidation_victims: int | None
    consolidating_reclaim: bool
    signatures: bool
    stale_grace_ms: int


def read_flags(spec: Cursor, flags: Mapping[str, str], others: tuple[str, ...]) -> SchedulerFlags:
    """Read what *flags*, the args of *spec*, say; KAI's defaults stand in for what is wrong.

    *others* are names that are read elsewhere.
    """
    _warn_of_near_misses(spec, flags, others)
    return SchedulerFlags(
        max_consolidation_victims=_read(
            spec, flags, MAX_VICTIMS, _cap_of, _DEFAULTS.max_consolidation_victims
        ),
        consolidating_reclaim=_read(
            spec, flags, CONSOLIDATING_RECLAIM, _truth_of, _DEFAULTS.consolidating_reclaim
        ),
        signatures=_read(spec, flags, SIGNATURES, _truth_of, _DEFAULTS.signatures),
        stale_grace_ms=_read(spec, flags, STALE_GRACE, _length_ms, _DEFAULTS.stale_grace_ms),
    )


def _read(
    spec: Cursor, flags: Mapping[str, str], flag: str, convert: Callable[[str], T], default: T
) -> T:
    """Read a flag under all its spellings; KAI's own counts where they differ."""
    names = sorted([name for name in flags if _is_spelling(name, flag)], key=lambda n: n != flag)
    found: list[T] = []
    for name in names:
        if name != flag:
            message = f"found {quote(name)}, which is read here but not by KAI"
            spec.warn((ARGS, name), "peer-differs", message, f"write {flag}")
        try:
            found.append(convert(flags[name]))
        except FieldError as wrong:
            spec.error((ARGS, name), wrong.code, wrong.message, wrong.fix)
    if len(set(found)) > 1:
        message = f"found several spellings of {flag} that differ; that of {names[0]} counts"
        spec.warn((ARGS, names[-1]), "contradiction", message, f"keep {flag}")
    return found[0] if found else default


def _is_spelling(name: str, flag: str) -> bool:
    return _plain(name) == _plain(flag)


def _plain(name: str) -> str:
    return re.sub("[-_]", "", name).lower()


def _warn_of_near_misses(spec: Cursor, flags: Mapping[str, str], others: tuple[str, ...]) -> None:
    for name in flags:
        if name in others or any(_is_spelling(name, flag) for flag in FLAGS):
            continue
        guess = did_you_mean(name, FLAGS)
        if guess:
            message = f"found the flag {quote(name)}, which means nothing here"
            spec.warn((ARGS, name), "unknown-field", message, guess)


def _cap_of(text: str) -> int | None:
    """Accept how many jobs may be moved for another; -1: any number, which is None."""
    if not _WHOLE_NUMBER.fullmatch(text):
        message = f"found {quote(text)}, expected a whole number"
        raise FieldError("wrong-type", message, 'write a number such as "16"')
    cap = int(text)
    if cap < NO_CAP:
        message = f"found {cap}, expected {NO_CAP} or more; KAI would move nobody"
        raise FieldError("out-of-range", message, f'write "{NO_CAP}" for no cap, or "0" for none')
    return None if cap == NO_CAP else cap


def _truth_of(text: str) -> bool:
    if text in _TRUTHS:
        return _TRUTHS[text]
    return choice_of(text, {"true": True, "false": False})


def _length_ms(text: str) -> int:
    return duration_of(text)[0]
