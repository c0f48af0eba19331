"""Measures Fairlead against its goals: ``make bench``."""
