"""Many runs of one scenario: all combinations of some settings, on one machine or on several."""
