"""Whether a scenario can be simulated, and where its results would mislead."""
