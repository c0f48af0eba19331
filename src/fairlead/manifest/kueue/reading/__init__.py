"""Reads Kueue's objects: one manifest to one typed object."""
