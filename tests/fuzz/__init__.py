"""Fuzzers for the four doors: manifests, plans, the usage store and HTTP."""
