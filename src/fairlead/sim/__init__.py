"""Months of a cluster in seconds: the engine on a virtual clock, with work from many sources."""
