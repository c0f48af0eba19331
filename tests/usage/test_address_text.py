"""No part of a login is shown, however the address is mistyped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.usage.address_text import without_login
from tests.text_table import rows

ADDRESSES = """
    address                               shown
    http://admin:s3cret@prom:9090/p       http://...@prom:9090/p
    http://admin:s3/cret@prom:9090        http://...@prom:9090
    http://admin:s3@cret@prom:9090        http://...@prom:9090
    http://admin:s3?cret#x@prom:9090      http://...@prom:9090
    http:/admin:s3cret@prom:9090          http:/...@prom:9090
    http:admin:s3cret@prom:9090           ...@prom:9090
    admin:s3cret@prom:9090                ...@prom:9090
    //admin:s3cret@prom:9090              ...@prom:9090
    ftp://admin:s3cret@prom               ftp://...@prom
    HTTPS://admin:s3cret@prom:99999       HTTPS://...@prom:99999
    http://admin:s3cret\uff20prom:9090         http://...@prom:9090
    http://admin:s3cret\ufe6bprom:9090         http://...@prom:9090
    http://prom:9090/p?tenant=a           http://prom:9090/p?tenant=a
    prom                                  prom
"""


@pytest.mark.parametrize("row", rows(ADDRESSES), ids=lambda row: ascii(row["address"]))
def test_an_address_is_shown_without_its_login(row: dict[str, str]) -> None:
    assert without_login(row["address"]) == row["shown"]


def test_a_line_break_hides_no_login_from_us() -> None:
    assert without_login("http://admin:s3\ncret@prom\n") == "http://...@prom\n"


@given(
    scheme=st.sampled_from(["", "http:/", "http://", "ftp://"]),
    login=st.text(st.characters(exclude_characters="/")),
    place=st.text("ab:/?."),
)
def test_nothing_but_scheme_and_place_is_shown(scheme: str, login: str, place: str) -> None:
    assert without_login(f"{scheme}{login}@{place}") == f"{scheme}...@{place}"
