"""Carrying a plan out on a state, and bringing the state in line with what a cluster shows."""
