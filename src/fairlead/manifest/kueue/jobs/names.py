"""The name that Kueue gives to the Workload of an object: a part of its own, and a hash.

Kueue computes it from what the object is, so that a Workload made here has the name of the one
that a cluster would show.
"""

from hashlib import sha1
from typing import Final

MAX_PREFIX: Final = 247  # with a dash and the hash this is as long as a name may be
_HASH_DIGITS: Final = 5


def workload_name(kind: str, group: str, name: str, uid: str, generation: int | None = None) -> str:
    """Return the name of the Workload of an object; *generation* counts for an elastic job."""
    subject = f"{kind}\n{group}\n{name}\n{uid}"
    if generation is not None:
        subject += f"\n{generation}"
    digest = sha1(subject.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return f"{f'{kind.lower()}-{name}'[:MAX_PREFIX]}-{digest[:_HASH_DIGITS]}"
