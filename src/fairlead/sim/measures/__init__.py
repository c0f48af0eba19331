"""Measures of a run, counted while it goes on: usage, waits, evictions and fairness."""
