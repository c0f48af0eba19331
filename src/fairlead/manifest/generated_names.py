"""Names for objects that leave theirs to the API server: ``generateName`` instead of ``name``.

The API server adds random letters. Here they are computed from the object, so that the same input
gives the same answer; of objects that are alike each gets others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from fairlead.manifest.core.owners.stable_names import stable_suffix
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.read_once import json_key

_METADATA: Final = "metadata"


def name_generated(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield *documents*, each with a name if it says how to make one. Cost: one look at each."""
    alike = Counter[bytes]()
    for document in documents:
        metadata = document.value.get(_METADATA)
        prefix = metadata.get("generateName") if isinstance(metadata, dict) else None
        if not (isinstance(metadata, dict) and isinstance(prefix, str)) or metadata.get("name"):
            yield document
            continue
        content = json_key(document.value) or prefix.encode("utf-8", "surrogatepass")
        name = prefix + stable_suffix(f"{content!r}/{alike[content]}")
        alike[content] += 1
        named = {**document.value, _METADATA: {**metadata, "name": name}}
        yield msgspec.structs.replace(document, value=named)
