"""A value that its field must not have is told with the reason and the likeliest cure."""

from collections.abc import Callable

import pytest

from fairlead.manifest.text.fields import FieldError, decimal_of, duration_of, quantity_of
from fairlead.manifest.text.scalar import plain_value
from fairlead.manifest.text.values import describe

READERS: dict[str, Callable[[str], object]] = {
    "number": decimal_of,
    "duration": duration_of,
    "quantity": quantity_of,
}

# Each: what was read, the text, then code, message and fix.
REFUSALS = """
    number   | 5        | wrong-type   | found the text "5", expected a number                      | remove the quotes
    number   | many     | wrong-type   | found the text "many", expected a number                   | write a number
    number   | .nan     | wrong-type   | found the text ".nan", expected a number                   | write a number
    number   | 1e400    | out-of-range | found "1e400", expected a number below 1e308               | write a number of ordinary size
    number   | 1e-400   | out-of-range | found 1e-400, expected a number above 1e-308               | write a number of ordinary size
    duration | 90       | bad-duration | found the text "90", expected a duration                   | write a number with its unit, such as 90s, 1h30m, 7d or 1w
    duration | 293y     | bad-duration | found the text "293y", expected at most 292 years          | write a shorter duration
    quantity | lots     | bad-quantity | found the text "lots", expected a quantity                 | write a quantity such as 500m, 1.5, 2Gi or 1e3
    quantity | 1e400    | bad-quantity | found the text "1e400", expected an exponent between -99 and 99 | write a quantity such as 500m, 1.5, 2Gi or 1e3
    quantity | 1K       | bad-quantity | found the text "1K", expected a quantity                   | did you mean 1k or 1Ki?
    quantity | 1.5KB    | bad-quantity | found the text "1.5KB", expected a quantity                | did you mean 1.5k or 1.5Ki?
    quantity | -2gib    | bad-quantity | found the text "-2gib", expected a quantity                | did you mean -2Gi?
    quantity | 2 Gi     | bad-quantity | found the text "2 Gi", expected a quantity                 | did you mean 2Gi?
    quantity | 5mb      | bad-quantity | found the text "5mb", expected a quantity                  | did you mean 5M or 5Mi?
    quantity | 5 m      | bad-quantity | found the text "5 m", expected a quantity                  | write a quantity such as 500m, 1.5, 2Gi or 1e3
"""  # noqa: E501  a table


@pytest.mark.parametrize("row", REFUSALS.strip().splitlines())
def test_a_wrong_text_is_told_with_its_cure(row: str) -> None:
    reader, text, *expected = (cell.strip() for cell in row.split("|"))
    with pytest.raises(FieldError) as caught:
        READERS[reader](text)
    wrong = caught.value
    assert [wrong.code, wrong.message, wrong.fix] == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.0000005", "0.0000005"),
        ("-0.00000010", "-0.00000010"),
        ("5e-7", "0.0000005"),  # the same number; nobody can tell how it was written
        ("1e30", "1e30"),
        ("-1.5E3", "-1.5e3"),
        ("2.50", "2.50"),
        ("1.25e-300", "1.25e-300"),  # some 300 zeros are not to be read
        ("1" * 41, "11111111111111111111... (41 characters)"),
    ],
)
def test_a_number_is_quoted_as_people_write_it(text: str, shown: str) -> None:
    assert describe(plain_value(text)) == f"the number {shown}"
