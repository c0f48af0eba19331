"""Names and uids for objects that do not exist yet: always the same ones for the same object.

Controllers use random letters. Here they are computed from what the object is, so that the same
input gives the same plan.
"""

from hashlib import sha256
from typing import Final

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own: no vowels, no words
_SUFFIX_LENGTH: Final = 5


def stable_suffix(subject: str, length: int = _SUFFIX_LENGTH) -> str:
    """Return letters as Kubernetes adds them to a name, computed from *subject*."""
    return "".join([_LETTERS[each % len(_LETTERS)] for each in _digest(subject)[:length]])


def stable_uid(subject: str) -> str:
    """Return a uid in the usual form, computed from *subject*."""
    text = _digest(subject).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def _digest(subject: str) -> bytes:
    return sha256(subject.encode("utf-8", "surrogatepass")).digest()
