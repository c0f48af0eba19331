"""Values that JSON and YAML can both write."""

import json
from decimal import Decimal

from hypothesis import strategies as st

from fairlead.manifest.text.values import Value

# YAML forbids some characters that JSON allows, and folds others as ends of lines.
letters = st.characters(
    codec="utf-8",
    exclude_characters=[*map(chr, range(0x7F, 0xA0)), *"\u2028\u2029\ufeff\ufffe\uffff"],
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.builds(Decimal, st.from_regex(r"-?(0|[1-9][0-9]{0,9})\.[0-9]{1,9}", fullmatch=True))
    | st.text(letters, max_size=8)
)
keys = st.text(letters, max_size=5).filter(lambda key: key != "<<")
values = st.recursive(
    scalars, lambda each: st.lists(each, max_size=4) | st.dictionaries(keys, each, max_size=4)
)
mappings = st.dictionaries(keys, values, max_size=5)


def as_json(value: Value, *, is_ascii: bool) -> str:
    """Write JSON with exact decimals."""
    if isinstance(value, dict):
        pairs = (
            f"{json.dumps(key, ensure_ascii=is_ascii)}: {as_json(each, is_ascii=is_ascii)}"
            for key, each in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",\n".join(as_json(each, is_ascii=is_ascii) for each in value) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=is_ascii)
