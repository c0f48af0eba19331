"""A law is tried with its own number of examples, times the factor of the profile."""

import pytest
from hypothesis import settings

from tests.scale_examples import scale_examples


@pytest.mark.parametrize(
    ("profile", "count", "tried"),
    [
        ("ci", 300, 300),
        ("dev", 300, 99),  # 300 x 33 / 100
        ("ci-brief", 300, 99),
        ("thorough", 300, 3000),
        ("dev", 8, 5),  # the least, not 2
        ("dev", 3, 3),  # all, which are fewer
    ],
)
def test_a_profile_scales(profile: str, count: int, tried: int) -> None:
    active = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        assert scale_examples(count) == tried
    finally:
        settings.load_profile(active)
