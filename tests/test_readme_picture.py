"""The picture in the README shows what Fairlead says today."""

from tools.draw_shares import PICTURE, picture, shares


def test_the_picture_is_drawn_from_the_worked_example() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(shares())
