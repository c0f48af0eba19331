"""How many examples a law is tried with: a number of its own, times a factor of the profile.

The profile's ``max_examples`` is what a law without a number of its own gets. Where it is
``ALL``, every law is tried with all of its examples; where it is a third of that, with a third.
``tests/conftest.py`` has the profiles.
"""

from hypothesis import Phase, settings

ALL = 100  # what Hypothesis tries by default
LEAST = 5  # below which a law is hardly tried

# For find(), which stops at the first example: a limit, and no effort that a profile could scale.
ONE_IS_ENOUGH = settings(max_examples=20_000, deadline=None, phases=[Phase.generate])


def scale_examples(count: int) -> int:
    """Return how many examples the active profile tries of a law that has *count* in all."""
    return max(min(count, LEAST), count * settings().max_examples // ALL)
