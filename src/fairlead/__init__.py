"""Fairlead shares a cluster fairly among teams, now and over time."""

__version__ = "0.1.0"
